"""A table's columns as data, and which of them another's may stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from flowc.errors import UsageError, did_you_mean
from flowc.frozen import Frozen
from flowc.types.limits import Limits, broken

# What a type names where its width is not said: the same kind of value, of any width.
_FAMILIES: dict[str, frozenset[str]] = {
    "int": frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")),
    "float": frozenset(("halffloat", "float", "double")),
    "str": frozenset(("string", "large_string", "string_view")),
    "bytes": frozenset(("binary", "large_binary", "binary_view")),
    "date": frozenset(("date32[day]", "date64[ms]")),
}
_PREFIXES = {"timestamp": "datetime", "time": "time", "duration": "timedelta", "decimal": "decimal"}
ANY_ZONE = ", tz=*]"


class Column(Limits):
    """A table's column. `type` is Arrow's own name of the type, such as `int64` or `timestamp[us, tz=UTC]`.

    It stands for any width of that kind of value unless it is `exact`; a zone of `*` for any zone, `decimal` for
    any digits. A `list`, `struct` or `map` has its item, its fields, or its key and value in `children`. `values`
    are all that there may be; where not `required`, the column itself may be missing.
    """

    name: str
    type: str
    nullable: bool = False
    required: bool = True
    exact: bool = False
    values: tuple[bool | int | str, ...] | None = None
    children: tuple[Column, ...] = ()

    def kind(self) -> str:
        """Return the type as it is shown."""
        inner = ", ".join(map(str if self.type == "struct" else Column.kind, self.children))
        return f"{self.type}<{inner}>" if self.children else self.type

    def __str__(self) -> str:
        return f"{self.name}: {self.kind()}{'?' if self.nullable else ''}"


class RowChange(Frozen):
    """What a component does to a table's columns: adds `columns`, drops or selects `names`, renames them `to`."""

    kind: Literal["add", "drop", "rename", "select"]
    columns: tuple[Column, ...] = ()
    names: tuple[str, ...] = ()
    to: tuple[str, ...] = ()


def changed(columns: Sequence[Column], is_open: bool, change: RowChange) -> tuple[Column, ...]:
    """Return the columns after a change. `is_open` says that there may be others than these.

    Raises UsageError where a column that is dropped, renamed or selected is not there, or two would have one name.
    """
    known = {column.name: column for column in columns}
    missing = [name for name in change.names if name not in known]
    if missing and not is_open:
        hint = did_you_mean(missing[0], known) or f"its columns are: {', '.join(known) or 'none'}"
        raise UsageError(f"there is no column '{missing[0]}' to {change.kind}", hint=hint)
    match change.kind:
        case "add":
            return tuple((known | {column.name: column for column in change.columns}).values())
        case "drop":
            return tuple(column for column in columns if column.name not in change.names)
        case "select":
            return tuple(known[name] for name in change.names if name in known)
    new = dict(zip(change.names, change.to, strict=True))
    names = [new.get(name, name) for name in known]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(
            f"two columns would be named '{twice}'", hint="drop one of them first, or name it otherwise"
        )
    return tuple(
        column.model_copy(update={"name": name}) for column, name in zip(known.values(), names, strict=True)
    )


def value_name(type_: str) -> str:
    """Return the scalar type's name of the values in an Arrow type: "int" for `uint8`."""
    found = next((name for name, family in _FAMILIES.items() if type_ in family), None)
    return found or next((name for prefix, name in _PREFIXES.items() if type_.startswith(prefix)), type_)


def same_family(found: str, wanted: str) -> bool:
    """Say whether a column of Arrow type `found` holds the kind of value that `wanted` names."""
    if found == wanted:
        return True
    if found.startswith("dictionary<values="):
        return same_family(found.removeprefix("dictionary<values=").partition(", indices=")[0], wanted)
    if value_name(found) != value_name(wanted):
        return False
    if value_name(wanted) != "datetime":
        return wanted == "decimal" or value_name(wanted) != wanted
    zone = found.partition(", tz=")[2]
    return bool(zone) if wanted.endswith(ANY_ZONE) else zone == wanted.partition(", tz=")[2]


def columns_mismatch(
    made: Sequence[Column], is_open: bool, wanted: Sequence[Column]
) -> tuple[str, int] | None:
    """Return the name and the fault of the first wanted column that is not made, and how many there are."""
    known = {column.name: column for column in made}
    faults = [fault for column in wanted if (fault := _fault(known.get(column.name), column, is_open))]
    return (faults[0], len(faults)) if faults else None


def _fault(have: Column | None, want: Column, is_open: bool = False) -> str | None:
    if have is None:
        return (
            f"'{want.name}' of {{wanted}} is not made by {{produced}}"
            if want.required and not is_open
            else None
        )
    if have is want:
        return None
    what = f"'{want.name}'"
    if want.required and not have.required:
        return f"{what} may be missing from {{produced}}, not from {{wanted}}"
    if not _same_kind(have, want):
        return f"{what} is {have.kind()} in {{produced}}, {want.kind()} in {{wanted}}"
    if have.nullable and not want.nullable:
        return f"{what} may be null in {{produced}}, not in {{wanted}}"
    if want.values is not None and not (have.values and set(have.values) <= set(want.values)):
        return f"{what} may be other than {', '.join(map(repr, want.values))} in {{produced}}"
    of = value_name(want.type)
    if have.values is None and (limit := broken(have, of, want, of)):
        return f"{what} may break {limit} in {{produced}}"
    return _inner_fault(have, want)


def _same_kind(have: Column, want: Column) -> bool:
    if want.children or have.children:
        return have.type == want.type
    if not want.exact:
        return same_family(have.type, want.type)
    is_wide = value_name(want.type) != want.type
    return have.type == want.type and (have.exact or not is_wide)


def _inner_fault(have: Column, want: Column) -> str | None:
    if want.type == "struct":
        inner = columns_mismatch(have.children, False, want.children)
        return inner and f"'{want.name}.{inner[0].removeprefix(chr(39))}"
    pairs = zip(have.children, want.children, strict=False)
    fault = next((found for one, other in pairs if (found := _fault(one, other))), None)
    return fault and f"'{want.name}[].{fault.removeprefix(chr(39))}"
