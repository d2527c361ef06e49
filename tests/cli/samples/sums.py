"""A pipeline whose results can be worked out by hand: the lengths of a file's lines, added up."""
# ruff: noqa: B006, PLR0917, T201  # a user's file: it prints, and has as many parameters as it likes

import enum
from pathlib import Path

from pydantic import SecretStr

from flowc import ComponentError, Metrics, component, pipeline

print("printed while it is imported")


class Rounding(enum.Enum):
    UP = "up"
    DOWN = "down"


@component
def lengths(text: Path, also: list[Path]) -> list[int]:
    print(f"reading {text.name}")
    return [len(line) for file in (text, *also) for line in file.read_text().splitlines()]


@component(role="evaluate")
def total(numbers: list[int], scale: float, negate: bool) -> Metrics:
    return Metrics(values={"total": sum(numbers) * scale * (-1 if negate else 1)})


@component
def gate(metrics: Metrics, least: float, password: SecretStr | None) -> float:
    if metrics["total"] < least:
        raise ComponentError(f"the total {metrics['total']:g} is below {least:g}", hint="lower --least")
    return metrics["total"]


@component
def crash(total: float, rounding: Rounding) -> str:
    if total == 60:
        raise ValueError("sixty is too much")
    return rounding.name


@pipeline
def sums(
    text: Path,
    also: list[Path] = [],
    scale: float = 1.0,
    negate: bool = False,
    least: float = 0.0,
    runner: str = "nobody",
    password: SecretStr | None = None,
    rounding: Rounding = Rounding.UP,
):
    """Add up the lengths of lines."""
    added = total(lengths(text, also), scale, negate)
    passed = gate(added, least, password)
    return {"added": added, "rounded": crash(passed, rounding)}
