"""What analysis keeps of a notebook grows with the notebook, not with the number of ways through it."""

from __future__ import annotations

from pathlib import Path

from running import write_cells

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
