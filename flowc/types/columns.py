"""A table's columns from the class that describes a row, and a real table held to them."""

from __future__ import annotations

import datetime
import types
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, is_typeddict

from pydantic import BaseModel

from flowc.errors import ComponentError, UsageError, did_you_mean
from flowc.types.model import Column

if TYPE_CHECKING:
    import pyarrow as pa

_ARROW: dict[Any, str] = {
    bool: "bool",
    int: "int64",
    float: "double",
    str: "string",
    bytes: "binary",
    datetime.date: "date32[day]",
    datetime.datetime: "timestamp[us]",
    datetime.time: "time64[us]",
    datetime.timedelta: "duration[us]",
}
# What may stand in a table where the row class says the first: the same kind of value, of any width.
_FAMILIES: tuple[frozenset[str], ...] = (
    frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")),
    frozenset(("halffloat", "float", "double")),
    frozenset(("string", "large_string")),
    frozenset(("binary", "large_binary")),
    frozenset(("date32[day]", "date64[ms]")),
)


def columns_of(row: Any) -> tuple[Column, ...]:
    """Return the columns that a pydantic model, TypedDict or dataclass describes.

    Raises UsageError for another kind of class, or a field that no Arrow type stands for.
    """
    if not (is_typeddict(row) or is_dataclass(row) or (isinstance(row, type) and issubclass(row, BaseModel))):
        raise UsageError(
            f"Dataset[{getattr(row, '__name__', row)}]: a row is a pydantic model, a TypedDict or a dataclass"
        )
    aliases = {name: field.alias or name for name, field in getattr(row, "model_fields", {}).items()}
    hints = typing.get_type_hints(row, include_extras=True)
    return tuple(
        _column(row, aliases.get(name, name), hint)
        for name, hint in hints.items()
        if get_origin(hint) is not typing.ClassVar and name not in ("model_config", "__pydantic_extra__")
    )


def _column(row: Any, name: str, hint: Any) -> Column:
    inner, nullable = _without_none(hint)
    try:
        return Column(name=name, type=_arrow_name(inner), nullable=nullable)
    except KeyError:
        raise UsageError(
            f"column '{name}' of {row.__name__}: no Arrow type stands for {inner!r}",
            hint="use bool, int, float, str, bytes, a date, a time, or a list of these",
        ) from None


def _arrow_name(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        return _arrow_name(get_args(hint)[0])
    if get_origin(hint) is list:
        return f"list<item: {_arrow_name(get_args(hint)[0])}>"
    return _ARROW[hint]


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    rest = [option for option in get_args(hint) if option is not type(None)]
    return (rest[0] if len(rest) == 1 else Union[tuple(rest)]), len(rest) < len(get_args(hint))  # noqa: UP007


def same_family(produced: str, wanted: str) -> bool:
    """Say whether a column of Arrow type `produced` holds the kind of value that `wanted` names."""
    if produced == wanted or produced.startswith("dictionary<values=" + wanted):
        return True
    if produced.startswith("timestamp[") and wanted.startswith("timestamp["):
        return ("tz=" in produced) == ("tz=" in wanted)
    return any(produced in family and wanted in family for family in _FAMILIES)


def hold_table(table: pa.Table, columns: tuple[Column, ...], what: str) -> None:
    """Check that a table has these columns, of their types, and no null where none may be.

    Raises ComponentError that names every column at fault, with what was expected and found.
    """
    faults = list(_faults(table, columns))
    if faults:
        raise ComponentError(f"{what} does not hold what its type says:\n  " + "\n  ".join(faults))


def _faults(table: pa.Table, columns: tuple[Column, ...]) -> Iterator[str]:
    for column in columns:
        if column.name not in table.column_names:
            hint = did_you_mean(column.name, table.column_names)
            yield f"column '{column.name}' is missing" + (f"; {hint}" if hint else "")
            continue
        found = str(table.schema.field(column.name).type)
        if found == "null" and column.nullable:
            continue
        if not same_family(found, column.type):
            yield f"column '{column.name}': expected {column.type}, found {found}"
        elif not column.nullable and table.column(column.name).null_count:
            count = table.column(column.name).null_count
            yield f"column '{column.name}' holds {count} null(s), first at row {_first_null(table, column.name)}"


def _first_null(table: pa.Table, name: str) -> int:
    import pyarrow.compute as pc

    return int(pc.index(table.column(name).is_null(), True).as_py())
