"""What may flow into what: decided on types alone, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable

from flowc.types.columns import same_family
from flowc.types.model import (
    AnyType,
    ArtifactType,
    DictType,
    EnumType,
    ListType,
    LiteralType,
    ModelType,
    ObjectType,
    ScalarType,
    TupleType,
    Type,
    UnionType,
)

# Tables in any of these forms turn into each other without loss.
_TABLES = frozenset(("pandas.core.frame:DataFrame", "pyarrow.lib:Table", "flowc.types.artifacts:Dataset"))
_WIDER = {"int": ("float",)}


def mismatch(produced: Type, wanted: Type) -> str | None:
    """Return None where every value of `produced` is one of `wanted`, else the reason why not, in words."""
    if isinstance(produced, AnyType) or isinstance(wanted, AnyType):
        return None
    if isinstance(produced, UnionType):
        reasons = (mismatch(option, wanted) for option in produced.options)
        return next((reason for reason in reasons if reason), None)
    if isinstance(wanted, UnionType):
        if any(mismatch(produced, option) is None for option in wanted.options):
            return None
        return f"{produced} is none of {wanted}"
    match produced, wanted:
        case ScalarType(), ScalarType():
            return _scalars(produced, wanted)
        case LiteralType(values=values), LiteralType(values=allowed):
            extra = [value for value in values if not _among(value, allowed)]
            return f"{extra[0]!r} is not among {wanted}" if extra else None
        case LiteralType(values=values), ScalarType():
            return _first(_scalars(_scalar_of(value), wanted) for value in values)
        case ListType(), ListType():
            return _lists(produced, wanted)
        case TupleType(items=items), ListType(container="tuple", item=item):
            return _first(mismatch(each, item) for each in items)
        case TupleType(items=items), TupleType(items=others):
            if len(items) != len(others):
                return f"{produced} has {len(items)} items, {wanted} has {len(others)}"
            return _first(mismatch(item, other) for item, other in zip(items, others, strict=True))
        case DictType(), DictType():
            return mismatch(produced.key, wanted.key) or mismatch(produced.value, wanted.value)
        case ArtifactType(), ArtifactType():
            return _artifacts(produced, wanted)
        case (EnumType(), EnumType()):
            return None if produced.ref == wanted.ref else f"{produced} is not a {wanted}"
        case (ModelType() | ObjectType(), ModelType() | ObjectType()):
            if wanted.ref == produced.ref or wanted.ref in produced.bases or _both_tables(produced, wanted):
                return None
        case (ObjectType(), ArtifactType()) | (ArtifactType(), ObjectType()):
            if _both_tables(produced, wanted):
                return None
    if produced == wanted:
        return None
    return f"{produced} is not a {wanted}"


def _scalars(produced: ScalarType, wanted: ScalarType) -> str | None:
    if produced.name != wanted.name and wanted.name not in _WIDER.get(produced.name, ()):
        return f"{produced} is not a {wanted}"
    for name, limit in wanted.constraints().items():
        if not _implied(produced, name, limit):
            return f"{produced} may break {name}={limit!r} of {wanted}"
    return None


def _implied(produced: ScalarType, name: str, limit: float | str) -> bool:
    own = produced.constraints()
    if name in ("pattern", "multiple_of"):
        return own.get(name) == limit
    lower = {"ge": ("ge", "gt"), "gt": ("gt",), "min_length": ("min_length",)}.get(name)
    if lower is not None:
        above = name == "gt" and "ge" in own and float(own["ge"]) > float(limit)
        return above or any(key in own and float(own[key]) >= float(limit) for key in lower)
    upper = {"le": ("le", "lt"), "lt": ("lt",), "max_length": ("max_length",)}[name]
    below = name == "lt" and "le" in own and float(own["le"]) < float(limit)
    return below or any(key in own and float(own[key]) <= float(limit) for key in upper)


def _scalar_of(value: bool | int | str | None) -> ScalarType:
    match value:
        case None:
            return ScalarType(name="none")
        case bool():
            return ScalarType(name="bool")
        case int():
            return ScalarType(name="int")
    return ScalarType(name="str")


def _among(value: object, allowed: tuple[object, ...]) -> bool:
    return any(value == other and type(value) is type(other) for other in allowed)


def _lists(produced: ListType, wanted: ListType) -> str | None:
    if produced.container != wanted.container:
        return f"{produced} is not a {wanted}"
    return mismatch(produced.item, wanted.item)


def _artifacts(produced: ArtifactType, wanted: ArtifactType) -> str | None:
    if produced.ref != wanted.ref and wanted.ref not in produced.bases:
        return f"{produced} is not a {wanted}"
    if wanted.columns is None or produced.columns is None:
        return None
    made = {column.name: column for column in produced.columns}
    for column in wanted.columns:
        have = made.get(column.name)
        if have is None:
            return f"column '{column.name}' of {wanted} is not made by {produced}"
        if not same_family(have.type, column.type):
            return f"column '{column.name}' is {have.type} in {produced}, {column.type} in {wanted}"
        if have.nullable and not column.nullable:
            return f"column '{column.name}' may be null in {produced}, not in {wanted}"
    return None


def _both_tables(produced: Type, wanted: Type) -> bool:
    return _table_ref(produced) in _TABLES and _table_ref(wanted) in _TABLES


def _table_ref(type_: Type) -> str | None:
    if not isinstance(type_, ArtifactType | ObjectType):
        return None
    return next((ref for ref in (type_.ref, *type_.bases) if ref in _TABLES), None)


def _first(reasons: Iterable[str | None]) -> str | None:
    return next((reason for reason in reasons if reason), None)
