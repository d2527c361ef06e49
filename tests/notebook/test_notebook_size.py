"""What analysis keeps of a notebook grows with the notebook, not with the number of ways through it."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import write_cells

from flowc.errors import CompileError
from flowc.notebook.lower import explain_notebook


def test_long_chains_of_unknown_calls_compile(tmp_path: Path) -> None:
    setup = "import numpy as np\nimport unheard_of\nx = unheard_of.make()\ny = np.arange(3)"
    chain = "\n".join(f"x = x.part{number}(y).next[{number}].last" for number in range(60))
    cells = [["step:make", setup], ["step:walk", chain], ["step:show", "print(x)"]]
    compiled = explain_notebook(write_cells(tmp_path, cells), tmp_path)
    assert [task.name for task in compiled.pipeline.tasks] == ["make", "walk", "show"]


def test_a_table_that_gets_column_after_column_compiles(tmp_path: Path) -> None:
    setup = "import pandas as pd\ndef doubled(values): return [value * 2 for value in values]"
    columns = "\n".join(f"df['c{number}'] = doubled(df['c'])" for number in range(100))
    cells = [
        ["functions", setup],
        ["step:make", "df = pd.DataFrame({'c': [1]})"],
        ["step:grow", columns],
        ["step:show", "print(df)"],
    ]
    compiled = explain_notebook(write_cells(tmp_path, cells), tmp_path)
    assert [(edge.producer, edge.consumer, edge.name) for edge in compiled.edges] == [
        ("make", "grow", "df"),
        ("grow", "show", "df"),
    ]


def _nest(depth: int, body: str) -> str:
    loops = [f"{'    ' * level}for i{level} in range(2):" for level in range(depth)]
    return "\n".join([*loops, "    " * depth + body])


_LOOPS = _nest(18, "x.append(y); y.append(x); f = (lambda: x + y)")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (f"y = {'-' * 500}1", "nested too deeply"),
        (f"y = {' + '.join(['1'] * 900)}", "nested too deeply"),
        (f"y = x{'.a' * 900}", "nested too deeply"),
        (_LOOPS, "too many objects"),
    ],
    ids=["minus", "sum", "attributes", "loops"],
)
def test_code_that_is_too_much_is_refused_where_it_stands(tmp_path: Path, source: str, message: str) -> None:
    cells = [["step:make", "x, y = [], []"], ["step:work", source], ["step:show", "print(x)"]]
    with pytest.raises(CompileError) as caught:
        explain_notebook(write_cells(tmp_path, cells), tmp_path)
    (problem,) = caught.value.diagnostics
    assert problem.code == "FC211"
    assert message in problem.message
    assert problem.source is not None
    assert (problem.source.cell, problem.source.line) == (1, 1)
