"""Make a plan: arguments held to the parameters' types, every input resolved to a value or to a task's output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flowc.check import CheckedPipeline
from flowc.diagnostics import Diagnostic
from flowc.errors import CompileError, UsageError, did_you_mean
from flowc.ir import Binding, Constant, FromParameter, FromTask, FunctionRef, Parameter, Pipeline, Port, Task
from flowc.plan.model import Plan, PlannedInput, PlannedTask
from flowc.runner import CodeBase, Literal, Reference
from flowc.types.model import AnyType
from flowc.types.paths import anchored
from flowc.types.validate import to_json, unwidened, validated, validated_json


def make_plan(checked: CheckedPipeline, arguments: Mapping[str, Any], root: Path) -> Plan:
    """Return what running the pipeline with these arguments will do.

    `arguments` are Python values by parameter; `root` is the project's root, which the IR's paths start from.
    Project modules that parameters' types name must be importable. Raises UsageError for an unknown parameter or
    a value of the wrong type, CompileError (FC109) for parameters that have no value.
    """
    pipeline = checked.pipeline
    values = _bound(pipeline, arguments, root)
    written = _written(pipeline, arguments)
    priorities = _priorities(checked)
    tasks = tuple(
        PlannedTask(
            task=task,
            component=pipeline.component_of(task),
            inputs=_inputs(pipeline, task, values, written, root),
            upstream=task.upstream(),
            priority=priorities[task.name],
        )
        for task in checked.ordered
    )
    return Plan(
        pipeline=pipeline,
        tasks=tasks,
        arguments=values,
        shown={p.name: to_json(p.type, values[p.name]) for p in pipeline.parameters},
        code_base=code_base_of(pipeline, root),
    )


def code_base_of(pipeline: Pipeline, root: Path) -> CodeBase:
    """Return where the code of a pipeline is found."""
    return CodeBase(
        root=root,
        modules=pipeline.modules,
        notebook=pipeline.source.file if pipeline.cells and pipeline.source else None,
        cells=pipeline.cells,
    )


def _bound(pipeline: Pipeline, arguments: Mapping[str, Any], root: Path) -> dict[str, Any]:
    known = {parameter.name: parameter for parameter in pipeline.parameters}
    for name in arguments:
        if name not in known:
            hint = did_you_mean(name, known) or "its parameters are: " + (", ".join(known) or "none")
            raise UsageError(f"pipeline '{pipeline.name}' has no parameter '{name}'", hint=hint)
    _refuse_missing([p for p in pipeline.parameters if p.required and p.name not in arguments])
    own_value = _own_value if pipeline.cells else _typed_default
    return {name: _argument(parameter, arguments, own_value, root) for name, parameter in known.items()}


def _refuse_missing(missing: list[Parameter]) -> None:
    if missing:
        raise CompileError(
            Diagnostic(
                code="FC109",
                message=f"parameter '{parameter.name}' ({parameter.type}) has no value",
                source=parameter.source,
                hint=f"give it: --{parameter.name.replace('_', '-')} VALUE",
            )
            for parameter in missing
        )


def _typed_default(parameter: Parameter) -> Any:
    return validated_json(parameter.type, parameter.default)


def _argument(
    parameter: Parameter, arguments: Mapping[str, Any], own_value: Callable[[Parameter], Any], root: Path
) -> Any:
    try:
        if parameter.name in arguments:
            return validated(parameter.type, arguments[parameter.name])
        value = own_value(parameter)
    except UsageError as error:
        raise UsageError(f"parameter '{parameter.name}': {error.message}", hint=error.hint) from error
    return anchored(parameter.type, value, _folder(parameter, root))


def _written(pipeline: Pipeline, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a notebook's own values as they stand there: its steps run in its folder, as its kernel does."""
    own = [p for p in pipeline.parameters if p.name not in arguments] if pipeline.cells else []
    return {parameter.name: _own_value(parameter) for parameter in own}


def _own_value(parameter: Parameter) -> Any:
    return unwidened(validated_json(parameter.type, parameter.default), parameter.default)


def _folder(thing: Parameter | Task, root: Path) -> Path:
    return (root / thing.source.file).parent if thing.source else root


def _inputs(
    pipeline: Pipeline, task: Task, values: Mapping[str, Any], written: Mapping[str, Any], root: Path
) -> dict[str, PlannedInput]:
    ports = {port.name: port for port in pipeline.component_of(task).inputs}
    return {
        name: _resolved(binding, ports[name], values, written, _folder(task, root))
        for name, binding in task.inputs.items()
    }


def _resolved(
    binding: Binding, port: Port, values: Mapping[str, Any], written: Mapping[str, Any], folder: Path
) -> PlannedInput:
    match binding:
        case FromTask():
            return binding
        case FunctionRef(ref=ref):
            return Reference(ref)
        case FromParameter(parameter=name):
            # A parameter may be narrower than the port (int into float): the port's type has the last word.
            return Literal(_held(port, values[name]), written.get(name))
        case Constant(value=value):
            return Literal(anchored(port.type, validated_json(port.type, value), folder))


def _held(port: Port, value: Any) -> Any:
    return value if isinstance(port.type, AnyType) else validated(port.type, value)


def _priorities(checked: CheckedPipeline) -> dict[str, int]:
    """Return for each task the number of tasks on the longest path from it to an end."""
    priorities = {task.name: 1 for task in checked.ordered}
    for task in reversed(checked.ordered):
        for above in task.upstream():
            priorities[above] = max(priorities[above], priorities[task.name] + 1)
    return priorities
