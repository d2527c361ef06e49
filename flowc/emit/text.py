"""A pipeline as plain text, for a terminal or a review: what flows into each task and what it gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flowc.emit.edges import TypeOf, output_types
from flowc.ir import Binding, Constant, FromParameter, FromTask, FunctionRef, Parameter, Pipeline, Task
from flowc.types.model import Type
from flowc.types.secret import holds_secret

_MASK = "****"


def to_text(pipeline: Pipeline) -> str:
    """Return a checked pipeline's parameters, its tasks in order, and its outputs, one thing a line."""
    type_of = output_types(pipeline)
    blocks = [
        [f"pipeline {printable(pipeline.name)}", *map(_parameter, pipeline.parameters)],
        *([*_task(pipeline, task, type_of)] for task in pipeline.tasks),
        [f"output {printable(out.name)}: {_from_task(out.value, type_of)}" for out in pipeline.outputs],
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def printable(text: str) -> str:
    """Return the text on one line, with what a terminal would obey (codes, line ends) written as escapes."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def shown_value(type_: Type, value: Any) -> str:
    """Return a value's JSON form for people; a mask where the type holds a secret, and there is one."""
    return (
        _MASK
        if holds_secret(type_) and value is not None
        else printable(json.dumps(value, ensure_ascii=False))
    )


def _parameter(parameter: Parameter) -> str:
    default = "" if parameter.required else f" = {shown_value(parameter.type, parameter.default)}"
    return f"    {printable(parameter.name)}: {printable(str(parameter.type))}{default}"


def _task(pipeline: Pipeline, task: Task, type_of: TypeOf) -> Iterator[str]:
    component = pipeline.component_of(task)
    role = f" ({component.role})" if component.role else ""
    yield f"task {printable(task.name)}: {printable(task.component)}{role}"
    ports = {port.name: port.type for port in component.inputs}
    for name, binding in task.inputs.items():
        yield f"    {printable(name)} <- {_origin(binding, ports[name], type_of)}"
    if task.after:
        yield f"    after {', '.join(map(printable, task.after))}"
    for port in component.outputs:
        yield f"    -> {printable(port.name)}: {printable(str(port.type))}"


def _origin(binding: Binding, wanted: Type, type_of: TypeOf) -> str:
    match binding:
        case FromTask():
            return _from_task(binding, type_of)
        case FromParameter(parameter=name):
            return f"parameter {printable(name)}"
        case Constant(value=value):
            return shown_value(wanted, value)
        case FunctionRef(ref=ref):
            return printable(ref)


def _from_task(origin: FromTask, type_of: TypeOf) -> str:
    place = origin.task if origin.output == "output" else f"{origin.task}.{origin.output}"
    return printable(f"{place}: {type_of(origin)}")
