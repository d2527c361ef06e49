"""Rules on ports: every input has a value, and what flows into it is of its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowc.check.graph import topological_order
from flowc.diagnostics import Diagnostic, Related, Source
from flowc.errors import FlowcError, UsageError, did_you_mean
from flowc.ir import (
    Binding,
    Component,
    Constant,
    FromParameter,
    FromTask,
    FunctionRef,
    Parameter,
    Pipeline,
    Port,
    Task,
)
from flowc.types.flow import mismatch
from flowc.types.model import AnyType, ScalarType, Type
from flowc.types.remedy import flow_remedy, value_remedy
from flowc.types.solve import bind, has_variables, solved
from flowc.types.validate import takes_functions, takes_values, validated_json

Produced = Mapping[tuple[str, str], Type]  # by task and output


def check_ports(pipeline: Pipeline, produced: Produced) -> Iterator[Diagnostic]:
    """Find inputs without a value, inputs that the component does not have, and values of the wrong type."""
    parameters = {parameter.name: parameter for parameter in pipeline.parameters}
    for parameter in pipeline.parameters:
        yield from _default(parameter)
    for task in pipeline.tasks:
        component = pipeline.components.get(task.component)
        if component is not None:
            yield from _inputs(task, component, produced, parameters)


def solved_outputs(pipeline: Pipeline) -> tuple[Produced, list[Diagnostic]]:
    """Return the type of each task's outputs, and what is wrong with them.

    Where a component's signature has TypeVars, they stand for what flows into the task.
    """
    components = pipeline.components.values()
    generic = {each.name for each in components if any(has_variables(port.type) for port in each.outputs)}
    produced: dict[tuple[str, str], Type] = {}
    problems: list[Diagnostic] = []
    parameters = {parameter.name: parameter.type for parameter in pipeline.parameters}
    # Only what is generic needs its inputs' types first; what is in a circle is another rule's.
    for task in topological_order(pipeline) if generic else pipeline.tasks:
        component = pipeline.components.get(task.component)
        if component is None:
            continue
        if component.name not in generic:
            produced |= {(task.name, port.name): port.type for port in component.outputs}
            continue
        meaning = _meaning(task, component, produced, parameters)
        for port in component.outputs:
            try:
                produced[task.name, port.name] = solved(port.type, meaning)
            except UsageError as error:
                message = f"task '{task.name}' makes {port.type}: {error.message}"
                problems.append(
                    Diagnostic(code="FC301", message=message, source=task.source, hint=error.hint)
                )
                produced[task.name, port.name] = AnyType()
    return produced, problems


def _meaning(
    task: Task, component: Component, produced: Produced, parameters: Mapping[str, Type]
) -> dict[str, Type]:
    meaning: dict[str, Type] = {}
    for port in component.inputs:
        match task.inputs.get(port.name):
            case FromTask(task=above, output=output):
                type_ = produced.get((above, output))
            case FromParameter(parameter=name):
                type_ = parameters.get(name)
            case _:
                type_ = None
        if type_ is not None:
            bind(port.type, type_, meaning)
    return meaning


def _inputs(
    task: Task,
    component: Component,
    produced: Produced,
    parameters: dict[str, Parameter],
) -> Iterator[Diagnostic]:
    ports = {port.name: port for port in component.inputs}
    for name in task.inputs.keys() - ports.keys():
        hint = did_you_mean(name, ports) or f"its inputs are: {', '.join(ports) or 'none'}"
        message = f"task '{task.name}': component '{component.name}' has no input '{name}'"
        yield Diagnostic(code="FC105", message=message, source=_place(task, name), hint=hint)
    for port in component.inputs:
        what = f"task '{task.name}', input '{port.name}'"
        binding = task.inputs.get(port.name)
        if binding is None:
            if port.required:
                message = f"{what} ({port.type}) has no value"
                hint = "pass it in the call, or give it a default"
                yield _at(task, port, "FC103", message, hint)
        elif reason := _refusal(binding, port.type, produced, parameters):
            hint = _remedy(binding, port.type, produced, parameters)
            yield _at(task, port, "FC301", f"{what} takes {port.type}: {reason}", hint)


def _refusal(
    binding: Binding,
    wanted: Type,
    produced: Produced,
    parameters: dict[str, Parameter],
) -> str | None:
    match binding:
        case FromTask(task=task, output=output):
            made = produced.get((task, output))
            reason = mismatch(made, wanted) if made else None
            return f"task '{task}' makes {made} here; {reason}" if reason else None
        case FromParameter(parameter=name):
            parameter = parameters.get(name)
            reason = mismatch(parameter.type, wanted) if parameter else None
            return f"parameter '{name}' is {parameter.type}; {reason}" if parameter and reason else None
        case FunctionRef(ref=ref):
            takes = takes_functions(wanted)
            return None if takes else f"the function {ref} is not one"
        case Constant(value=value):
            return _value_fault(wanted, value)


def _remedy(binding: Binding, wanted: Type, produced: Produced, parameters: Mapping[str, Parameter]) -> str:
    match binding:
        case FromTask(task=task, output=output):
            return flow_remedy(produced[task, output], wanted)
        case FromParameter(parameter=name):
            return flow_remedy(parameters[name].type, wanted)
        case FunctionRef():
            return value_remedy(wanted, None)
        case Constant(value=value):
            return value_remedy(wanted, value)


def _value_fault(type_: Type, value: object) -> str | None:
    if not takes_values(type_):
        return f"{value!r} is not one"
    if isinstance(type_, ScalarType | AnyType) or value is None:
        return _fault(type_, value)
    # A class that the value needs may not be importable where a pipeline is only read; the plan looks again.
    try:
        return _fault(type_, value)
    except ImportError:
        return None


def _fault(type_: Type, value: object) -> str | None:
    try:
        validated_json(type_, value)
    except FlowcError as error:
        return error.message
    return None


def _default(parameter: Parameter) -> Iterator[Diagnostic]:
    if parameter.required or parameter.default is None:
        return
    if reason := _value_fault(parameter.type, parameter.default):
        message = f"the default of parameter '{parameter.name}' is not of its type: {reason}"
        source = parameter.source.within("default") if parameter.source else None
        hint = f"give a default of type {parameter.type}, or mend the parameter's type"
        yield Diagnostic(code="FC302", message=message, source=source, hint=hint)


def _at(task: Task, port: Port, code: str, message: str, hint: str | None = None) -> Diagnostic:
    related = (Related(message="the input is declared here", source=port.source),) if port.source else ()
    source = _place(task, port.name)
    return Diagnostic(code=code, message=message, source=source, hint=hint, related=related)


def _place(task: Task, name: str) -> Source | None:
    """Return the place of an input that is bound, else the task's."""
    return task.source.within("inputs", name) if task.source and name in task.inputs else task.source
