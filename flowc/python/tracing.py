"""A pipeline being written down: calls of components become tasks, and what is wrong with them is collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isfunction
from pathlib import Path
from typing import Any, Protocol

from flowc.diagnostics import Diagnostic, Related, Source
from flowc.errors import CompileError, UsageError, did_you_mean
from flowc.ir import Binding, Component, Constant, FromTask, FunctionRef, Policy, Port, Resources, Task
from flowc.python.futures import Future, Futures, output_of
from flowc.python.places import caller, definition
from flowc.python.signature import bind
from flowc.types.names import displaced_by, ref_of
from flowc.types.paths import anchored, portable
from flowc.types.remedy import value_remedy
from flowc.types.secret import holds_secret
from flowc.types.validate import takes_values, to_json, validated_constant, validated_json

_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current_trace() -> Trace | None:
    """Return the pipeline that is being traced, or None outside of one."""
    return _current.get()


class Called(Protocol):
    """A component as a call has it: with the name, resources and policy that `.options` gave it."""

    name: str
    function: Callable[..., Any]
    task_name: str | None
    resources: Resources
    policy: Policy

    @property
    def spec(self) -> Component: ...


class Trace:
    """What has been written down so far. `root` is the project's root, `folder` that of the pipeline's file."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.components: dict[str, Component] = {}
        self.tasks: dict[str, Task] = {}
        self.diagnostics: list[Diagnostic] = []
        self._functions: set[Callable[..., Any]] = set()
        self._prefix = ""
        self._counts: dict[str, int] = {}

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let calls of components go to this trace."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def nested(self, name: str) -> Iterator[None]:
        """Put the tasks of a nested pipeline under its name."""
        outer = self._prefix
        self._prefix = self._free_name(name) + "/"
        try:
            yield
        finally:
            self._prefix = outer

    def add_task(self, called: Called, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add the task that a call stands for and return the future or futures of its outputs."""
        place = caller()
        component = self._register(called, place)
        name = self._free_name(called.task_name or called.name)
        # Where the component has an input of this name, it is that input's, as in a call outside a pipeline.
        is_input = any(port.name == "after" for port in component.inputs)
        after = () if is_input else self._after(kwargs.pop("after", ()), place)
        self.tasks[name] = Task(
            name=name,
            component=component.name,
            inputs=self._inputs(component, args, kwargs, place),
            after=after,
            resources=called.resources,
            policy=called.policy,
            source=place,
        )
        if len(component.outputs) == 1 and component.outputs[0].name == "output":
            return output_of(name, component.outputs[0])
        return Futures(name, component.outputs)

    def report(self, code: str, message: str, source: Source, hint: str | None = None) -> None:
        """Note a problem and go on: all of them are shown at once."""
        self.diagnostics.append(Diagnostic(code=code, message=message, source=source, hint=hint))

    def _free_name(self, name: str) -> str:
        full = self._prefix + name
        self._counts[full] = count = self._counts.get(full, 0) + 1
        return full if count == 1 else self._free_name(f"{name}-{count}")

    def _register(self, called: Called, place: Source) -> Component:
        spec = called.spec
        known = self.components.setdefault(spec.name, spec)
        if known.code != spec.code:
            hint = 'give one of them another name: @component(name="...")'
            self._report_twin(f"two components are named '{spec.name}'", spec, place, known.source, hint)
        if called.function not in self._functions:
            self._functions.add(called.function)
            if other := displaced_by(called.function):
                message = (
                    f"another function named '{other.__name__}' has taken this one's place in its module"
                )
                hint = "give one of the functions another name: a task finds its code by it"
                self._report_twin(message, spec, place, definition(other), hint)
        return spec

    def _report_twin(
        self, message: str, spec: Component, place: Source, other: Source | None, hint: str
    ) -> None:
        related = (Related(message="the other one", source=other),) if other else ()
        source = spec.source or place
        found = Diagnostic(code="FC104", message=message, source=source, hint=hint, related=related)
        self.diagnostics.append(found)

    def _inputs(
        self, component: Component, args: tuple[Any, ...], kwargs: dict[str, Any], place: Source
    ) -> dict[str, Binding]:
        ports = {port.name: port for port in component.inputs}
        bound, problems = bind(list(ports), args, kwargs, f"component '{component.name}'")
        for problem, hint in problems:
            self.report("FC105", problem, place, hint)
        inputs: dict[str, Binding] = {}
        for name, value in bound.items():
            if name not in ports:
                hint = did_you_mean(name, ports) or f"its inputs are: {', '.join(ports) or 'none'}"
                self.report("FC105", f"component '{component.name}' has no input '{name}'", place, hint)
            elif (binding := self._binding(component, ports[name], value, place)) is not None:
                inputs[name] = binding
        return inputs | {
            name: Constant(value=port.default)
            for name, port in ports.items()
            if name not in bound and _is_fresh_default(port)
        }

    def _binding(self, component: Component, port: Port, value: Any, place: Source) -> Binding | None:
        what = f"input '{port.name}' of component '{component.name}'"
        if isinstance(value, Future):
            return value._binding
        if isinstance(value, Futures):
            hint = f"pick one: {', '.join(value._futures)}"
            message = f"{what} was given {value!r}, all outputs at once"
            if not value._futures:
                hint = "annotate what the component returns"
                message = f"{what} was given what '{value._task}' returns: nothing, as its signature says"
            self.report("FC110", message, place, hint)
        elif _holds_future(value):
            hint = "pass each future to an input of its own"
            self.report("FC110", f"{what} was given a {type(value).__name__} with futures in it", place, hint)
        elif isfunction(value) or isinstance(value, type) or hasattr(value, "function"):
            return self._function(what, value, place)
        else:
            return self._constant(what, port, value, place)
        return None

    def _function(self, what: str, value: Any, place: Source) -> FunctionRef | None:
        if "<" in value.__qualname__:
            hint = "define it with 'def' at the top of the module, so that workers can import it"
            self.report("FC111", f"{what} was given a function that can't be found by name", place, hint)
            return None
        if displaced_by(value):
            hint = "give one of the two another name: a worker would import the other"
            message = f"{what} was given a '{value.__name__}' whose name another function has taken"
            self.report("FC111", message, place, hint)
            return None
        return FunctionRef(ref=ref_of(value))

    def _constant(self, what: str, port: Port, value: Any, place: Source) -> Constant | None:
        if not takes_values(port.type):
            hint = value_remedy(port.type, value)
            self.report("FC301", f"{what} takes {port.type}, not {value!r}", place, hint)
            return None
        try:
            value = portable(port.type, validated_constant(port.type, value), self.folder, self.root)
            return Constant(value=to_json(port.type, value))
        except UsageError as error:
            hint = error.hint or value_remedy(port.type, value)
            self.report("FC301", f"{what}: {error.message}", place, hint)
        except ValueError as error:  # pydantic's serialization errors
            hint = "make it the output of a component"
            self.report("FC301", f"{what}: {type(value).__name__} has no JSON form ({error})", place, hint)
        return None

    def _after(self, after: Any, place: Source) -> tuple[str, ...]:
        names: list[str] = []
        for item in after if isinstance(after, list | tuple) else [after]:
            if isinstance(item, Futures):
                names.append(item._task)
            elif isinstance(item, Future) and isinstance(item._binding, FromTask):
                names.append(item._binding.task)
            else:
                hint = "pass what a component returned: after=make(), or a list of such"
                self.report("FC107", f"after= takes what components returned, not {item!r}", place, hint)
        return tuple(dict.fromkeys(names))


def _is_fresh_default(port: Port) -> bool:
    """Say whether an input that a call leaves out is to have a copy of its default, and not the function's own.

    A list or dict that one task changed would else be another task's default in the same worker process. Secrets and
    relative paths, which mean something else when they are written down, stay the function's business.
    """
    if not isinstance(port.default, list | dict) or holds_secret(port.type):
        return False
    value = validated_json(port.type, port.default)
    return bool(anchored(port.type, value, Path("/elsewhere")) == value)


def _holds_future(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_future, value.values()))
    if isinstance(value, list | tuple | set):
        return any(map(_holds_future, value))
    return isinstance(value, Future | Futures)


def fail_together(trace: Trace, error: CompileError) -> CompileError:
    """Return an error that holds what was collected before tracing had to stop, and why it stopped."""
    return CompileError((*trace.diagnostics, *error.diagnostics))
