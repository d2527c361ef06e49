"""What to do where a value is not of the type that takes it: the hint beside `flow.mismatch`'s reason."""

from __future__ import annotations

from flowc.errors import did_you_mean
from flowc.types.column import Column, columns_mismatch
from flowc.types.flow import mismatch
from flowc.types.model import (
    ArtifactType,
    CallableType,
    DictType,
    EnumType,
    ListType,
    LiteralType,
    ObjectType,
    ScalarType,
    TupleType,
    Type,
    UnionType,
)
from flowc.types.validate import takes_functions, takes_values

_BETWEEN = "in a component between the two"
_CONVERT = f"convert it {_BETWEEN}, or mend the annotation that says the wrong thing"
_NONE = ScalarType(name="none")


def flow_remedy(produced: Type, wanted: Type) -> str:
    """Return what to do where values of `produced` do not flow into `wanted`."""
    inner = _inner_fault(produced, wanted)
    if inner is not None:
        return flow_remedy(*inner)
    match produced, wanted:
        case UnionType(options=options), _ if _NONE in options and mismatch(_NONE, wanted):
            rest = tuple(option for option in options if option != _NONE)
            if all(mismatch(option, wanted) is None for option in rest):
                return f"handle None {_BETWEEN}, or let the input take it: annotate it {wanted} | None"
        case _, UnionType(options=options) if kin := [
            each for each in options if _bound_only(produced, each)
        ]:
            return flow_remedy(produced, kin[0])
        case ArtifactType(), ArtifactType() if produced.columns and wanted.columns is not None:
            if mismatch(produced, wanted.model_copy(update={"columns": None})) is None:
                return _column_remedy(produced, wanted)
        case ScalarType(name="secret"), ScalarType(name="str"):
            return "annotate the input SecretStr, so that the value is not shown"
        case (ListType() | DictType() | ScalarType(), _) if _bound_only(produced, wanted):
            return f"say the same limit where the value is made, or hold the value to it {_BETWEEN}"
        case _, LiteralType() | EnumType():
            return f"annotate what makes it as {wanted}, or choose among its values {_BETWEEN}"
        case _, ArtifactType() | ObjectType():
            return f"pass what is a {wanted}, or make one of it {_BETWEEN}"
    return _CONVERT


def value_remedy(wanted: Type, value: object) -> str:
    """Return what to do where a value that is written in the pipeline is not of the type `wanted`."""
    if isinstance(wanted, CallableType):
        return "pass a function or a class that stands at the top of a module"
    if not takes_values(wanted):
        more = ", or pass a function" if takes_functions(wanted) else ""
        return f"make it in a component, and pass what that returns{more}"
    if isinstance(wanted, LiteralType) and isinstance(value, str):
        close = did_you_mean(value, [each for each in wanted.values if isinstance(each, str)])
        if close:
            return close
    return f"give a value of type {wanted}, or mend the annotation of what takes it"


def _inner_fault(produced: Type, wanted: Type) -> tuple[Type, Type] | None:
    """Return the types within two containers of a kind that are what does not fit."""
    match produced, wanted:
        case ListType(), ListType() if produced.container == wanted.container:
            pairs = [(produced.item, wanted.item)]
        case DictType(), DictType():
            pairs = [(produced.key, wanted.key), (produced.value, wanted.value)]
        case TupleType(), TupleType() if len(produced.items) == len(wanted.items):
            pairs = list(zip(produced.items, wanted.items, strict=True))
        case _:
            return None
    return next((pair for pair in pairs if mismatch(*pair)), None)


def _bound_only(produced: Type, wanted: Type) -> bool:
    """Say whether it is only a limit of `wanted` that values may break."""
    match wanted:
        case ScalarType():
            free: Type = ScalarType(name=wanted.name)
        case ListType() | DictType():
            free = wanted.model_copy(update={"min_length": None, "max_length": None})
        case _:
            return False
    return free != wanted and mismatch(produced, free) is None


def _column_remedy(produced: ArtifactType, wanted: ArtifactType) -> str:
    made = {column.name: column for column in produced.columns or ()}
    for column in wanted.columns or ():
        if columns_mismatch(tuple(made.values()), produced.open, (column,)) is None:
            continue
        have = made.get(column.name)
        if have is None:
            close = did_you_mean(column.name, made)
            return (
                close or f"make the column '{column.name}' {_BETWEEN}, or annotate what makes it as having it"
            )
        return _made_column_remedy(have, column)
    return _CONVERT


def _made_column_remedy(have: Column, wanted: Column) -> str:
    what = f"the column '{wanted.name}'"
    if wanted.required and not have.required:
        return f"make {what} where it is missing {_BETWEEN}, or let it be missing where it is taken"
    filled = have.model_copy(update={"nullable": False})
    if columns_mismatch((filled,), False, (wanted,)) is None:
        return f"fill or drop the nulls of '{wanted.name}' {_BETWEEN}, or let it be null where it is taken"
    kind = {
        name: getattr(wanted, name) for name in ("name", "type", "nullable", "required", "exact", "children")
    }
    if columns_mismatch((filled,), False, (Column(**kind),)) is None:
        return f"say the same limit on {what} where the table is made, or hold its values to it {_BETWEEN}"
    return f"make {what} a {wanted.kind()} {_BETWEEN}, or mend the row class that is wrong"
