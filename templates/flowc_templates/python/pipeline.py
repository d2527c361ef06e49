"""A first pipeline. Run it with `flowc run pipeline.py`, and see its options with `flowc run pipeline.py --help`."""

from typing import NamedTuple

from flowc import Metrics, component, pipeline


class Line(NamedTuple):
    slope: float
    intercept: float


@component
def make_points(count: int, slope: float) -> list[tuple[float, float]]:
    """Make points on a line."""
    return [(float(x), slope * x + 1.0) for x in range(count)]


@component
def fit(points: list[tuple[float, float]]) -> Line:
    """Fit a line by least squares."""
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return Line(slope, mean_y - slope * mean_x)


@component
def evaluate(points: list[tuple[float, float]], slope: float, intercept: float) -> Metrics:
    """Measure how far the points are from the line."""
    errors = [abs(y - (slope * x + intercept)) for x, y in points]
    return Metrics(values={"mean_error": sum(errors) / len(errors), "worst_error": max(errors)})


@pipeline
def line(count: int = 100, slope: float = 2.0) -> Metrics:
    """Fit a line to points and measure the fit."""
    points = make_points(count, slope)
    fitted = fit(points)
    return evaluate(points, fitted.slope, fitted.intercept)
