"""What a dataset's annotation says of its columns: a row class, an Arrow schema, or a change to those of a TypeVar."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin

import typing_extensions

from flowc.errors import UsageError
from flowc.types.column import Column, RowChange, changed
from flowc.types.columns import columns_of, is_arrow, schema_columns
from flowc.types.model import ArtifactType, Type
from flowc.types.names import ref_of
from flowc.types.rows import Add, Drop, Rename, Select

_CHANGES: dict[Any, Literal["add", "drop", "rename", "select"]] = {
    Add: "add",
    Drop: "drop",
    Rename: "rename",
    Select: "select",
}


def rows_of(row: Any) -> dict[str, Any]:
    """Return what a row says of a dataset's type, by the names of `ArtifactType`'s fields.

    Raises UsageError for what describes no row, and for a change that can't be made to the columns.
    """
    if isinstance(row, typing.TypeVar | typing_extensions.TypeVar):
        bound = row.__bound__
        columns = columns_of(bound) if bound is not None else ()
        return {"row": row.__name__, "columns": columns, "open": True, "variable": row.__name__}
    kind = _CHANGES.get(get_origin(row))
    if kind is None:
        return {
            "row": ref_of(row) if hasattr(row, "__qualname__") else _name(row),
            "columns": columns_of(row),
        }
    of, *args = get_args(row)
    inner = rows_of(of)
    try:
        change = _change(kind, args)
        columns = changed(inner["columns"], inner.get("open", False), change)
    except UsageError as error:
        raise UsageError(f"{_name(row)}: {error.message}", hint=error.hint) from error
    changes = (*inner.get("changes", ()), change)
    return (
        inner
        | {"row": _name(row), "columns": columns}
        | ({"changes": changes} if "variable" in inner else {})
    )


def with_schema(type_: Type, extras: Iterable[Any]) -> Type:
    """Return a dataset's type with the columns of an Arrow schema that stands beside it in `Annotated`."""
    schema = next((extra for extra in extras if is_arrow(extra, "Schema")), None)
    if schema is None or not isinstance(type_, ArtifactType):
        return type_
    return type_.model_copy(update={"row": "schema", "columns": schema_columns(schema)})


def _change(kind: Literal["add", "drop", "rename", "select"], args: list[Any]) -> RowChange:
    if kind == "add":
        columns: tuple[Column, ...] = columns_of(args[0])
        return RowChange(kind="add", columns=columns)
    names = _names(args[0])
    to = _names(args[1]) if kind == "rename" else ()
    if kind == "rename" and len(names) != len(to):
        raise UsageError(f"{len(names)} columns get {len(to)} names", hint="give each column one new name")
    return RowChange(kind=kind, names=names, to=to)


def _names(literal: Any) -> tuple[str, ...]:
    values = get_args(literal) if get_origin(literal) is Literal else ()
    if not values or not all(isinstance(value, str) for value in values):
        raise UsageError("columns are named by a Literal of texts", hint='write Literal["a", "b"]')
    return values


def _name(row: Any) -> str:
    if get_origin(row) in _CHANGES:
        return f"{get_origin(row).__name__}[{', '.join(map(_name, get_args(row)))}]"
    if get_origin(row) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(row)))}]"
    return str(getattr(row, "__name__", row))
