"""What a benchmark gives: rows of a figure, its unit, and how it stands to a yardstick of the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `ratio` is the figure over that of `yardstick`."""

    what: str
    figure: float
    unit: str
    ratio: float | None = None
    yardstick: str = ""


def shown(rows: Sequence[Row]) -> str:
    """Return the rows as an aligned table."""
    width = max(len(row.what) for row in rows)
    return "\n".join(_line(row, width) for row in rows)


def _line(row: Row, width: int) -> str:
    line = f"  {row.what:<{width}}  {row.figure:10.3f} {row.unit:<8}"
    return line if row.ratio is None else f"{line}  {row.ratio:6.2f} x {row.yardstick}"
