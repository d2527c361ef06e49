"""A pipeline as a Mermaid flowchart, for READMEs and pull requests.

Names appear only in quoted labels, with all but harmless characters as entities: a task may be called
anything, and Mermaid looks for directives, comments and HTML inside labels too.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowc.emit.edges import TypeOf, output_types
from flowc.ir import Binding, FromParameter, FromTask, Parameter, Pipeline, Task

_HARMLESS = frozenset(" _-.,/+=()[]")


def to_mermaid(pipeline: Pipeline) -> str:
    """Return the flowchart of a checked pipeline: parameters in use, tasks and outputs as nodes, types on the
    edges between them."""
    return "\n    ".join(("flowchart TD", *_nodes(pipeline), *_edges(pipeline))) + "\n"


def _nodes(pipeline: Pipeline) -> Iterator[str]:
    for index, parameter in enumerate(_bound_parameters(pipeline)):
        yield f'p{index}(["{_label(parameter.name)}"])'
    for index, task in enumerate(pipeline.tasks):
        yield f't{index}["{_task_label(task)}"]'
    for index, output in enumerate(pipeline.outputs):
        yield f'o{index}[["{_label(output.name)}"]]'


def _edges(pipeline: Pipeline) -> Iterator[str]:
    type_of = output_types(pipeline)
    tasks = {task.name: f"t{index}" for index, task in enumerate(pipeline.tasks)}
    parameters = {
        parameter.name: f'p{index} -->|"{_label(str(parameter.type))}"|'
        for index, parameter in enumerate(_bound_parameters(pipeline))
    }

    def start_of(binding: Binding) -> str | None:
        if isinstance(binding, FromTask):
            return f'{tasks[binding.task]} -->|"{_output_label(binding, type_of)}"|'
        return parameters[binding.parameter] if isinstance(binding, FromParameter) else None

    for task in pipeline.tasks:
        for start in filter(None, map(start_of, task.inputs.values())):
            yield f"{start} {tasks[task.name]}"
        for before in task.after:
            yield f"{tasks[before]} -.-> {tasks[task.name]}"
    for index, output in enumerate(pipeline.outputs):
        yield f"{start_of(output.value)} o{index}"


def _bound_parameters(pipeline: Pipeline) -> list[Parameter]:
    bindings = (binding for task in pipeline.tasks for binding in task.inputs.values())
    bound = {binding.parameter for binding in bindings if isinstance(binding, FromParameter)}
    return [parameter for parameter in pipeline.parameters if parameter.name in bound]


def _task_label(task: Task) -> str:
    label = _label(task.name)
    return label if task.component == task.name else f"{label}<br/>{_label(task.component)}"


def _output_label(origin: FromTask, type_of: TypeOf) -> str:
    name = "" if origin.output == "output" else f"{origin.output} "
    return _label(f"{name}{type_of(origin)}")


def _label(text: str) -> str:
    shown = "".join(char if char.isalnum() or char in _HARMLESS else f"#{ord(char)};" for char in text)
    return shown or "#32;"
