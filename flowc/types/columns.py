"""A table's columns from what describes a row: a pydantic model, TypedDict, dataclass, NamedTuple or Arrow schema."""

from __future__ import annotations

import collections.abc as abcs
import dataclasses
import datetime
import enum
import functools
import types
import typing
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import typing_extensions
from pydantic import AwareDatetime, BaseModel, NaiveDatetime

from flowc.errors import UsageError
from flowc.types.annotated import limits_of
from flowc.types.column import ANY_ZONE, Column, value_name
from flowc.types.hints import complete, keys_of, undefined

if TYPE_CHECKING:
    import pyarrow as pa

_ARROW: dict[Any, str] = {
    bool: "bool",
    int: "int64",
    float: "double",
    str: "string",
    bytes: "binary",
    Decimal: "decimal",
    datetime.date: "date32[day]",
    datetime.datetime: "timestamp[us]",
    NaiveDatetime: "timestamp[us]",
    AwareDatetime: "timestamp[us" + ANY_ZONE,
    datetime.time: "time64[us]",
    datetime.timedelta: "duration[us]",
}
_NUMPY = {"float16": "halffloat", "float32": "float", "float64": "double", "bool_": "bool", "bool": "bool"}
_LISTS = (list, tuple, abcs.Sequence, abcs.Iterable, set, frozenset)
_NESTED = (list, tuple, abcs.Sequence, dict, abcs.Mapping)


@functools.cache
def columns_of(row: Any) -> tuple[Column, ...]:
    """Return the columns that a class of rows describes.

    Raises UsageError for another kind of class, or a field that no Arrow type stands for.
    """
    return _row_columns(row, ())


def _row_columns(row: Any, above: tuple[Any, ...]) -> tuple[Column, ...]:
    if row in above:
        raise UsageError(
            f"a row of {row.__name__} holds itself, and no Arrow type is recursive",
            hint="keep the inner part in a table of its own, or as JSON in a text column",
        )
    columns = []
    for name, hint, required in _fields(row):
        try:
            columns.append(_column(name, hint, (*above, row)).model_copy(update={"required": required}))
        except _NoArrowTypeError as error:
            raise UsageError(
                f"column '{name}' of {row.__name__}: no Arrow type stands for {_shown(error.args[0])}",
                hint="use bool, int, float, str, bytes, Decimal, a date, a time, a Literal or Enum of one kind, a "
                "row class, or a list or dict of these; or name Arrow's type: Annotated[int, pa.int32()]",
            ) from None
    return tuple(columns)


class _NoArrowTypeError(Exception):
    """Holds the annotation."""


def _shown(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else repr(hint)


def is_row(row: Any) -> bool:
    """Say whether a class describes rows."""
    cls = get_origin(row) or row
    if typing_extensions.is_typeddict(cls) or dataclasses.is_dataclass(cls):
        return True
    named = isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")
    return named or (isinstance(cls, type) and issubclass(cls, BaseModel))


def _fields(row: Any) -> Iterator[tuple[str, Any, bool]]:
    """Give each field's column name, its annotation, and whether the column has to be there."""
    cls = get_origin(row) or row
    given = dict(zip(getattr(cls, "__parameters__", ()), get_args(row), strict=False))
    if not is_row(row):
        raise UsageError(
            f"Dataset[{getattr(row, '__name__', row)}]: a row is a pydantic model, a TypedDict, a dataclass, a "
            "NamedTuple or an Arrow schema"
        )
    if typing_extensions.is_typeddict(cls):
        yield from ((name, given.get(hint, hint), required) for name, hint, required in keys_of(cls))
    elif issubclass(cls, BaseModel):
        yield from _model_fields(cls)
    else:
        try:
            hints = typing.get_type_hints(cls, include_extras=True)
        except NameError as error:
            raise undefined(cls, error.name) from error
        names = (f.name for f in dataclasses.fields(cls)) if dataclasses.is_dataclass(cls) else cls._fields
        yield from ((name, given.get(hints[name], hints[name]), True) for name in names)


def _model_fields(cls: type[BaseModel]) -> Iterator[tuple[str, Any, bool]]:
    complete(cls)
    for name, field in cls.model_fields.items():
        alias = field.validation_alias or field.alias or name
        if not isinstance(alias, str):
            raise UsageError(
                f"column '{name}' of {cls.__name__} has an alias that is not one name",
                hint="give it one name",
            )
        metadata = tuple(field.metadata)
        yield alias, Annotated[(field.annotation, *metadata)] if metadata else field.annotation, True


def _column(name: str, hint: Any, above: tuple[Any, ...], extras: tuple[Any, ...] = ()) -> Column:
    """Return the column of an annotation; `extras` is what stands around it in `Annotated`."""
    if get_origin(hint) is Annotated:
        inner, *own = get_args(hint)
        return _column(name, inner, above, (*own, *extras))
    if hasattr(hint, "__value__") or isinstance(hint, typing.NewType):  # an alias
        return _column(name, getattr(hint, "__value__", None) or hint.__supertype__, above, extras)
    if get_origin(hint) in (Union, types.UnionType):
        rest = [option for option in get_args(hint) if option is not type(None)]
        if len(rest) != 1 or len(rest) == len(get_args(hint)):
            raise _NoArrowTypeError(hint)
        return _column(name, rest[0], above, extras).model_copy(update={"nullable": True})
    arrow = next((extra for extra in extras if is_arrow(extra, "DataType")), None)
    column = _arrow_column(name, arrow) if arrow is not None else _plain_column(name, hint, above, extras)
    limits = {key: value for key, value in limits_of(extras).items() if key != "strict"}
    if "multiple_of" in limits and value_name(column.type) != "int":
        raise UsageError(f"column '{name}': only a column of ints can be held to multiple_of")
    return Column.model_validate({**dict(column), **limits}) if limits else column


def _plain_column(name: str, hint: Any, above: tuple[Any, ...], extras: tuple[Any, ...]) -> Column:
    if get_origin(hint) is Literal:
        return _valued(name, get_args(hint), hint)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _valued(name, tuple(member.value for member in hint), hint)
    if (get_origin(hint) or hint) in _NESTED or get_origin(hint) in _LISTS:
        return _nested(name, get_origin(hint) or hint, get_args(hint), above, hint)
    if is_row(hint):
        return Column(name=name, type="struct", children=_row_columns(hint, above))
    if getattr(hint, "__module__", "") == "numpy" and isinstance(hint, type):
        known = _NUMPY.get(hint.__name__, hint.__name__)
        if value_name(known) not in ("int", "float", "bool"):
            raise _NoArrowTypeError(hint)
        return Column(name=name, type=known, exact=True)
    try:
        type_ = _ARROW[hint]
    except (KeyError, TypeError):
        raise _NoArrowTypeError(hint) from None
    zone = next((extra for extra in extras if isinstance(extra, annotated_types.Timezone)), None)
    if zone is not None and zone.tz is not None:
        type_ = "timestamp[us" + (ANY_ZONE if zone.tz is Ellipsis else f", tz={zone.tz}]")
    return Column(name=name, type=type_)


def _valued(name: str, values: tuple[Any, ...], hint: Any) -> Column:
    values = tuple(value.value if isinstance(value, enum.Enum) else value for value in values)
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) != 1 or not kinds <= {str, int, bool}:
        raise _NoArrowTypeError(hint)
    kept = tuple(value for value in values if value is not None)
    return Column(name=name, type=_ARROW[kinds.pop()], values=kept, nullable=None in values)


def _nested(name: str, origin: Any, args: tuple[Any, ...], above: tuple[Any, ...], hint: Any) -> Column:
    if origin in (dict, abcs.Mapping) and len(args) == 2:
        pair = tuple(_column(each, arg, above) for each, arg in zip(("key", "value"), args, strict=True))
        return Column(name=name, type="map", children=pair)
    if origin in _LISTS and len([arg for arg in args if arg is not Ellipsis]) == 1:
        return Column(name=name, type="list", children=(_column("item", args[0], above),))
    raise _NoArrowTypeError(hint)


def is_arrow(thing: Any, name: str) -> bool:
    """Say whether a value is of an Arrow class, without importing Arrow: it is here only if Arrow is, too."""
    return any((cls.__module__, cls.__name__) == ("pyarrow.lib", name) for cls in type(thing).__mro__)


def schema_columns(schema: pa.Schema) -> tuple[Column, ...]:
    """Return the columns of an Arrow schema: of these types exactly."""
    return tuple(_arrow_column(field.name, field.type, nullable=field.nullable) for field in schema)


def _arrow_column(name: str, type_: Any, *, nullable: bool = False) -> Column:
    import pyarrow.types as pat

    if pat.is_struct(type_):
        fields = (type_.field(i) if hasattr(type_, "field") else type_[i] for i in range(type_.num_fields))
        children = tuple(_arrow_column(field.name, field.type, nullable=field.nullable) for field in fields)
        return Column(name=name, type="struct", nullable=nullable, children=children)
    if pat.is_map(type_):
        value = _arrow_column("value", type_.item_type, nullable=type_.item_field.nullable)
        children = (_arrow_column("key", type_.key_type), value)
        return Column(name=name, type="map", nullable=nullable, children=children)
    if pat.is_list(type_) or pat.is_large_list(type_) or pat.is_fixed_size_list(type_):
        item = _arrow_column("item", type_.value_type, nullable=type_.value_field.nullable)
        return Column(name=name, type="list", nullable=nullable, children=(item,))
    return Column(name=name, type=str(type_), nullable=nullable, exact=True)
