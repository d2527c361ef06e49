"""What TypeVars stand for in one call: bound by the types that flow in, and put into those that come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flowc.errors import UsageError
from flowc.types.column import Column, changed, columns_mismatch
from flowc.types.flow import mismatch
from flowc.types.model import (
    AnyType,
    ArtifactType,
    DictType,
    ListType,
    ModelType,
    RefinedType,
    TupleType,
    Type,
    UnionType,
    VariableType,
)


def has_variables(type_: Type) -> bool:
    """Say whether a TypeVar stands in a type, at any depth."""
    match type_:
        case VariableType():
            return True
        case ArtifactType(variable=variable):
            return variable is not None
    return any(map(has_variables, _parts(type_)))


def _parts(type_: Type) -> tuple[Type, ...]:
    match type_:
        case ListType(item=item) | RefinedType(base=item):
            return (item,)
        case TupleType(items=items) | UnionType(options=items) | ModelType(args=items):
            return items
        case DictType(key=key, value=value):
            return key, value
    return ()


def bind(wanted: Type, produced: Type, meaning: dict[str, Type]) -> None:
    """Note what the TypeVars of a wanted type stand for, where `produced` flows into it."""
    match wanted:
        case VariableType(name=name):
            meaning[name] = _joined(meaning[name], produced) if name in meaning else produced
        case ArtifactType(variable=str() as name) if (
            isinstance(produced, ArtifactType) and not wanted.changes
        ):
            meaning[name] = _joined(meaning[name], produced) if name in meaning else produced
        case UnionType(options=options):
            for option in options:
                if mismatch(produced, option) is None:
                    bind(option, produced, meaning)
        case _ if type(wanted) is type(produced):
            for pair in zip(_parts(wanted), _parts(produced), strict=False):
                bind(*pair, meaning)


def _joined(one: Type, other: Type) -> Type:
    """Return a type that both flow into."""
    if mismatch(other, one) is None:
        return one
    if mismatch(one, other) is None:
        return other
    if isinstance(one, ArtifactType) and isinstance(other, ArtifactType):
        if one.columns is None or other.columns is None:
            return one.model_copy(update={"columns": None})
        shared = [column for column in one.columns if _made(other, column)]
        return one.model_copy(update={"columns": tuple(shared), "open": one.open or other.open})
    return UnionType(options=(one, other))


def _made(table: ArtifactType, column: Column) -> bool:
    return columns_mismatch(table.columns or (), False, (column,)) is None


def solved(type_: Type, meaning: Mapping[str, Type]) -> Type:
    """Return the type with what its TypeVars stand for in their place; those without a meaning stand for any.

    Raises UsageError where a change to columns can't be made to what came in.
    """
    match type_:
        case VariableType(name=name, bound=bound):
            return meaning.get(name, bound or AnyType())
        case ArtifactType(variable=str() as name) if isinstance(table := meaning.get(name), ArtifactType):
            return _changed_table(type_, table)
        case ListType() | RefinedType():
            field = "item" if isinstance(type_, ListType) else "base"
            return type_.model_copy(update={field: solved(getattr(type_, field), meaning)})
        case TupleType() | UnionType() | ModelType():
            fields = {TupleType: "items", UnionType: "options", ModelType: "args"}
            name = fields[type(type_)]
            return type_.model_copy(update={name: _all(getattr(type_, name), meaning)})
        case DictType(key=key, value=value):
            return type_.model_copy(update={"key": solved(key, meaning), "value": solved(value, meaning)})
    return type_


def _all(types: Iterable[Type], meaning: Mapping[str, Type]) -> tuple[Type, ...]:
    return tuple(solved(each, meaning) for each in types)


def _changed_table(type_: ArtifactType, table: ArtifactType) -> ArtifactType:
    columns, is_open = table.columns or (), table.open or table.columns is None
    for change in type_.changes:
        try:
            columns = changed(columns, is_open, change)
        except UsageError as error:
            raise UsageError(f"{error.message} in {table}", hint=error.hint) from error
    row = _put(type_.row or "", type_.variable or "", _row_of(table))
    update: dict[str, Any] = {
        "columns": columns,
        "open": is_open,
        "variable": None,
        "changes": (),
        "row": row,
    }
    return type_.model_copy(update=update)


def _row_of(table: ArtifactType) -> str:
    return str(table).partition("[")[2].removesuffix("]") or "Any"


def _put(text: str, variable: str, row: str) -> str:
    """Put a row's name in the place of the TypeVar, which stands innermost: the first name behind all brackets."""
    head, bracket, rest = text.rpartition(f"[{variable},")
    return f"{head}[{row},{rest}" if bracket else row
