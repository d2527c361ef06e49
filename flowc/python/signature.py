"""From a function's signature to typed ports, and from its return annotation to outputs."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable
from typing import Any

from pydantic_core import PydanticSerializationError

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError, UsageError
from flowc.ir import Port
from flowc.python.places import definition, parameters
from flowc.types.artifacts import Artifact
from flowc.types.describe import describe
from flowc.types.model import AnyType, Type
from flowc.types.validate import takes_values, to_json, validated_constant

_EMPTY = inspect.Parameter.empty


def input_ports(function: Callable[..., Any]) -> tuple[Port, ...]:
    """Return a port for each of the function's parameters.

    Raises CompileError with a diagnostic for each one that can't be an input: `*args`, a positional-only one, an
    annotation that means nothing, a default that is not of its type.
    """
    place, places = definition(function), parameters(function)
    hints = annotations_of(function)
    ports: list[Port] = []
    problems: list[Diagnostic] = []
    for parameter in inspect.signature(function).parameters.values():
        try:
            ports.append(
                _port(parameter, hints.get(parameter.name, _EMPTY), places.get(parameter.name, place))
            )
        except UsageError as error:
            message = f"{function.__name__}, parameter '{parameter.name}': {error.message}"
            source = places.get(parameter.name, place)
            problems.append(Diagnostic(code="FC303", message=message, source=source, hint=error.hint))
    if problems:
        raise CompileError(problems)
    return tuple(ports)


def _port(parameter: inspect.Parameter, annotation: Any, place: Source | None) -> Port:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise UsageError(
            f"'{parameter}' has no name to bind by", hint="give each input a name: no *args, **kwargs or '/'"
        )
    type_ = describe(annotation)
    if parameter.default is _EMPTY:
        return Port(name=parameter.name, type=type_, source=place)
    default, opaque = _default(type_, parameter.default)
    return Port(name=parameter.name, type=type_, required=False, default=default, opaque=opaque, source=place)


def _default(type_: Type, value: Any) -> tuple[Any, bool]:
    if value is None:  # `x: int = None` is common, and the function's own business
        return None, False
    if not takes_values(type_) or callable(value):
        return None, True
    try:
        data = to_json(type_, validated_constant(type_, value))
    except PydanticSerializationError:
        return None, True
    # Without a type to go by, JSON has to hold the value exactly: it makes a list of a tuple.
    inexact = isinstance(type_, AnyType) and (data != value or type(data) is not type(value))
    return (None, True) if inexact else (data, False)


def refuse_deferred(function: Callable[..., Any]) -> None:
    """Raise CompileError (FC303) for a function whose call does not do its work: an `async` one, or one that yields."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        what = "is async, so a call only begins it"
        hint = "make it a plain function that calls asyncio.run(...)"
    elif inspect.isgeneratorfunction(function):
        what = "yields, so a call only makes a generator"
        hint = "collect what it yields in a list, and return that"
    else:
        return
    message = f"{function.__name__} {what}"
    raise CompileError([Diagnostic(code="FC303", message=message, source=definition(function), hint=hint)])


def output_ports(function: Callable[..., Any]) -> tuple[Port, ...]:
    """Return the ports of what a function returns: one a field for a NamedTuple or dataclass, else "output"."""
    place = definition(function)
    annotation = annotations_of(function).get("return", _EMPTY)
    if annotation is None or annotation is type(None):
        return ()
    fields = output_fields(annotation)
    try:
        if fields is None:
            return (Port(name="output", type=describe(annotation), source=place),)
        return tuple(Port(name=name, type=describe(hint), source=place) for name, hint in fields)
    except UsageError as error:
        message = f"{function.__name__} returns {error.message}"
        diagnostic = Diagnostic(code="FC303", message=message, source=place, hint=error.hint)
        raise CompileError([diagnostic]) from error


def output_fields(annotation: Any) -> list[tuple[str, Any]] | None:
    """Return the names and annotations of several outputs, or None where the annotation is a single one."""
    if not isinstance(annotation, type) or issubclass(annotation, Artifact):
        return None
    named_tuple = issubclass(annotation, tuple) and hasattr(annotation, "_fields")
    if not (named_tuple or dataclasses.is_dataclass(annotation)):
        return None
    return list(typing.get_type_hints(annotation, include_extras=True).items())


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the function's annotations with strings resolved.

    Raises CompileError (FC303) where an annotation names something that isn't defined.
    """
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        message = f"an annotation of {function.__name__} names '{error.name}', which is not defined"
        diagnostic = Diagnostic(
            code="FC303",
            message=message,
            source=definition(function),
            hint="import or define it at the top of the module",
        )
        raise CompileError([diagnostic]) from error


def descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Return what is said of parameters by `Annotated[..., Field(description="...")]`, pydantic's own way."""
    fields = (
        (name, extra)
        for name, hint in annotations_of(function).items()
        for extra in getattr(hint, "__metadata__", ())
    )
    return {name: extra.description for name, extra in fields if getattr(extra, "description", None)}


def bind(
    names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any], what: str
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Bind a call's arguments to names; the second value says, in words, what did not fit and what to do."""
    bound = dict(zip(names, args, strict=False))
    problems = []
    if len(args) > len(names):
        message = f"{what} takes {len(names)} input(s), {len(args)} were given"
        problems.append((message, f"its inputs are: {', '.join(names) or 'none'}"))
    for name, value in kwargs.items():
        if name in bound:
            hint = f"give '{name}' once, by position or by name"
            problems.append((f"{what} got two values for '{name}'", hint))
        else:
            bound[name] = value
    return bound, problems
