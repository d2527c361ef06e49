"""Rules on the graph: names are there and stand for one thing each, and nothing waits for itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

from flowc.diagnostics import Diagnostic, Related, Source
from flowc.errors import did_you_mean
from flowc.ir import FromParameter, FromTask, Pipeline, PythonCode, Task


def check_graph(pipeline: Pipeline) -> Iterator[Diagnostic]:
    """Find names that are missing or taken twice, and tasks that wait for each other."""
    yield from _twice("task", pipeline.tasks)
    yield from _twice("parameter", pipeline.parameters)
    yield from _component_faults(pipeline)
    yield from _outputs_twice(pipeline)
    known = {task.name: task for task in pipeline.tasks}
    parameters = {parameter.name for parameter in pipeline.parameters}
    for task in pipeline.tasks:
        if task.component not in pipeline.components:
            hint = did_you_mean(task.component, pipeline.components)
            yield _error("FC108", task, f"task '{task.name}': no component '{task.component}'", hint)
        for name, binding in task.inputs.items():
            what = f"task '{task.name}', input '{name}'"
            if isinstance(binding, FromParameter) and binding.parameter not in parameters:
                hint = did_you_mean(binding.parameter, parameters)
                message = f"{what}: no parameter '{binding.parameter}'"
                yield _error("FC106", task, message, hint, ("inputs", name))
            elif isinstance(binding, FromTask):
                yield from _unknown_output(pipeline, known, task, what, binding, ("inputs", name))
        for position, other in enumerate(task.after):
            if other not in known:
                hint = did_you_mean(other, known)
                message = f"task '{task.name}' comes after '{other}', which is no task"
                yield _error("FC107", task, message, hint, ("after", position))
    for position, output in enumerate(pipeline.outputs):
        what, part = f"output '{output.name}'", ("outputs", position)
        yield from _unknown_output(pipeline, known, pipeline, what, output.value, part)
    yield from _circles(pipeline, known)


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def source(self) -> Source | None: ...


def _component_faults(pipeline: Pipeline) -> Iterator[Diagnostic]:
    for name, component in pipeline.components.items():
        yield from _twice("input", component.inputs, f" in component '{name}'")
        yield from _twice("output", component.outputs, f" in component '{name}'")
        if component.name != name:
            message = f"the component '{name}' calls itself '{component.name}'"
            hint = "give it one name, which its tasks use"
            yield Diagnostic(code="FC108", message=message, source=component.source, hint=hint)
        if isinstance(component.code, PythonCode) and "<" in component.code.qualname:
            message = f"component '{name}' is made by a function that can't be found by name"
            hint = "define it with 'def' at the top of a module, so that workers can import it"
            yield Diagnostic(code="FC111", message=message, source=component.source, hint=hint)


def _outputs_twice(pipeline: Pipeline) -> Iterator[Diagnostic]:
    names = [output.name for output in pipeline.outputs]
    for position, name in enumerate(names):
        if name in names[:position]:
            source = pipeline.source.within("outputs", position) if pipeline.source else None
            yield Diagnostic(code="FC104", message=f"two outputs are named '{name}'", source=source)


def _twice(what: str, things: Iterable[_Named], where: str = "") -> Iterator[Diagnostic]:
    first: dict[str, _Named] = {}
    for thing in things:
        other = first.setdefault(thing.name, thing)
        if other is not thing:
            related = (Related(message="the first one", source=other.source),) if other.source else ()
            message = f"two {what}s are named '{thing.name}'{where}"
            yield Diagnostic(code="FC104", message=message, source=thing.source, related=related)


def _unknown_output(
    pipeline: Pipeline,
    known: dict[str, Task],
    place: Task | Pipeline,
    what: str,
    binding: FromTask,
    part: tuple[str | int, ...],
) -> Iterator[Diagnostic]:
    maker = known.get(binding.task)
    if maker is None:
        hint = did_you_mean(binding.task, known)
        yield _error("FC101", place, f"{what}: no task '{binding.task}'", hint, part)
    elif component := pipeline.components.get(maker.component):
        names = [port.name for port in component.outputs]
        if binding.output not in names:
            hint = did_you_mean(binding.output, names) or f"its outputs are: {', '.join(names) or 'none'}"
            message = f"{what}: task '{binding.task}' has no output '{binding.output}'"
            yield _error("FC101", place, message, hint, part)


def _circles(pipeline: Pipeline, known: dict[str, Task]) -> Iterator[Diagnostic]:
    """Report each group of tasks that wait for each other once, at its first task."""
    ordered = {task.name for task in topological_order(pipeline)}
    left = {name: task for name, task in known.items() if name not in ordered}
    while left:
        circle = _walk(left)
        if circle is None:
            return  # the rest only waits for a circle
        path = " → ".join([*circle, circle[0]])
        hint = "take one of these edges away"
        yield _error("FC102", left[circle[0]], f"tasks wait for each other: {path}", hint)
        for name in circle:
            del left[name]


def _walk(left: dict[str, Task]) -> list[str] | None:
    """Follow edges upstream until a task comes twice; return that circle in the order in which data would flow."""
    for start in left:
        trail: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in trail:
            trail[name] = None
            name = next((above for above in left[name].upstream() if above in left), None)
        if name is not None:
            names = list(trail)
            return names[names.index(name) :][::-1]
    return None


def topological_order(pipeline: Pipeline) -> tuple[Task, ...]:
    """Return the tasks so that each stands behind what it needs, and else as written; those in a circle are left
    out. Kahn's algorithm, linear in tasks and edges."""
    known = {task.name: task for task in pipeline.tasks}
    waiting = {name: sum(above in known for above in task.upstream()) for name, task in known.items()}
    below: dict[str, list[str]] = {name: [] for name in known}
    for name, task in known.items():
        for above in task.upstream():
            if above in below:
                below[above].append(name)
    ready = deque(name for name, count in waiting.items() if count == 0)
    ordered: list[Task] = []
    while ready:
        name = ready.popleft()
        ordered.append(known[name])
        for other in below[name]:
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    return tuple(ordered)


def _error(
    code: str,
    place: Task | Pipeline,
    message: str,
    hint: str | None = None,
    part: tuple[str | int, ...] = (),
) -> Diagnostic:
    source = place.source.within(*part) if place.source else None
    return Diagnostic(code=code, message=message, source=source, hint=hint)
