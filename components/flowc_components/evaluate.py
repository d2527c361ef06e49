"""A model is measured on data that it was not trained on, held to thresholds, and blessed or not."""

from __future__ import annotations

from typing import Any, NamedTuple

from flowc import Blessing, Dataset, Evaluation, Model, component
from flowc.types.artifacts import ThresholdResult
from flowc_components.labels import binary_labels
from flowc_components.predict import probabilities

# Keras's own: float32 probabilities reach 0 and 1, whose logarithms do not exist.
_EPSILON = 1e-7


class Evaluated(NamedTuple):
    """What was measured, and whether it is good enough to be served."""

    evaluation: Evaluation
    blessing: Blessing


@component(role="evaluate")
def evaluate(
    model: Model,
    data: Dataset,
    label: str,
    min_auc: float | None = None,
    min_accuracy: float | None = None,
    max_log_loss: float | None = None,
) -> Evaluated:
    """Measure a binary classifier, and bless it if it passes every threshold that is given.

    Raises ComponentError for data without rows, with one class only or with labels missing.
    """
    labels = binary_labels(data.table, label)
    metrics, confusion = measured(labels, probabilities(model, data.table))
    results = (
        _at_least("auc", metrics, min_auc),
        _at_least("accuracy", metrics, min_accuracy),
        _at_most("log_loss", metrics, max_log_loss),
    )
    thresholds = tuple(result for result in results if result is not None)
    evaluation = Evaluation(
        metrics=metrics, thresholds=thresholds, rows=len(labels), details={"confusion": confusion}
    )
    return Evaluated(evaluation, _blessing(thresholds))


def measured(labels: Any, scores: Any) -> tuple[dict[str, float], dict[str, int]]:
    """Return the metrics of probabilities against zeros and ones, and the counts behind them at 0.5.

    All are exact: the AUC is that of the ROC by ranks, with ties shared (Mann and Whitney, 1947), where Keras's
    is a sum over 200 thresholds.
    """
    import numpy as np

    truth, scores = labels.astype(bool), scores.astype("float64")
    guess = scores >= 0.5
    confusion = {
        "true_positives": int((truth & guess).sum()),
        "false_positives": int((~truth & guess).sum()),
        "true_negatives": int((~truth & ~guess).sum()),
        "false_negatives": int((truth & ~guess).sum()),
    }
    right, guessed = confusion["true_positives"], int(guess.sum())
    clipped = np.clip(scores, _EPSILON, 1 - _EPSILON)
    return {
        "auc": _auc(truth, scores),
        "accuracy": float((truth == guess).mean()),
        "log_loss": float(-np.log(np.where(truth, clipped, 1 - clipped)).mean()),
        "brier": float(((scores - truth) ** 2).mean()),
        "precision": right / guessed if guessed else 0.0,
        "recall": right / int(truth.sum()),
        "base_rate": float(truth.mean()),
    }, confusion


def _auc(truth: Any, scores: Any) -> float:
    import numpy as np

    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]  # from 1, the mean of the ranks that a tie spans
    positives = int(truth.sum())
    above = float(rank[truth].sum()) - positives * (positives + 1) / 2
    return above / (positives * (len(truth) - positives))


def _at_least(metric: str, metrics: dict[str, float], bound: float | None) -> ThresholdResult | None:
    if bound is None:
        return None
    value = metrics[metric]
    return ThresholdResult(metric=metric, value=value, at_least=bound, passed=value >= bound)


def _at_most(metric: str, metrics: dict[str, float], bound: float | None) -> ThresholdResult | None:
    if bound is None:
        return None
    value = metrics[metric]
    return ThresholdResult(metric=metric, value=value, at_most=bound, passed=value <= bound)


def _blessing(thresholds: tuple[ThresholdResult, ...]) -> Blessing:
    reasons = tuple(map(_reason, thresholds)) or ("no threshold was given",)
    return Blessing(blessed=all(result.passed for result in thresholds), reasons=reasons)


def _reason(result: ThresholdResult) -> str:
    low = result.at_least is not None
    bound = f"{'at least' if low else 'at most'} {result.at_least if low else result.at_most:g}"
    return f"{result.metric} is {result.value:.4f}, {'' if result.passed else 'not '}{bound}"
