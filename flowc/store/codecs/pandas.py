"""pandas frames and series as Arrow IPC files, where Arrow gives them back exactly; the others are pickled."""

from __future__ import annotations

import datetime
import json
import math
from typing import TYPE_CHECKING, Any

from flowc.store.codecs.codec import Content, Draft, is_a
from flowc.store.codecs.tables import declared_form, read_table, write_table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SERIES_NAME = b"flowc.series"
_MISSING_IS_NAN = b"flowc.missing_is_nan"
_NAN = "NaN"
# Of an object column's kinds, those that Arrow gives back as the same Python type.
_KEPT = frozenset((str, bytes, bool, datetime.date))


class PandasCodec:
    """For DataFrame and Series themselves: a subclass may hold more than Arrow knows of."""

    name = "pandas"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        if is_a(value, "pandas", "DataFrame") and type(value).__name__ == "DataFrame":
            table = _exact_table(value)
        elif is_a(value, "pandas", "Series") and type(value).__name__ == "Series":
            table = _series_table(value)
        else:
            return None
        return write_table(table, draft.folder) if table is not None else None

    def read(self, content: Content) -> Any:
        table = read_table(content.folder)
        if declared_form(content.type) in ("table", "dataset"):
            return _without_index(table)
        frame = table.to_pandas()
        for position in _mark(table, _MISSING_IS_NAN) or ():
            _set_missing_to_nan(frame, position)
        if _SERIES_NAME not in table.schema.metadata:
            return frame
        return frame["value"].rename(_mark(table, _SERIES_NAME))


def _series_table(series: pd.Series) -> pa.Table | None:
    if series.name is not None and type(series.name) not in (str, int):
        return None
    table = _exact_table(series.to_frame("value"))
    return _marked(table, _SERIES_NAME, series.name) if table is not None else None


def _exact_table(frame: pd.DataFrame) -> pa.Table | None:
    import pyarrow as pa

    if frame.attrs:
        return None
    try:
        table = pa.Table.from_pandas(frame)
        back = table.to_pandas(split_blocks=True)
    except (pa.ArrowException, ValueError, TypeError, NotImplementedError, OverflowError, UnicodeError):
        return None
    if not _same_frame(frame, back):
        return None
    # As pandas reads a CSV file: a missing text is NaN. Arrow has one null, which comes back as None.
    with_nan = [place for place, (_, column) in enumerate(frame.items()) if _NAN in _kinds(column)]
    return _marked(table, _MISSING_IS_NAN, with_nan) if with_nan else table


def _marked(table: pa.Table, key: bytes, mark: Any) -> pa.Table:
    return table.replace_schema_metadata({**table.schema.metadata, key: json.dumps(mark).encode()})


def _mark(table: pa.Table, key: bytes) -> Any:
    return json.loads(table.schema.metadata.get(key, b"null"))


def _set_missing_to_nan(frame: pd.DataFrame, position: int) -> None:
    import pandas as pd

    values = frame.iloc[:, position].to_numpy(dtype=object, copy=True)
    values[pd.isna(values)] = float("nan")
    frame.isetitem(position, pd.Series(values, index=frame.index, dtype=object))


def _same_frame(frame: pd.DataFrame, back: pd.DataFrame) -> bool:
    """Compare what Arrow may change: labels, dtypes, objects. The numbers themselves it keeps."""
    if not (_same_index(frame.index, back.index) and _same_index(frame.columns, back.columns)):
        return False
    pairs = zip(frame.items(), back.items(), strict=True)
    return all(
        _same_dtype(one.dtype, other.dtype) and _keeps_kinds(one, type(None), _NAN)
        for (_, one), (_, other) in pairs
    )


def _same_index(one: pd.Index, other: pd.Index) -> bool:
    if type(one) is not type(other) or list(one.names) != list(other.names):
        return False
    if getattr(one, "freq", None) != getattr(other, "freq", None) or not one.equals(other):
        return False
    if one.nlevels > 1:
        levels = zip(one.levels, other.levels, strict=True)
        return all(_same_index(level, other_level) for level, other_level in levels)
    return _same_dtype(one.dtype, other.dtype) and _keeps_kinds(one, type(None))


def _same_dtype(one: Any, other: Any) -> bool:
    if one != other:
        return False
    # Categories are equal to pandas in any order; codes are not.
    return not hasattr(one, "categories") or _same_index(one.categories, other.categories)


def _keeps_kinds(values: pd.Series | pd.Index, *missing: object) -> bool:
    """Say whether Arrow gives these objects back: all of one kind, but for one way to say that there is none."""
    kinds = _kinds(values)
    return any(len(kinds - {each}) <= 1 and kinds - {each} <= _KEPT for each in missing)


def _kinds(values: pd.Series | pd.Index) -> set[object]:
    """Return the types of the objects in an object column, and _NAN for float where each float is NaN."""
    if values.dtype != object:
        return set()
    kinds: set[object] = set(map(type, values))
    if float in kinds and all(math.isnan(value) for value in values if type(value) is float):
        return kinds - {float} | {_NAN}
    return kinds


def _without_index(table: pa.Table) -> pa.Table:
    """Return the columns alone, as `Dataset.from_pandas` gives them."""
    described = json.loads(table.schema.metadata[b"pandas"])
    index = [name for name in described["index_columns"] if isinstance(name, str)]
    return table.drop(index).replace_schema_metadata()
