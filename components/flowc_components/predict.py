"""A trained model is asked about a table's rows, in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc import ComponentError, Dataset, Model, component
from flowc_components.keras_files import load_model, raw_kinds, run_model
from flowc_components.tensors import raw_columns

if TYPE_CHECKING:
    import pyarrow as pa

PROBABILITY = "probability"


@component(role="evaluate")
def predict(model: Model, data: Dataset) -> Dataset:
    """Return the data with a column `probability`, float32, added.

    Raises ComponentError where a column that the model takes is missing or of another kind.
    """
    import pyarrow as pa

    if PROBABILITY in data.column_names:
        raise ComponentError(f"the data has a column '{PROBABILITY}' already", hint="rename it")
    return Dataset(data.table.append_column(PROBABILITY, pa.array(probabilities(model, data.table))))


def probabilities(model: Model, table: pa.Table) -> Any:
    """Return the model's probability for each row, as a float32 array."""
    if not table.num_rows:
        raise ComponentError("there are no rows to predict")
    loaded = load_model(model.path)
    answers = run_model(loaded, raw_columns(table, raw_kinds(loaded)))[:, 0]
    wrong = ~((answers >= 0) & (answers <= 1))  # so that NaN is wrong too
    if wrong.any():
        raise ComponentError(
            f"the model gives {wrong.sum()} of {len(answers)} rows a value that is no probability, "
            f"the first is {answers[wrong][0]}",
            hint="end the network with a sigmoid, and normalise large numbers",
        )
    return answers
