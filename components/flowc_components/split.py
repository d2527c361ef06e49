"""Rows are dealt to training and evaluation by a hash, so that a row's side never depends on the other rows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from flowc import ComponentError, Dataset, component
from flowc.errors import did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Hashes = npt.NDArray[np.uint64]

_NULL = 0x9E3779B97F4A7C15


class Splits(NamedTuple):
    """Two tables that share no row."""

    train: Dataset
    eval: Dataset


@component(role="ingest")
def split(data: Dataset, eval_fraction: float = 0.2, key: str | None = None, seed: int = 0) -> Splits:
    """Deal rows to training and evaluation, the same on every machine, and when rows are added.

    Rows with an equal value of the column `key` stay together; without a key, equal rows do. `eval_fraction` is
    what evaluation gets on average. Raises ComponentError where a side would be empty.
    """
    import numpy as np
    import pyarrow as pa

    if not 0 < eval_fraction < 1:
        raise ComponentError(f"eval_fraction is between 0 and 1, not {eval_fraction}")
    table = data.table
    if key is not None and key not in table.column_names:
        raise ComponentError(
            f"there is no column '{key}' to split by", hint=did_you_mean(key, table.column_names)
        )
    hashes = row_hashes(table.select([key] if key is not None else sorted(table.column_names)), seed)
    to_eval = hashes < np.uint64(int(eval_fraction * 2**64))
    parts = Splits(
        train=Dataset(table.filter(pa.array(~to_eval))), eval=Dataset(table.filter(pa.array(to_eval)))
    )
    if not len(parts.train) or not len(parts.eval):
        raise ComponentError(
            f"the {'eval' if len(parts.train) else 'train'} split is empty: {len(data)} rows, "
            f"eval_fraction={eval_fraction}" + (f", key='{key}'" if key else ""),
            hint="give more rows, another fraction" + (", a key with more values" if key else ""),
        )
    return parts


def row_hashes(table: pa.Table, seed: int = 0) -> Hashes:
    """Return a 64-bit hash for each row that depends on its values and the columns' names alone.

    Equal numbers hash alike whatever their type, since a column read as integers today may be read as floats
    when rows are added. Python's own hash differs from process to process.
    """
    import numpy as np

    hashes = np.full(table.num_rows, seed % 2**64, dtype=np.uint64)
    for name in table.column_names:
        # Adding the name's hash keeps (a=1, b=2) and (a=2, b=1) apart.
        hashes = _mixed(hashes ^ _mixed(_column_hashes(name, table.column(name)) + np.uint64(_digest(name))))
    return hashes


def _column_hashes(name: str, column: pa.ChunkedArray) -> Hashes:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), _NULL, dtype=np.uint64)
    if pa.types.is_temporal(kind):
        column = _as_integers(column)
    elif pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    nulls = column.is_null().to_numpy()
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = pc.fill_null(column.cast(pa.float64(), safe=False), 0.0).to_numpy()
        # One zero and one NaN: -0.0 + 0.0 is 0.0.
        bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
        return np.where(nulls, np.uint64(_NULL), _mixed(bits))
    return np.where(nulls, np.uint64(_NULL), _texts(name, column))


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())


def _texts(name: str, column: pa.ChunkedArray) -> Hashes:
    import numpy as np
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        raise ComponentError(
            f"rows can't be told apart by column '{name}' of type {column.type}", hint="give a key column"
        )
    codes = column.combine_chunks().dictionary_encode()
    known = np.array([_digest(value) for value in codes.dictionary.to_pylist()] or [0], dtype=np.uint64)
    hashes: Hashes = known[codes.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    return hashes


def _digest(value: Any) -> int:
    content = value if isinstance(value, bytes) else str(value).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _mixed(bits: Hashes) -> Hashes:
    """Spread the bits of each number: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    import numpy as np

    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
