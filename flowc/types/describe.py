"""From a Python annotation to the type language."""

from __future__ import annotations

import abc
import collections.abc as abcs
import datetime
import enum
import functools
import inspect
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typing_extensions
from pydantic import (
    AwareDatetime,
    BaseModel,
    NaiveDatetime,
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    Secret,
    SecretBytes,
    SecretStr,
    TypeAdapter,
)

from flowc.errors import UsageError
from flowc.types.annotated import annotated
from flowc.types.artifacts import Artifact, Dataset
from flowc.types.hints import complete, keys_of, undefined
from flowc.types.model import (
    AnyType,
    ArtifactType,
    BytesLiteralType,
    CallableType,
    DictType,
    EnumType,
    FieldType,
    ListType,
    LiteralType,
    ModelType,
    ObjectType,
    ScalarName,
    ScalarType,
    TupleType,
    Type,
    UnionType,
    VariableType,
)
from flowc.types.names import ref_of
from flowc.types.row_types import rows_of, with_schema

_SCALARS: dict[Any, ScalarName] = {
    None: "none",
    type(None): "none",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    typing.LiteralString: "str",
    bytes: "bytes",
    pathlib.Path: "path",
    Decimal: "decimal",
    uuid.UUID: "uuid",
    datetime.date: "date",
    datetime.datetime: "datetime",
    datetime.time: "time",
    datetime.timedelta: "timedelta",
    SecretStr: "secret",
    SecretBytes: "secret_bytes",
}
_ZONED: dict[Any, Literal["aware", "naive"]] = {AwareDatetime: "aware", NaiveDatetime: "naive"}
Container = Literal["list", "set", "frozenset", "tuple", "sequence", "collection"]
_CONTAINERS: dict[Any, Container] = {
    list: "list",
    abcs.MutableSequence: "list",
    abcs.Sequence: "sequence",
    abcs.Iterable: "collection",
    abcs.Collection: "collection",
    set: "set",
    abcs.MutableSet: "set",
    abcs.Set: "set",
    frozenset: "frozenset",
}
_ONCE = (abcs.Iterator, abcs.Generator, abcs.AsyncIterator, abcs.AsyncIterable, abcs.Awaitable)
_OPEN: ContextVar[tuple[Any, ...]] = ContextVar("classes and aliases that are being described", default=())


def describe(annotation: Any) -> Type:
    """Return the type that an annotation stands for.

    Raises UsageError for an annotation that no port can have, such as an unresolved string.
    """
    if annotation is inspect.Parameter.empty or annotation is Any or annotation is object:
        return AnyType()
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *extras = get_args(annotation)
        return with_schema(annotated(describe(inner), extras), extras)
    if origin in (Union, types.UnionType):
        return UnionType(options=tuple(map(describe, get_args(annotation))))
    if origin is Literal:
        return _literal(get_args(annotation))
    if annotation in (Callable, typing.Callable, types.FunctionType, type) or origin in (Callable, type):
        return CallableType()
    if isinstance(origin or annotation, typing_extensions.TypeAliasType | _TypeAliasType):
        return _alias(origin or annotation, get_args(annotation))
    if isinstance(annotation, str | typing.ForwardRef):
        raise UsageError(
            f"the annotation {annotation!r} names something that is not defined",
            hint="import or define it before the function, or correct the name",
        )
    if isinstance(annotation, typing.TypeVar | typing_extensions.TypeVar):
        return _variable(annotation)
    if isinstance(annotation, typing.NewType):
        return describe(annotation.__supertype__)
    try:
        scalar = _SCALARS.get(annotation)
    except TypeError:
        raise _no_type(annotation) from None
    if scalar is not None:
        return ScalarType(name=scalar)
    return _described_class(annotation, origin or annotation, get_args(annotation))


_TypeAliasType: type = getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType)  # Python 3.12's


def _described_class(annotation: Any, cls: Any, args: tuple[Any, ...]) -> Type:
    if cls in _CONTAINERS:
        return ListType(container=_CONTAINERS[cls], item=describe(args[0]) if args else AnyType())
    if cls is tuple:
        return _tuple(args)
    if cls in (dict, abcs.Mapping, abcs.MutableMapping):
        key, value = args or (Any, Any)
        return DictType(key=describe(key), value=describe(value))
    if cls in _ZONED:
        return ScalarType(name="datetime", zone=_ZONED[cls])
    if not isinstance(cls, type):
        raise _no_type(annotation)
    if issubclass(cls, Artifact):
        return _artifact(cls, args)
    if issubclass(cls, enum.Enum):
        return _enum(cls)
    if issubclass(cls, pathlib.PurePath):
        return ScalarType(name="path")
    if cls in _ONCE or issubclass(cls, Secret):
        what = "can be read once only" if cls in _ONCE else "may show what it holds"
        hint = "return a list" if cls in _ONCE else "use SecretStr or SecretBytes"
        raise UsageError(f"a value of type {cls.__name__} {what}", hint=hint)
    if (cls.__module__, cls.__name__) == ("numpy", "ndarray"):
        return _array(cls, args)
    return _model(annotation) or _object(cls)


def _no_type(annotation: Any) -> UsageError:
    hint = None
    if annotation in (typing.Self, typing.NoReturn, typing.Never):
        hint = "name the class, or None where nothing is returned"
    return UsageError(f"{annotation!r} is not a type that a port can have", hint=hint)


def _literal(values: tuple[Any, ...]) -> Type:
    plain: tuple[Any, ...] = tuple(value for value in values if not isinstance(value, enum.Enum | bytes))
    raw = tuple(value.decode("latin-1") for value in values if isinstance(value, bytes))
    enums: dict[type[enum.Enum], list[str]] = {}
    for value in values:
        if isinstance(value, enum.Enum):
            enums.setdefault(type(value), []).append(value.name)
    options: list[Type] = []
    if plain:
        options.append(LiteralType(values=plain))
    if raw:
        options.append(BytesLiteralType(values=raw))
    options += [_enum(cls).model_copy(update={"only": tuple(names)}) for cls, names in enums.items()]
    return options[0] if len(options) == 1 else UnionType(options=tuple(options))


def _enum(cls: type[enum.Enum]) -> EnumType:
    mixins: tuple[tuple[type, Literal["int", "float", "str"]], ...] = (
        (int, "int"),
        (float, "float"),
        (str, "str"),
    )
    mixin = next((name for of, name in mixins if of in cls.__mro__), None)
    return EnumType(
        ref=ref_of(cls),
        members={member.name: _json(member.value) for member in cls},
        mixin=None if issubclass(cls, enum.Flag) else mixin,  # flags are combined to values of no member
    )


def _tuple(args: tuple[Any, ...]) -> Type:
    if not args:
        return ListType(container="tuple", item=AnyType())
    if len(args) == 2 and args[1] is Ellipsis:
        return ListType(container="tuple", item=describe(args[0]))
    return TupleType(items=tuple(map(describe, args)))


def _alias(alias: Any, args: tuple[Any, ...]) -> Type:
    if alias in _OPEN.get():
        raise _RecursiveError(alias)
    with _opened(alias):
        try:
            return describe(alias.__value__[args] if args else alias.__value__)
        except NameError:
            return _named_alias(alias)
        except _RecursiveError as error:
            if error.args[0] is not alias:
                raise
        except UsageError as error:  # a name in quotes: its own, or one that pydantic finds
            return _named_alias(alias, error)
    return _named_alias(alias)


def _named_alias(alias: Any, error: Exception | None = None) -> ModelType:
    try:
        schema = TypeAdapter(alias).json_schema()
    except (PydanticUndefinedAnnotation, PydanticUserError, NameError) as refused:
        message = f"the alias {alias.__name__} names something that is not defined"
        raise error or UsageError(message) from refused
    return ModelType(ref=f"{alias.__module__}:{alias.__name__}", json_schema=schema)


class _RecursiveError(Exception):
    """An alias stands in its own meaning: it is kept by its name."""


@contextmanager
def _opened(thing: Any) -> Iterator[None]:
    token = _OPEN.set((*_OPEN.get(), thing))
    try:
        yield
    finally:
        _OPEN.reset(token)


def _variable(variable: Any) -> Type:
    constraints = variable.__constraints__
    if constraints:
        bound: Type | None = UnionType(options=tuple(map(describe, constraints)))
    else:
        bound = None if variable.__bound__ is None else describe(variable.__bound__)
    return VariableType(name=variable.__name__, bound=bound)


def _artifact(cls: type[Artifact], args: tuple[Any, ...]) -> ArtifactType:
    described = ArtifactType(ref=ref_of(cls), bases=_ancestors(cls, Artifact))
    row = args[0] if args else _inherited_row(cls)
    if not issubclass(cls, Dataset) or row in (None, Any):
        return described
    return described.model_copy(update=rows_of(row))


def _inherited_row(cls: type) -> Any:
    """Return the row that a class of datasets gives its base: Trip of `class Trips(Dataset[Trip])`."""
    bases = (base for each in cls.__mro__ for base in each.__dict__.get("__orig_bases__", ()))
    rows = [args[0] for base in bases if isinstance(get_origin(base), type) and (args := get_args(base))]
    return next(
        (row for row in rows if not isinstance(row, typing.TypeVar | typing_extensions.TypeVar)), None
    )


def _array(cls: Any, args: tuple[Any, ...]) -> ObjectType:
    """Return numpy's array, with the scalar class of its items and its number of axes, where they are said."""
    shape, dtype = args or (Any, Any)
    lengths = get_args(shape)
    ndim = len(lengths) if lengths and Ellipsis not in lengths else None
    scalar: Any = next(iter(get_args(dtype)), None)
    names = [base.__name__ for base in getattr(scalar, "__mro__", ()) if base.__module__ == "numpy"]
    return ObjectType(ref=ref_of(cls), dtype=tuple(names), ndim=ndim)


def _object(cls: type) -> ObjectType:
    is_abc = isinstance(cls, abc.ABCMeta) and (inspect.isabstract(cls) or abc.ABC in cls.__bases__)
    abstract = is_abc or typing_extensions.is_protocol(cls)
    return ObjectType(ref=ref_of(cls), bases=_ancestors(cls, object), abstract=abstract)


def _ancestors(cls: type, root: type) -> tuple[str, ...]:
    above = (
        base for base in cls.__mro__[1:] if issubclass(base, root) and base not in (root, typing.Generic)
    )
    return tuple(ref_of(base) for base in above if not _parts(base)[1])


@functools.cache
def _model(annotation: Any) -> Type | None:
    """Return the type of a class that pydantic validates, or None where it has no validator for it."""
    cls, args = _parts(annotation)
    if typing_extensions.is_typeddict(cls):
        return _typed_dict(cls, args)
    if isinstance(cls, type) and issubclass(cls, BaseModel):
        complete(cls)
    try:
        schema = TypeAdapter(annotation).json_schema()
    except PydanticUndefinedAnnotation as error:
        raise undefined(cls, error.name) from error
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None  # a dataclass with a field that pydantic can't validate is an object like any other
    above = map(_parts, cls.__mro__[1:] if isinstance(cls, type) else ())
    return ModelType(
        ref=ref_of(cls),
        bases=_ancestors(cls, object),
        args=tuple(map(describe, args)),
        base_args={ref_of(base): tuple(map(describe, given)) for base, given in above if given},
        json_schema=schema,
    )


def _parts(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a generic class and its arguments; pydantic's models are classes of their own when they have some."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        made = getattr(annotation, "__pydantic_generic_metadata__", {})  # BaseModel itself has none
        return made.get("origin") or annotation, made.get("args", ())
    return get_origin(annotation) or annotation, get_args(annotation)


def _typed_dict(cls: Any, args: tuple[Any, ...]) -> ModelType:
    if cls in _OPEN.get():
        return ModelType(ref=ref_of(cls), json_schema={})  # within itself, by name
    given = dict(zip(getattr(cls, "__parameters__", ()), args, strict=False))
    config = getattr(cls, "__pydantic_config__", {})
    with _opened(cls):
        fields = tuple(
            FieldType(name=name, type=describe(given.get(hint, hint)), required=required)
            for name, hint, required in keys_of(cls)
        )
    return ModelType(
        ref=ref_of(cls),
        args=tuple(map(describe, args)),
        fields=fields,
        closed=config.get("extra", "ignore") == "forbid",
        json_schema=_typed_dict_schema(cls, args),
    )


def _typed_dict_schema(cls: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    try:
        return TypeAdapter(cls[args] if args else cls).json_schema()
    except PydanticUserError:
        return {}  # before Python 3.12 pydantic does not take typing's own TypedDict; its fields say it all


def _json(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
