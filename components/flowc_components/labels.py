"""The column to be predicted, held to what a binary classifier can learn from and be judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc import ComponentError
from flowc_components.tensors import column_of, is_number

if TYPE_CHECKING:
    import pyarrow as pa


def binary_labels(table: pa.Table, label: str) -> Any:
    """Return the label column as an int8 array of zeros and ones.

    Raises ComponentError where there are no rows, a label is missing or neither 0 nor 1, or all are the same.
    """
    import numpy as np
    import pyarrow as pa

    column = column_of(table, label)
    if not len(column):
        raise ComponentError("the data has no rows")
    if not is_number(column.type):
        raise ComponentError(
            f"the label '{label}' is {column.type}; a binary label is 0 or 1, or a bool",
            hint="make a column of zeros and ones from it",
        )
    if column.null_count:
        raise ComponentError(
            f"the label '{label}' is missing in {column.null_count} of {len(column)} rows",
            hint="drop these rows before the split, or find their labels",
        )
    values = (column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column).to_numpy()
    odd = ~np.isin(values, (0, 1))
    if odd.any():
        raise ComponentError(
            f"the label '{label}' holds {int(odd.sum())} value(s) other than 0 and 1, the first is {values[odd][0]}"
        )
    if (values == values[0]).all():
        raise ComponentError(
            f"the label '{label}' is {int(values[0])} in all {len(values)} rows: there is one class only",
            hint="give more rows, or look at how the label is made",
        )
    return values.astype("int8")
