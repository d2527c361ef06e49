"""From the type language back to Python: values checked against a type, and turned to JSON and back."""

from __future__ import annotations

import datetime
import functools
import pathlib
from typing import Annotated, Any, Literal, Union

from pydantic import Field, SecretStr, TypeAdapter, ValidationError

from flowc.errors import UsageError
from flowc.types.model import (
    AnyType,
    CallableType,
    DictType,
    EnumType,
    ListType,
    LiteralType,
    ModelType,
    ScalarName,
    ScalarType,
    TupleType,
    Type,
    UnionType,
)
from flowc.types.names import resolve_ref

_PYTHON: dict[ScalarName, Any] = {
    "none": None,
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "bytes": bytes,
    "path": pathlib.Path,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
    "secret": SecretStr,
}
_CONTAINERS: dict[str, Any] = {"list": list, "set": set, "frozenset": frozenset}


def is_value(type_: Type) -> bool:
    """Say whether values of this type have a JSON form, so that they can be parameters and constants."""
    match type_:
        case ListType(item=item):
            return is_value(item)
        case TupleType(items=items) | UnionType(options=items):
            return all(map(is_value, items))
        case DictType(key=key, value=value):
            return is_value(key) and is_value(value)
        case _:
            return isinstance(type_, AnyType | ScalarType | LiteralType | EnumType | ModelType)


def takes_values(type_: Type) -> bool:
    """Say whether a constant can be given where this type is wanted; of a union, one option is enough."""
    options = type_.options if isinstance(type_, UnionType) else ()
    return is_value(type_) or any(map(takes_values, options))


def takes_functions(type_: Type) -> bool:
    """Say whether a function can be given where this type is wanted; of a union, one option is enough."""
    options = type_.options if isinstance(type_, UnionType) else ()
    return isinstance(type_, AnyType | CallableType) or any(map(takes_functions, options))


def python_type(type_: Type) -> Any:
    """Return the annotation that pydantic validates this type by: of a union, the options that values can be.

    Raises UsageError where the type has no JSON form, NotFoundError where its class can't be imported.
    """
    match type_:
        case ScalarType(name=name):
            limits: dict[str, Any] = type_.constraints()
            return Annotated[_PYTHON[name], Field(**limits)] if limits else _PYTHON[name]
        case AnyType():
            return Any
        case LiteralType(values=values):
            return Literal[values]
        case EnumType(ref=ref) | ModelType(ref=ref):
            return resolve_ref(ref)
        case ListType(container="tuple", item=item):
            return tuple.__class_getitem__((python_type(item), ...))
        case ListType(container=container, item=item):
            return _CONTAINERS[container][python_type(item)]
        case TupleType(items=items):
            return tuple.__class_getitem__(tuple(map(python_type, items)))
        case DictType(key=key, value=value):
            return dict.__class_getitem__((python_type(key), python_type(value)))
        case UnionType(options=options):
            return Union[tuple(map(python_type, filter(takes_values, options)))]  # noqa: UP007  # there is no X | Y of a list
    raise UsageError(f"a value of type {type_} can't be given here; make it the output of a component")


@functools.lru_cache(maxsize=1024)
def _scalar_adapter(type_: ScalarType) -> TypeAdapter[Any]:
    return TypeAdapter(python_type(type_))


def adapter(type_: Type) -> TypeAdapter[Any]:
    """Return pydantic's validator for a type; scalars' are kept, since most ports are scalars."""
    return _scalar_adapter(type_) if isinstance(type_, ScalarType) else TypeAdapter(python_type(type_))


def validated(type_: Type, value: Any) -> Any:
    """Return a Python value held to the type, converted as pydantic does it (an int where a float is asked).

    Raises UsageError with pydantic's reasons.
    """
    try:
        return adapter(type_).validate_python(value)
    except ValidationError as error:
        raise UsageError(f"expected {type_}: {_reasons(error)}") from error


def validated_json(type_: Type, value: Any) -> Any:
    """Return the Python value of one that came as JSON data."""
    try:
        return adapter(type_).validate_python(value, strict=False)
    except ValidationError as error:
        raise UsageError(f"expected {type_}: {_reasons(error)}") from error


def validated_text(type_: Type, text: str) -> Any:
    """Return the Python value that a text from a command line or a form stands for.

    Scalars are read as they stand, an enum's member by its name or value, everything else as JSON; a union tries
    both ways.
    """
    if isinstance(type_, EnumType) and text in type_.members:
        return resolve_ref(type_.ref)[text]
    try:
        return adapter(type_).validate_strings(text)
    except ValidationError as error:
        if isinstance(type_, ScalarType | LiteralType):
            raise UsageError(f"expected {type_}, got {text!r}: {_reasons(error)}") from error
    if isinstance(type_, UnionType | AnyType) and text in ("None", "null"):
        text = "null"
    try:
        return adapter(type_).validate_json(text)
    except ValidationError as error:
        raise UsageError(f"expected {type_}, got {text!r}: {_reasons(error)}") from error


def to_json(type_: Type, value: Any) -> Any:
    """Return a value's JSON form; a secret's is its mask."""
    return adapter(type_).dump_python(value, mode="json")


def _reasons(error: ValidationError) -> str:
    def reason(item: Any) -> str:
        place = ".".join(map(str, item["loc"]))
        return f"{place}: {item['msg']}" if place else str(item["msg"])

    return "; ".join(dict.fromkeys(map(reason, error.errors(include_url=False))))
