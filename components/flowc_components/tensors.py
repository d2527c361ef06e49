"""Columns of a table as the raw tensors that a model takes: one form in training, in batches and in serving.

A number is a float64 and NaN where it is missing; a text is bytes in UTF-8 and empty where it is missing. There
is no third kind, so a serving request can say of any column that it is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from flowc import ComponentError
from flowc.errors import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

RawKind = Literal["number", "text"]
RawColumns = dict[str, Any]  # float64 and object arrays of one dimension, by column

_LARGEST_EXACT = 2**53


def raw_columns(table: pa.Table, kinds: Mapping[str, RawKind]) -> RawColumns:
    """Return the named columns as arrays of numbers or texts.

    Raises ComponentError for a column that is not there, or that is of another kind.
    """
    return {name: _raw(name, column_of(table, name), kind) for name, kind in kinds.items()}


def column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column of a table, plain where it was dictionary-encoded. ComponentError where it is not there."""
    import pyarrow as pa

    if name not in table.column_names:
        raise ComponentError(
            f"the data has no column '{name}'",
            hint=did_you_mean(name, table.column_names) or f"it has: {', '.join(table.column_names)}",
        )
    column = table.column(name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_number(kind: pa.DataType) -> bool:
    """Say whether Arrow columns of this type are numbers to a model. Booleans are 0 and 1."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_text(kind: pa.DataType) -> bool:
    """Say whether Arrow columns of this type hold text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _raw(name: str, column: pa.ChunkedArray, kind: RawKind) -> Any:
    import numpy as np
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan if kind == "number" else b"", dtype=_dtype(kind))
    if kind == "number" and is_number(column.type):
        return _numbers(name, column)
    if kind == "text" and (is_text(column.type) or pa.types.is_integer(column.type)):
        texts = column.cast(pa.large_string()).fill_null("").cast(pa.large_binary())
        return texts.to_numpy().astype(object)
    raise ComponentError(
        f"column '{name}' is {column.type}, and a {kind} is needed",
        hint=_other_kind(column.type),
    )


def _dtype(kind: RawKind) -> Any:
    return "float64" if kind == "number" else object


def _numbers(name: str, column: pa.ChunkedArray) -> Any:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_integer(column.type):
        too_large = pc.sum(pc.greater(pc.abs(column.cast(pa.float64(), safe=False)), _LARGEST_EXACT)).as_py()
        if too_large:
            raise ComponentError(
                f"column '{name}' holds {too_large} integer(s) beyond 2^53, which no double tells apart",
                hint='treat it as text, as in "string_categorical"',
            )
    return column.cast(pa.float64()).fill_null(np.nan).to_numpy()


def _other_kind(kind: pa.DataType) -> str:
    import pyarrow as pa

    if is_text(kind):
        return 'use a kind for text, as "string_categorical", or mend the values that are no numbers'
    if pa.types.is_temporal(kind):
        return "make a number of it first, as its hour or weekday"
    return 'use a kind for numbers, as "float_normalized"' if is_number(kind) else "leave it out"
