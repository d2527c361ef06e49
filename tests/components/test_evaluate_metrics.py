"""Metrics against values worked out by hand. No TensorFlow is needed for them."""

import math

import numpy as np
import pyarrow as pa
import pytest

from flowc import ComponentError
from flowc_components.evaluate import measured
from flowc_components.labels import binary_labels


def test_metrics_of_four_rows() -> None:
    labels, scores = np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8])
    metrics, confusion = measured(labels, scores)
    assert metrics["auc"] == 0.75  # of four pairs, only 0.4 stands above a positive's 0.35
    assert metrics["accuracy"] == 0.75
    assert metrics["precision"] == 1.0
    assert metrics["recall"] == 0.5
    assert metrics["base_rate"] == 0.5
    assert metrics["brier"] == pytest.approx((0.1**2 + 0.4**2 + 0.65**2 + 0.2**2) / 4)
    assert metrics["log_loss"] == pytest.approx(-(math.log(0.9 * 0.6 * 0.35 * 0.8)) / 4)
    assert confusion == {
        "true_positives": 1,
        "false_positives": 0,
        "true_negatives": 2,
        "false_negatives": 1,
    }


def test_ties_count_half() -> None:
    # The negative ties with one positive (1/2) and stands below the other (1): 1.5 of 2 pairs.
    assert measured(np.array([0, 1, 1]), np.array([0.5, 0.5, 0.9]))[0]["auc"] == 0.75
    assert measured(np.array([0, 1, 0, 1]), np.full(4, 0.3))[0]["auc"] == 0.5


def test_certain_and_wrong_is_finite() -> None:
    # Clipped at 1e-7, of whose logarithm the mean of two rows takes half.
    metrics, _ = measured(np.array([0, 1]), np.array([0.0, 0.0], dtype="float32"))
    assert metrics["log_loss"] == pytest.approx(-(math.log(1e-7) + math.log(1 - 1e-7)) / 2)
    assert metrics["precision"] == 0.0  # nothing was guessed to be positive


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([0, 1, None, None]), "missing in 2 of 4 rows"),
        (pa.array([0, 1, 2]), r"holds 1 value\(s\) other than 0 and 1, the first is 2"),
        (pa.array([0.0, float("nan"), 1.0]), r"holds 1 value\(s\) other than 0 and 1"),
        (pa.array([1, 1, 1]), "is 1 in all 3 rows: there is one class only"),
        (pa.array(["yes", "no"]), "is string"),
        (pa.array([], pa.int64()), "no rows"),
    ],
)
def test_labels_that_nothing_can_be_learnt_from_are_refused(column: pa.Array, said: str) -> None:
    with pytest.raises(ComponentError, match=said):
        binary_labels(pa.table({"big_tip": column}), "big_tip")


def test_labels_may_be_bools_and_a_wrong_name_is_helped() -> None:
    table = pa.table({"big_tip": [True, False]})
    assert binary_labels(table, "big_tip").tolist() == [1, 0]
    with pytest.raises(ComponentError) as caught:
        binary_labels(table, "bigtip")
    assert caught.value.hint == "did you mean 'big_tip'?"
