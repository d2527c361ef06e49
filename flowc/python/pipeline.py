"""`@pipeline`: a function whose calls of components are traced into the IR."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, overload

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError, FlowcError, UsageError, did_you_mean
from flowc.ir import FromTask, Output, Parameter, Pipeline, Port
from flowc.project import find_root
from flowc.python.futures import Future, Futures, parameter_future
from flowc.python.modules import is_own_file, project_modules
from flowc.python.places import caller, definition, raised, returned
from flowc.python.signature import bind, descriptions, input_ports, refuse_deferred
from flowc.python.tracing import Trace, current_trace, fail_together
from flowc.types.flow import mismatch
from flowc.types.model import AnyType
from flowc.types.paths import portable
from flowc.types.remedy import flow_remedy, value_remedy
from flowc.types.validate import to_json, validated, validated_constant

P = ParamSpec("P")
R = TypeVar("R")


class PipelineFunction(Generic[P, R]):
    """A pipeline. Compiled, it is traced; called in another pipeline, its tasks join that one's; called by itself,
    it is the plain function, and its components just run."""

    def __init__(self, function: Callable[P, R], name: str | None) -> None:
        self.function: Callable[..., R] = function
        self.name = name or function.__name__
        functools.update_wrapper(self, function)

    @functools.cached_property
    def ports(self) -> tuple[Port, ...]:
        """The parameters as typed ports. Raises CompileError where the signature can't be a pipeline's."""
        return input_ports(self.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        trace = current_trace()
        if trace is None:
            return self.function(*args, **kwargs)
        return self._join(trace, args, dict(kwargs))

    def _join(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        place = caller()
        bound, problems = bind([port.name for port in self.ports], args, kwargs, f"pipeline '{self.name}'")
        for problem, hint in problems:
            trace.report("FC105", problem, place, hint)
        ports = {port.name: port for port in self.ports}
        for name in [name for name in bound if name not in ports]:
            hint = did_you_mean(name, ports) or f"its parameters are: {', '.join(ports) or 'none'}"
            trace.report("FC105", f"pipeline '{self.name}' has no parameter '{name}'", place, hint)
            del bound[name]
        missing = [port for port in self.ports if port.required and port.name not in bound]
        for port in missing:
            message = f"parameter '{port.name}' ({port.type}) of pipeline '{self.name}' has no value"
            trace.report("FC103", message, place, "pass it in the call, or give it a default")
        if missing:
            raise CompileError(())
        held = {name: self._held(trace, ports[name], value, place) for name, value in bound.items()}
        with trace.nested(self.name):
            return self.function(**held)

    def _held(self, trace: Trace, port: Port, value: Any, place: Source) -> Any:
        what = f"parameter '{port.name}' of pipeline '{self.name}'"
        try:
            if not isinstance(value, Future | Futures):
                return validated_constant(port.type, value)
        except UsageError as error:
            hint = error.hint or value_remedy(port.type, value)
            trace.report("FC301", f"{what}: {error.message}", place, hint)
        if isinstance(value, Future) and (reason := mismatch(value._type, port.type)):
            hint = flow_remedy(value._type, port.type)
            trace.report("FC301", f"{what} can't take {value!r}: {reason}", place, hint)
        return value

    def compile(self, root: Path | None = None) -> Pipeline:
        """Trace the function and return the pipeline. Raises CompileError where calls in it are wrong."""
        pipeline, diagnostics = self.traced(root)
        if diagnostics:
            raise CompileError(diagnostics)
        return pipeline

    def traced(self, root: Path | None = None) -> tuple[Pipeline, tuple[Diagnostic, ...]]:
        """Trace the function; return the pipeline and what is wrong with the calls in it.

        A wrong call is still a task, without what was wrong, so that the checks can go on from there. Raises
        CompileError where tracing has to stop, as when a future is used as a value.
        """
        refuse_deferred(self.function)
        file = Path(inspect.getfile(self.function)).resolve()
        root = root or find_root(file)
        trace = Trace(root, file.parent)
        futures = {port.name: parameter_future(port.name, port.type) for port in self.ports}
        with trace.active():
            try:
                result = self.function(**futures)
                outputs = tuple(_outputs(result, returned(self.function)))
            except CompileError as error:
                raise fail_together(trace, error) from error
            except FlowcError:
                raise
            except (Exception, SystemExit) as error:
                raise fail_together(trace, self._failed(error, root)) from error
        pipeline = Pipeline(
            name=self.name,
            description=inspect.getdoc(self.function) or "",
            parameters=tuple(self._parameters(file.parent, root)),
            components=trace.components,
            tasks=tuple(trace.tasks.values()),
            outputs=outputs,
            modules=project_modules(trace.components.values(), trace.tasks.values(), file, root),
            source=definition(self.function),
        )
        return pipeline, tuple(trace.diagnostics)

    def _failed(self, error: BaseException, root: Path) -> CompileError:
        """Return the diagnostic of an error that the function raised; an error of flowc's own comes through."""
        place = raised(error, lambda file: is_own_file(file, root))
        if place is None:
            raise error
        text = "".join(traceback.format_exception_only(error)).strip()
        message = f"pipeline '{self.name}' failed while it was compiled: {text}"
        return CompileError([Diagnostic(code="FC113", message=message, source=place)])

    def _parameters(self, folder: Path, root: Path) -> Iterator[Parameter]:
        defaults = inspect.signature(self.function).parameters
        described = descriptions(self.function)
        for port in self.ports:
            default = port.default
            if port.opaque and isinstance(port.type, AnyType):
                raise CompileError([self._unsaid_default(port)])
            if not port.required and not port.opaque and default is not None:
                value = validated(port.type, defaults[port.name].default)
                default = to_json(port.type, portable(port.type, value, folder, root))
            yield Parameter(
                name=port.name,
                type=port.type,
                required=port.required,
                default=default,
                description=described.get(port.name, ""),
                source=port.source,
            )

    def _unsaid_default(self, port: Port) -> Diagnostic:
        return Diagnostic(
            code="FC303",
            message=f"the default of parameter '{port.name}' of pipeline '{self.name}' has no form that a run can keep",
            source=port.source,
            hint="annotate the parameter with the type of its values",
        )

    def __repr__(self) -> str:
        return f"<pipeline '{self.name}'>"


def _outputs(returned: Any, place: Source | None) -> Iterator[Output]:
    """Return the pipeline's outputs: a future by itself is "output", several are named by key or field."""
    if returned is None:
        return
    named: dict[str, Any]
    if isinstance(returned, Future):
        named = {"output": returned}
    elif isinstance(returned, Futures):
        named = dict(returned._futures)
    elif isinstance(returned, dict):
        named = returned
    elif isinstance(returned, tuple) and hasattr(returned, "_asdict"):
        named = returned._asdict()
    elif isinstance(returned, tuple | list):
        named = {f"output_{number}": future for number, future in enumerate(returned, 1)}
    else:
        named = {"output": returned}
    for name, future in named.items():
        if not isinstance(future, Future) or not isinstance(future._binding, FromTask):
            message = f"a pipeline returns what its components made; '{name}' is {future!r}"
            hint = "return futures, or a dict of them"
            raise CompileError([Diagnostic(code="FC112", message=message, source=place, hint=hint)])
        yield Output(name=str(name), value=future._binding)


@overload
def pipeline(function: Callable[P, R], /) -> PipelineFunction[P, R]: ...
@overload
def pipeline(*, name: str | None = None) -> Callable[[Callable[P, R]], PipelineFunction[P, R]]: ...
def pipeline(function: Callable[..., Any] | None = None, /, *, name: str | None = None) -> Any:
    """Make a function a pipeline. Its arguments are the pipeline's typed parameters."""
    if function is None:
        return lambda decorated: PipelineFunction(decorated, name)
    return PipelineFunction(function, name)
