"""Components are ordinary functions, so they are tested as such."""

from pipeline import Line, evaluate, fit


def test_fit_finds_the_line() -> None:
    assert fit([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) == Line(2.0, 1.0)


def test_evaluate_measures_the_distance() -> None:
    metrics = evaluate([(0.0, 1.0), (1.0, 4.0)], slope=2.0, intercept=1.0)
    assert metrics.values == {"mean_error": 0.5, "worst_error": 1.0}
