"""What stands behind the first item of an `Annotated`: bounds, validators, and what can't travel as data."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import annotated_types
from pydantic import AfterValidator, BeforeValidator, PlainValidator, Strict, WrapValidator
from pydantic.fields import FieldInfo
from pydantic.types import PathType

from flowc.errors import UsageError
from flowc.types.limits import CONSTRAINTS, written
from flowc.types.model import (
    Check,
    DictType,
    ListType,
    RefinedType,
    ScalarType,
    Type,
    UnionType,
)
from flowc.types.names import found_by_name, ref_of

_TEXT_CHANGES: tuple[Literal["strip_whitespace", "to_lower", "to_upper"], ...] = (
    *("strip_whitespace", "to_lower", "to_upper"),
)
_MODES: dict[type, Literal["before", "after", "wrap", "plain", "predicate"]] = {
    BeforeValidator: "before",
    AfterValidator: "after",
    WrapValidator: "wrap",
    PlainValidator: "plain",
    annotated_types.Predicate: "predicate",
}
_NONE = ScalarType(name="none")
_HINT = "put it on a field of a pydantic model, and use that"


def annotated(type_: Type, extras: Iterable[Any]) -> Type:
    """Return the type with what its annotations say of it.

    Raises UsageError for one that changes what pydantic does and has no form as data.
    """
    return functools.reduce(_with, _flat(extras), type_)


def limits_of(extras: Iterable[Any]) -> dict[str, Any]:
    """Return the bounds that stand in annotations, by pydantic's names."""
    said = {name: value for extra in _flat(extras) for name, value in _constraints(extra)}
    return {name: value for name, value in said.items() if name in CONSTRAINTS}


def _flat(extras: Iterable[Any]) -> Iterator[Any]:
    for extra in extras:
        if isinstance(extra, FieldInfo):
            yield from _flat(extra.metadata)
            if extra.discriminator is not None:
                yield extra.discriminator
        elif isinstance(extra, annotated_types.GroupedMetadata) and not isinstance(extra, str):
            yield from _flat(extra)
        else:
            yield extra


def _with(type_: Type, extra: Any) -> Type:
    if mode := _MODES.get(type(extra)):
        function = extra.func
        if not found_by_name(function):
            raise UsageError(
                f"the validator {getattr(function, '__qualname__', function)!r} can't be found by its name",
                hint="define it with 'def' at the top of the module, so that workers can import it",
            )
        check = Check(mode=mode, ref=ref_of(function))
        if isinstance(type_, RefinedType):
            return RefinedType(base=type_.base, checks=(*type_.checks, check))
        return RefinedType(base=type_, checks=(check,))
    if isinstance(extra, PathType) and isinstance(type_, ScalarType):
        kinds: dict[str, Literal["file", "folder"]] = {"file": "file", "dir": "folder"}
        return type_.model_copy(update={"exists": kinds.get(extra.path_type)})
    said = dict(_constraints(extra))
    if said:
        return _limited(type_, said)
    if isinstance(extra, str) and isinstance(type_, UnionType):
        return type_.model_copy(update={"discriminator": extra})
    if hasattr(type(extra), "__get_pydantic_core_schema__"):
        raise UsageError(
            f"{type(extra).__name__} in Annotated has no form that a pipeline can keep", hint=_HINT
        )
    return type_


def _constraints(extra: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(extra, Strict):
        yield "strict", extra.strict
        return
    if isinstance(extra, str | bytes | type):
        return
    for name in (*CONSTRAINTS, *_TEXT_CHANGES):
        value = getattr(extra, name, None)
        if value is not None and not callable(value):
            yield name, written(value) if name in ("ge", "gt", "le", "lt", "multiple_of") else value


def _limited(type_: Type, said: dict[str, Any]) -> Type:
    match type_:
        case ScalarType():
            change = tuple(name for name in _TEXT_CHANGES if name in type_.change or said.pop(name, None))
            if set(change) & {"to_lower", "to_upper"} and (said or type_.constraints()):
                raise UsageError("bounds on a text that is then changed to lower or upper case", hint=_HINT)
            return ScalarType.model_validate({**type_.model_dump(exclude={"kind"}), **said, "change": change})
        case ListType() | DictType() if said.keys() <= {"min_length", "max_length", "strict"}:
            said.pop("strict", None)
            return type_.model_copy(update=said)
        case UnionType(options=options):
            whole = [option for option in options if option != _NONE]
            if len(whole) == 1:  # of an Optional, pydantic holds what is not None
                held = tuple(
                    option if option == _NONE else _limited(option, dict(said)) for option in options
                )
                return type_.model_copy(update={"options": held})
    if said.keys() <= {"strict"}:
        return type_
    what = ", ".join(f"{name}={value!r}" for name, value in said.items())
    raise UsageError(f"{what} on {type_} has no form that a pipeline can keep", hint=_HINT)
