"""`@component`: a typed function that is an ordinary one outside a pipeline, and makes a task inside one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Self, TypeVar, Unpack, overload

from flowc.diagnostics import Diagnostic
from flowc.errors import CompileError, UsageError
from flowc.ir import Component, Policy, PythonCode, Resources
from flowc.python.options import ComponentOptions, TaskOptions, policy_from, refuse_unknown, resources_from
from flowc.python.places import caller, definition
from flowc.python.signature import input_ports, output_ports, refuse_deferred
from flowc.python.tracing import current_trace
from flowc.types.names import ref_of

P = ParamSpec("P")
R = TypeVar("R")


class ComponentFunction(Generic[P, R]):
    """A component. Called outside a pipeline it runs; inside one it adds a task and returns its future.

    Inside a pipeline a call also takes `after=`, a future or a list of them: tasks to wait for without their data.
    """

    def __init__(self, function: Callable[P, R], options: ComponentOptions) -> None:
        self.function = function
        self.name = options.get("name", function.__name__)
        self.task_name: str | None = None
        self.role = options.get("role")
        self.resources, self.policy = _needs(options, ComponentOptions, Resources(), Policy())
        functools.update_wrapper(self, function)

    @functools.cached_property
    def spec(self) -> Component:
        """The component as the IR has it. Raises CompileError where the signature can't be one."""
        refuse_deferred(self.function)
        module, _, qualname = ref_of(self.function).partition(":")
        return Component(
            name=self.name,
            inputs=input_ports(self.function),
            outputs=output_ports(self.function),
            code=PythonCode(module=module, qualname=qualname),
            role=self.role,
            description=inspect.getdoc(self.function) or "",
            resources=self.resources,
            policy=self.policy,
            source=definition(self.function),
        )

    def options(self, **options: Unpack[TaskOptions]) -> Self:
        """Return the same component with other resources, policy or task name, for one call.

        Raises CompileError (FC402) for options that make no sense.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.task_name = options.get("name", self.task_name)
        other.resources, other.policy = _needs(options, TaskOptions, self.resources, self.policy)
        return other

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        trace = current_trace()
        if trace is None:
            if "after" in kwargs and "after" not in inspect.signature(self.function).parameters:
                del kwargs["after"]  # outside a pipeline, calls are in order as they stand
            return self.function(*args, **kwargs)
        future: Any = trace.add_task(self, args, dict(kwargs))
        return future  # type: ignore[no-any-return]  # a future stands in for an R

    def __repr__(self) -> str:
        return f"<component '{self.name}'>"


def _needs(
    options: TaskOptions, kind: type[TaskOptions], resources: Resources, policy: Policy
) -> tuple[Resources, Policy]:
    """Return what the options make of these; CompileError (FC402) at the user's line where they make no sense."""
    try:
        refuse_unknown(options, kind.__annotations__)
        return resources_from(options, resources), policy_from(options, policy)
    except UsageError as error:
        problem = Diagnostic(code="FC402", message=error.message, source=caller(), hint=error.hint)
        raise CompileError([problem]) from error


@overload
def component(function: Callable[P, R], /) -> ComponentFunction[P, R]: ...
@overload
def component(
    **options: Unpack[ComponentOptions],
) -> Callable[[Callable[P, R]], ComponentFunction[P, R]]: ...
def component(function: Callable[..., Any] | None = None, /, **options: Unpack[ComponentOptions]) -> Any:
    """Make a function a component. Bare, or with its name, role, resources and policy.

    >>> @component(cpus=2, memory="4GiB", retries=1)
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double(21)
    42
    """
    if function is None:
        return lambda decorated: ComponentFunction(decorated, options)
    return ComponentFunction(function, options)
