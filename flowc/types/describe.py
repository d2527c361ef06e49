"""From a Python annotation to the type language."""

from __future__ import annotations

import datetime
import enum
import functools
import inspect
import pathlib
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, is_typeddict

import annotated_types
from pydantic import BaseModel, SecretStr, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo

from flowc.errors import UsageError
from flowc.types.artifacts import Artifact, Dataset
from flowc.types.columns import columns_of
from flowc.types.model import (
    CONSTRAINTS,
    AnyType,
    ArtifactType,
    CallableType,
    DictType,
    EnumType,
    ListType,
    LiteralType,
    ModelType,
    ObjectType,
    ScalarName,
    ScalarType,
    TupleType,
    Type,
    UnionType,
)
from flowc.types.names import ref_of

_SCALARS: dict[Any, ScalarName] = {
    None: "none",
    type(None): "none",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    bytes: "bytes",
    pathlib.Path: "path",
    datetime.date: "date",
    datetime.datetime: "datetime",
    datetime.time: "time",
    datetime.timedelta: "timedelta",
    SecretStr: "secret",
}
_CONTAINERS: dict[Any, Literal["list", "set", "frozenset"]] = {
    list: "list",
    Sequence: "list",
    Iterable: "list",
    set: "set",
    frozenset: "frozenset",
}


def describe(annotation: Any) -> Type:
    """Return the type that an annotation stands for.

    Raises UsageError for an annotation that no port can have, such as an unresolved string.
    """
    if annotation is inspect.Parameter.empty or annotation is Any or annotation is object:
        return AnyType()
    origin = get_origin(annotation)
    if origin is Annotated:
        return _constrained(*get_args(annotation))
    if origin in (Union, types.UnionType):
        return UnionType(options=tuple(map(describe, get_args(annotation))))
    if origin is Literal:
        return _literal(annotation)
    if annotation in (Callable, typing.Callable, types.FunctionType) or origin is Callable:
        return CallableType()
    if hasattr(annotation, "__value__"):  # a TypeAliasType, which came with Python 3.12
        return describe(annotation.__value__)
    if isinstance(annotation, str | typing.ForwardRef):
        raise UsageError(
            f"the annotation {annotation!r} names something that is not defined",
            hint="import or define it before the function, or correct the name",
        )
    if isinstance(annotation, typing.TypeVar):
        return describe(annotation.__bound__) if annotation.__bound__ else AnyType()
    if isinstance(annotation, typing.NewType):
        return describe(annotation.__supertype__)
    try:
        scalar = _SCALARS.get(annotation)
    except TypeError:
        raise UsageError(f"{annotation!r} is not a type that a port can have") from None
    if scalar is not None:
        return ScalarType(name=scalar)
    return _described_class(origin or annotation, get_args(annotation))


def _described_class(cls: Any, args: tuple[Any, ...]) -> Type:
    if cls in _CONTAINERS:
        return ListType(container=_CONTAINERS[cls], item=describe(args[0]) if args else AnyType())
    if cls is tuple:
        return _tuple(args)
    if cls in (dict, Mapping):
        key, value = args or (Any, Any)
        return DictType(key=describe(key), value=describe(value))
    if not isinstance(cls, type):
        raise UsageError(f"{cls!r} is not a type that a port can have")
    if issubclass(cls, Artifact):
        return _artifact(cls, args)
    if issubclass(cls, enum.Enum):
        return EnumType(ref=ref_of(cls), members={member.name: _json(member.value) for member in cls})
    if issubclass(cls, pathlib.PurePath):
        return ScalarType(name="path")
    hashable: Any = cls
    if is_typeddict(cls) or is_dataclass(cls) or issubclass(cls, BaseModel) or _is_named_tuple(cls):
        return _model(hashable)
    return ObjectType(ref=ref_of(cls), bases=_ancestors(cls, object))


def _constrained(inner: Any, *extras: Any) -> Type:
    described = describe(inner)
    if not isinstance(described, ScalarType):
        return described
    return described.model_copy(update=dict(_constraints(extras)))


def _constraints(extras: Iterable[Any]) -> Iterable[tuple[str, Any]]:
    for extra in extras:
        if isinstance(extra, FieldInfo):
            yield from _constraints(extra.metadata)
        elif isinstance(extra, annotated_types.GroupedMetadata):
            yield from _constraints(extra)
        else:
            for name in CONSTRAINTS:
                value = getattr(extra, name, None)
                if value is not None and not callable(value):
                    yield name, value


def _literal(annotation: Any) -> Type:
    values = get_args(annotation)
    if any(isinstance(value, enum.Enum | bytes) for value in values):
        raise UsageError(f"{annotation} holds values that have no JSON form", hint="use the Enum itself")
    return LiteralType(values=values)


def _tuple(args: tuple[Any, ...]) -> Type:
    if not args:
        return ListType(container="tuple", item=AnyType())
    if len(args) == 2 and args[1] is Ellipsis:
        return ListType(container="tuple", item=describe(args[0]))
    return TupleType(items=tuple(map(describe, args)))


def _artifact(cls: type[Artifact], args: tuple[Any, ...]) -> ArtifactType:
    row = args[0] if args and not isinstance(args[0], typing.TypeVar) else None
    is_table = issubclass(cls, Dataset) and row not in (None, Any)
    return ArtifactType(
        ref=ref_of(cls),
        bases=_ancestors(cls, Artifact),
        row=ref_of(row) if is_table else None,
        columns=columns_of(row) if is_table else None,
    )


def _ancestors(cls: type, root: type) -> tuple[str, ...]:
    return tuple(ref_of(base) for base in cls.__mro__[1:] if issubclass(base, root) and base is not root)


@functools.cache
def _model(cls: Any) -> Type:
    bases = _ancestors(cls, object) if isinstance(cls, type) else ()
    try:
        schema = TypeAdapter(cls).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError):
        # A dataclass with a field that pydantic can't validate is an object like any other.
        return ObjectType(ref=ref_of(cls), bases=bases)
    return ModelType(ref=ref_of(cls), bases=bases, json_schema=schema)


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _json(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
