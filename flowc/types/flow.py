"""What may flow into what: decided on types alone, before anything runs.

A type stands for the values that it validates. One flows into another where each of its values validates there,
strictly: an int where a float is asked, and nothing else, becomes another kind of value on the way. A bool is no
int, as for pydantic: what is a flag in one place and a number in the next is more often a mistake than meant.
`Any`, said or not, is no type: it flows both ways, and the run holds what comes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import typing_extensions
from pydantic import ValidationError

from flowc.types.column import columns_mismatch
from flowc.types.forms import turns_into
from flowc.types.limits import broken
from flowc.types.model import (
    AnyType,
    ArtifactType,
    BytesLiteralType,
    DictType,
    EnumType,
    ListType,
    LiteralType,
    ModelType,
    ObjectType,
    RefinedType,
    ScalarType,
    TupleType,
    Type,
    UnionType,
    VariableType,
)
from flowc.types.validate import adapter

_WIDER = {"int": ("float",)}
_TAKES = {
    "list": ("list", "sequence", "collection"),
    "tuple": ("tuple", "sequence", "collection"),
    "sequence": ("sequence", "collection"),
    "set": ("set", "collection"),
    "frozenset": ("frozenset", "collection"),
    "collection": ("collection",),
}
# numpy's scalars become Python's when they are stored: what they turn into without loss.
_SCALARS_OF_NUMPY = (
    ("numpy:floating", ("float",)),
    ("numpy:integer", ("int", "float")),
    ("numpy:bool_", ("bool",)),
    ("numpy:bool", ("bool",)),
    ("numpy:str_", ("str",)),
)


def mismatch(produced: Type, wanted: Type) -> str | None:
    """Return None where every value of `produced` is one of `wanted`, else the reason why not, in words."""
    if produced is wanted or isinstance(produced, AnyType) or isinstance(wanted, AnyType):
        return None
    if isinstance(produced, VariableType):
        return None if produced.bound is None else mismatch(produced.bound, wanted)
    if isinstance(wanted, VariableType):
        return None if wanted.bound is None else mismatch(produced, wanted.bound)
    if isinstance(produced, UnionType):
        return _first(mismatch(option, wanted) for option in produced.options)
    if isinstance(wanted, UnionType):
        return _into_union(produced, wanted)
    if isinstance(produced, RefinedType):
        if isinstance(wanted, RefinedType) and produced.checks == wanted.checks:
            return mismatch(produced.base, wanted.base)
        return None if produced == wanted else mismatch(produced.base, wanted)
    if isinstance(wanted, RefinedType):
        return mismatch(produced, wanted.base) or f"{produced} may not pass what {wanted} checks"
    return _plain(produced, wanted)


def _into_union(produced: Type, wanted: UnionType) -> str | None:
    if any(mismatch(produced, option) is None for option in wanted.options):
        return None
    parts = _split(produced)
    if len(parts) > 1 and all(_into_union(part, wanted) is None for part in parts):
        return None
    return f"{produced} is none of {wanted}"


def _split(type_: Type) -> tuple[Type, ...]:
    """Return types of one value each that make up a type, where it is of few values."""
    match type_:
        case ScalarType(name="bool"):
            return LiteralType(values=(False,)), LiteralType(values=(True,))
        case LiteralType(values=values):
            return tuple(LiteralType(values=(value,)) for value in values)
        case BytesLiteralType(values=texts):
            return tuple(BytesLiteralType(values=(text,)) for text in texts)
        case EnumType():
            return tuple(type_.model_copy(update={"only": (name,)}) for name in type_.allowed())
    return ()


def _plain(produced: Type, wanted: Type) -> str | None:
    match produced, wanted:
        case ScalarType(), ScalarType():
            return _scalars(produced, wanted)
        case LiteralType(values=values), LiteralType(values=allowed):
            return _first(_among(value, allowed, wanted) for value in values)
        case LiteralType(values=values), ScalarType():
            return _first(_valid(value, wanted) for value in values)
        case ScalarType(name="bool"), LiteralType():
            return _first(mismatch(part, wanted) for part in _split(produced))
        case BytesLiteralType(values=texts), BytesLiteralType(values=allowed_texts):
            return _first(_among(text, allowed_texts, wanted) for text in texts)
        case BytesLiteralType(values=texts), ScalarType():
            return _first(_valid(text.encode("latin-1"), wanted) for text in texts)
        case EnumType(), _:
            return _enums(produced, wanted)
        case (ListType(), ListType()) | (DictType(), DictType()) | (TupleType(), ListType() | TupleType()):
            return _containers(produced, wanted)
        case ModelType(), ModelType() | DictType():
            return _models(produced, wanted)
        case ArtifactType(), ArtifactType():
            return _artifacts(produced, wanted)
        case ObjectType(), ScalarType(name=name):
            fits = any(
                base in (produced.ref, *produced.bases) and name in of for base, of in _SCALARS_OF_NUMPY
            )
            bound = broken(ScalarType(name=name), name, wanted, name)
            return None if fits and not bound else f"{produced} is not a {wanted}"
        case (ModelType() | ObjectType(), ObjectType()):
            return _objects(produced, wanted)
        case (ObjectType(), ArtifactType()) | (ArtifactType(), ObjectType()):
            if turns_into(produced, wanted):
                return None
    return None if produced == wanted else f"{produced} is not a {wanted}"


def _scalars(produced: ScalarType, wanted: ScalarType) -> str | None:
    if produced.name != wanted.name and wanted.name not in _WIDER.get(produced.name, ()):
        return f"{produced} is not a {wanted}"
    if produced == wanted:
        return None
    if limit := broken(produced, produced.name, wanted, wanted.name):
        return f"{produced} may break {limit} of {wanted}"
    changed = set(wanted.change) - set(produced.change) and wanted.constraints()
    unlimited = wanted.name == "decimal" and produced.allow_inf_nan and not wanted.allow_inf_nan
    elsewhere = wanted.exists not in (None, produced.exists) or wanted.zone not in (None, produced.zone)
    return f"{produced} may not be a {wanted}" if changed or unlimited or elsewhere else None


def _valid(value: Any, wanted: ScalarType) -> str | None:
    try:
        adapter(wanted).validate_python(value, strict=True)
    except ValidationError:
        kind = type(value).__name__
        named = "None" if value is None else kind
        return f"{named} is not a {wanted}" if kind != wanted.name else f"{value!r} is not a {wanted}"
    return None


def _among(value: object, allowed: tuple[object, ...], wanted: Type) -> str | None:
    if any(value == other and type(value) is type(other) for other in allowed):
        return None
    return f"{value!r} is not among {wanted}"


def _enums(produced: EnumType, wanted: Type) -> str | None:
    match wanted:
        case EnumType(ref=ref) if ref == produced.ref:
            extra = [name for name in produced.allowed() if name not in wanted.allowed()]
            return f"{produced.ref.rpartition(':')[2]}.{extra[0]} is not among {wanted}" if extra else None
        case ScalarType() | LiteralType() if produced.mixin:
            values = tuple(produced.members[name] for name in produced.allowed())
            if wanted_by_value := _first(
                mismatch(LiteralType(values=(v,)), wanted) for v in values if not _odd(v)
            ):
                return f"{produced}: {wanted_by_value}"
            if not any(map(_odd, values)):
                return None
    return f"{produced} is not a {wanted}"


def _odd(value: Any) -> bool:
    return isinstance(value, float)  # no Literal holds one


def _containers(produced: Type, wanted: Type) -> str | None:
    match produced, wanted:
        case ListType(), ListType():
            if wanted.container not in _TAKES[produced.container]:
                return f"{produced} is not a {wanted}"
            return mismatch(produced.item, wanted.item) or _lengths(produced, wanted)
        case TupleType(items=items), ListType():
            if wanted.container not in _TAKES["tuple"]:
                return f"{produced} is not a {wanted}"
            sized = ListType(item=AnyType(), min_length=len(items), max_length=len(items))
            return _first(mismatch(each, wanted.item) for each in items) or _lengths(sized, wanted)
        case TupleType(items=items), TupleType(items=others):
            if len(items) != len(others):
                return f"{produced} has {len(items)} items, {wanted} has {len(others)}"
            return _first(mismatch(item, other) for item, other in zip(items, others, strict=True))
        case DictType(), DictType():
            reason = mismatch(produced.key, wanted.key) or mismatch(produced.value, wanted.value)
            return reason or _lengths(produced, wanted)
    raise AssertionError(f"no containers: {produced}, {wanted}")


def _lengths(produced: ListType | DictType, wanted: ListType | DictType) -> str | None:
    if (wanted.min_length or 0) > (produced.min_length or 0):
        return f"{produced} may hold fewer than {wanted.min_length}"
    if wanted.max_length is not None and (
        produced.max_length is None or produced.max_length > wanted.max_length
    ):
        return f"{produced} may hold more than {wanted.max_length}"
    return None


def _models(produced: ModelType, wanted: ModelType | DictType) -> str | None:
    """Compare classes by name and ancestry, and TypedDicts, which have no class at run time, by their keys."""
    if isinstance(wanted, DictType):
        if produced.fields is None or wanted.min_length or wanted.max_length is not None:
            return f"{produced} is not a {wanted}"
        text = ScalarType(name="str")
        values = _first(mismatch(field.type, wanted.value) for field in produced.fields)
        return mismatch(text, wanted.key) or values
    if produced.fields is not None and wanted.fields is not None:
        return _keys(produced, wanted)
    if wanted.ref == produced.ref:
        have: tuple[Type, ...] = produced.args
    elif wanted.ref in produced.bases or wanted.ref in produced.base_args:
        have = produced.base_args.get(wanted.ref, ())
    else:
        return f"{produced} is not a {wanted}"
    reason = _first(mismatch(*pair) for pair in zip(have, wanted.args, strict=False))
    return f"{produced} is not a {wanted}: {reason}" if reason else None


def _keys(produced: ModelType, wanted: ModelType) -> str | None:
    made = {field.name: field for field in produced.fields or ()}
    fields = wanted.fields or ()
    for field in fields:
        have = made.get(field.name)
        if have is None or (field.required and not have.required):
            if field.required:
                return f"'{field.name}' of {wanted} may be missing from {produced}"
        elif reason := mismatch(have.type, field.type):
            return f"'{field.name}' of {produced}: {reason}"
    extra = made.keys() - {field.name for field in fields}
    return f"'{min(extra)}' of {produced} is not in {wanted}" if extra and wanted.closed else None


def _objects(produced: ModelType | ObjectType, wanted: ObjectType) -> str | None:
    if wanted.ref != produced.ref and wanted.ref not in produced.bases:
        is_abstract = wanted.abstract and _stands_for(produced.ref, wanted.ref)
        return None if is_abstract or turns_into(produced, wanted) else f"{produced} is not a {wanted}"
    if isinstance(produced, ObjectType):
        if wanted.dtype and produced.dtype and wanted.dtype[0] not in produced.dtype:
            return f"{produced} is not a {wanted}"
        if wanted.ndim is not None and produced.ndim not in (None, wanted.ndim):
            return f"{produced} is not a {wanted}"
    return None


def _stands_for(ref: str, abstract: str) -> bool:
    """Say whether a class is of a Protocol or ABC. Where one isn't imported here it may be: the run looks again."""
    found = [_imported(each) for each in (ref, abstract)]
    if not all(isinstance(each, type) for each in found):
        return True
    cls, wanted = found
    if typing_extensions.is_protocol(wanted):
        # Attributes that are only annotated are there once an object is made.
        noted = {name for base in cls.__mro__ for name in getattr(base, "__annotations__", {})}
        members = typing_extensions.get_protocol_members(wanted)
        return all(hasattr(cls, name) or name in noted for name in members)
    return issubclass(cls, wanted)


def _imported(ref: str) -> Any:
    module, _, qualname = ref.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _artifacts(produced: ArtifactType, wanted: ArtifactType) -> str | None:
    if produced.ref != wanted.ref and wanted.ref not in produced.bases:
        return f"{produced} is not a {wanted}"
    if wanted.columns is None or produced.columns is None:
        return None
    found = columns_mismatch(produced.columns, produced.open, wanted.columns)
    if found is None:
        return None
    fault, count = found
    more = f" (and {count - 1} more columns)" if count > 1 else ""
    return "column " + fault.replace("{produced}", str(produced)).replace("{wanted}", str(wanted)) + more


def _first(reasons: Iterable[str | None]) -> str | None:
    return next((reason for reason in reasons if reason), None)
