"""Drawing on axes changes them, and tables that are drawn stay as they are.

Only compiled: figures are nested so deeply that whether they can be pickled depends on the stack below.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from running import write_cells

from flowc.notebook.lower import explain_notebook

SHARED = "import matplotlib.pyplot as plt\nimport pandas as pd\ndef draw(q): q.plot([1, 2])"
TABLE = "pd.DataFrame({'a': [1]})"


def _edges(folder: Path, made: str, drawn: str, read: str) -> set[tuple[str, str]]:
    cells = [["functions", SHARED], ["step:a", made], ["step:b", drawn], ["step:c", read]]
    return {
        (edge.producer, edge.consumer) for edge in explain_notebook(write_cells(folder, cells), folder).edges
    }


@pytest.mark.parametrize(
    ("drawn", "read"),
    [
        ("x = ax.plot([1, 2])", "ax.lines"),
        ("x = ax.hist([1, 2])", "fig.axes[0].patches"),
        ("x = fig.axes[0].plot([1, 2])", "ax.lines"),
        ("draw(ax)", "ax.lines"),
        ("plt.sca(ax)", "ax.lines"),
        (f"x = {TABLE}.plot(ax=ax)", "ax.lines"),
    ],
)
def test_drawing_on_axes_changes_them(drawn: str, read: str, tmp_path: Path) -> None:
    assert ("b", "c") in _edges(tmp_path, "fig, ax = plt.subplots()", drawn, read)


def test_drawing_on_one_of_several_axes_changes_them(tmp_path: Path) -> None:
    drawn = "for each in axes: each.plot([1, 2])"
    assert ("b", "c") in _edges(tmp_path, "fig, axes = plt.subplots(2)", drawn, "axes[1].lines")


def test_drawing_a_table_leaves_it_alone(tmp_path: Path) -> None:
    assert _edges(tmp_path, f"df = {TABLE}", "x = df.plot()", "df.sum()") == {("a", "b"), ("a", "c")}
