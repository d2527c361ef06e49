"""A real table held to its columns: batch by batch, each check one pass of Arrow's own, without a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowc.errors import ComponentError, did_you_mean
from flowc.types.column import Column, same_family, value_name
from flowc.types.limits import meant

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 1 << 17  # of this many rows, a column's values stay in the processor's cache between checks
_SHOWN = 10


def hold_table(table: pa.Table, columns: tuple[Column, ...], what: str) -> None:
    """Check that a table has these columns, of their types, and in them only values that they may hold.

    Raises ComponentError that names every column at fault, with what was expected and found, the first bad row
    and how many there are.
    """
    faults = list(_faults(table, columns))
    if not faults:
        return
    shown = faults[:_SHOWN] + ([f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else [])
    raise ComponentError(f"{what} does not hold what its type says:\n  " + "\n  ".join(shown))


def _faults(table: pa.Table, columns: tuple[Column, ...]) -> Iterator[str]:
    for column in columns:
        if column.name not in table.column_names:
            if column.required:
                hint = did_you_mean(column.name, table.column_names)
                yield f"column '{column.name}' is missing" + (f"; {hint}" if hint else "")
            continue
        chunks = table.column(column.name)
        if str(chunks.type) == "null" and column.nullable:
            continue
        wrong = list(_wrong_types(chunks.type, column, column.name))
        yield from wrong or _Values().of(chunks, column)


def _wrong_types(type_: pa.DataType, column: Column, path: str) -> Iterator[str]:
    """Find where a column's Arrow type is not what is wanted, at any depth."""
    import pyarrow.types as pat

    if column.type == "struct" and pat.is_struct(type_):
        found = {field.name: field.type for field in (type_[i] for i in range(type_.num_fields))}
        for child in column.children:
            if child.name in found:
                yield from _wrong_types(found[child.name], child, f"{path}.{child.name}")
            elif child.required:
                yield f"column '{path}.{child.name}' is missing"
    elif column.type == "map" and pat.is_map(type_):
        yield from _wrong_types(type_.key_type, column.children[0], f"{path}[key]")
        yield from _wrong_types(type_.item_type, column.children[1], f"{path}[]")
    elif column.type == "list" and _is_list(type_):
        yield from _wrong_types(type_.value_type, column.children[0], f"{path}[]")
    elif str(type_) == "null" and column.nullable:
        return
    elif column.children or not _fits(type_, column):
        yield f"column '{path}': expected {_expected(column)}, found {type_}"


def _is_list(type_: pa.DataType) -> bool:
    import pyarrow.types as pat

    return bool(pat.is_list(type_) or pat.is_large_list(type_) or pat.is_fixed_size_list(type_))


def _fits(type_: pa.DataType, column: Column) -> bool:
    if column.exact:
        return str(type_) == column.type
    if not same_family(str(type_), column.type):
        return False
    if value_name(column.type) != "decimal":
        return True
    digits, places = column.max_digits, column.decimal_places
    if places is not None and type_.scale > places:
        return False
    return digits is None or type_.precision - type_.scale <= digits - (places or 0)


def _expected(column: Column) -> str:
    said = [
        f"{name}={value}"
        for name, value in column.constraints().items()
        if name.endswith(("digits", "places"))
    ]
    return column.kind() + (f"({', '.join(said)})" if said else "")


@dataclass(slots=True)
class _Bad:
    row: int
    value: Any
    count: int


class _Values:
    """The faults among a column's values, gathered over its batches."""

    def __init__(self) -> None:
        self._bad: dict[tuple[str, str], _Bad] = {}

    def of(self, chunks: pa.ChunkedArray, column: Column) -> Iterator[str]:
        """Return the faults of a whole column in words."""
        start = 0
        for chunk in chunks.chunks:
            for offset in range(0, len(chunk), _BATCH_ROWS):
                self._check(chunk.slice(offset, _BATCH_ROWS), column, column.name, _Rows(start + offset))
            start += len(chunk)
        for (path, expected), bad in sorted(self._bad.items(), key=lambda each: each[1].row):
            found = "null" if bad.value is None else repr(bad.value)
            others = f" ({bad.count} in all)" if bad.count > 1 else ""
            yield f"column '{path}': expected {expected}, found {found} in row {bad.row}{others}"

    def _check(self, array: pa.Array, column: Column, path: str, rows: _Rows) -> None:
        if array.null_count:
            if not column.nullable:
                self._note(array, array.is_null(), path, _expected(column), rows)
            if column.children:
                rows, array = rows.where(array.is_valid()), array.drop_null()
        self._check_values(array, column, path, rows)
        if column.type == "struct":
            names = [field.name for field in array.type]
            for child in column.children:
                if child.name in names:
                    self._check(array.field(names.index(child.name)), child, f"{path}.{child.name}", rows)
        elif column.type == "list":
            self._check(array.flatten(), column.children[0], f"{path}[]", rows.of_items(array))
        elif column.type == "map":
            self._check_map(array, column, path, rows)

    def _check_map(self, array: pa.Array, column: Column, path: str, rows: _Rows) -> None:
        import pyarrow as pa

        # As the list of structs that it is: a map's own keys and items take no notice of a slice.
        pair = pa.struct(
            [pa.field("key", array.type.key_type, nullable=False), ("value", array.type.item_type)]
        )
        pairs = array.cast(pa.list_(pair))
        items = pairs.flatten()
        for index, child in enumerate(column.children):
            self._check(
                items.field(index), child, path + ("[key]" if index == 0 else "[]"), rows.of_items(pairs)
            )

    def _check_values(self, array: pa.Array, column: Column, path: str, rows: _Rows) -> None:
        for expected, check in _checks(column):
            good = check(array.dictionary if _is_dictionary(array) else array)
            if _all(good):
                continue
            if _is_dictionary(array):
                good = good.take(array.indices)
                if _all(good):
                    continue  # the value stands in the dictionary, and in no row
            self._note(array, _inverted(good), path, expected, rows)

    def _note(self, array: pa.Array, bad: pa.Array, path: str, expected: str, rows: _Rows) -> None:
        import pyarrow.compute as pc

        first, count = pc.index(bad, True).as_py(), pc.sum(bad).as_py()
        known = self._bad.setdefault((path, expected), _Bad(rows.number(first), array[first].as_py(), 0))
        known.count += count


class _Rows:
    """Which row of the table each item of an array stands in."""

    def __init__(self, start: int, numbers: pa.Array | None = None) -> None:
        self._start = start
        self._numbers = numbers  # None: one row each, in order

    def number(self, index: int) -> int:
        return self._start + (index if self._numbers is None else self._numbers[index].as_py())

    def where(self, mask: pa.Array) -> _Rows:
        import pyarrow as pa

        numbers = pa.array(range(len(mask))) if self._numbers is None else self._numbers
        return _Rows(self._start, numbers.filter(mask))

    def of_items(self, lists: pa.Array) -> _Rows:
        import pyarrow.compute as pc

        parents = pc.list_parent_indices(lists)
        return _Rows(self._start, parents if self._numbers is None else self._numbers.take(parents))


def _is_dictionary(array: pa.Array) -> bool:
    return hasattr(array, "dictionary")


def _all(good: pa.Array) -> bool:
    import pyarrow.compute as pc

    return pc.all(good).as_py() is not False  # a null is another check's


def _inverted(good: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.fill_null(pc.invert(good), False)


Check = Callable[[Any], Any]


def _checks(column: Column) -> Iterator[tuple[str, Check]]:
    """Return for each of a column's bounds what it expects in words, and which values are within, null for null."""
    import pyarrow.compute as pc

    compare = {"ge": pc.greater_equal, "gt": pc.greater, "le": pc.less_equal, "lt": pc.less}
    lengths = {"string": pc.utf8_length, "binary": pc.binary_length, "list": pc.list_value_length}
    if column.values is not None:
        yield f"one of {', '.join(map(repr, column.values))}", _among(column.values)
    for name, limit in column.constraints().items():
        says = f"{column.type} with {name}={limit!r}"
        if name in compare:
            yield says, _compared(compare[name], meant(value_name(column.type), limit))
        elif name in ("min_length", "max_length"):
            within = pc.greater_equal if name == "min_length" else pc.less_equal
            yield says, _long(lengths[column.type], within, limit)
        elif name == "pattern":
            yield says, _matching(limit)
        elif name == "multiple_of":
            yield says, _multiple(limit)
        elif name == "allow_inf_nan" and not limit:
            yield says, pc.is_finite


def _among(values: Sequence[Any]) -> Check:
    import pyarrow as pa
    import pyarrow.compute as pc

    def check(array: Any) -> Any:
        found = pc.is_in(array, value_set=pa.array(values).cast(array.type))
        return pc.if_else(array.is_valid(), found, None) if array.null_count else found

    return check


def _compared(compare: Callable[[Any, Any], Any], limit: Any) -> Check:
    import pyarrow as pa

    def check(array: Any) -> Any:
        # Numbers are compared as they are; a time has to have the column's own unit and zone.
        plain = isinstance(limit, int | float)
        return compare(array, pa.scalar(limit) if plain else pa.scalar(limit, type=array.type))

    return check


def _long(length: Callable[[Any], Any], within: Callable[[Any, Any], Any], limit: int) -> Check:
    return lambda array: within(length(array), limit)


def _matching(pattern: str) -> Check:
    import pyarrow.compute as pc

    return lambda array: pc.match_substring_regex(array, pattern)


def _multiple(of: Any) -> Check:
    import pyarrow.compute as pc

    def check(array: Any) -> Any:
        return pc.equal(pc.multiply(pc.divide(array, of), of), array)

    return check
