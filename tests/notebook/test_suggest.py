"""Suggested steps: where they are cut and why, and copies that differ from the notebook by their tags alone."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import NAME, run_pipeline, run_plainly, write_cells

from flowc.cli.app import run_command
from flowc.errors import CompileError, UsageError
from flowc.notebook.lower import compile_notebook
from flowc.notebook.suggest import Suggestion, suggest_tags, write_copy
from flowc.notebook.suggest.cuts import WorkCell, cheapest_cuts
from flowc.notebook.suggest.names import name_of_heading
from flowc.notebook.suggest.parts import Value
from flowc.notebook.suggest.roles import STRONG, Hint

PENGUINS = Path(__file__).parents[2] / "examples" / "penguins" / "penguins.ipynb"
TRAIN, TRANSFORM = Hint("train", STRONG, "fit"), Hint("transform", STRONG, "dropna")


def suggested(folder: Path, *sources: str) -> Suggestion:
    """Return what is suggested for a notebook of these cells: "#: ..." is markdown, "@TAG ..." has a tag."""
    return suggest_tags(written(folder, *sources), folder)


def written(folder: Path, *sources: str) -> Path:
    cells = []
    for source in sources:
        if source.startswith("#: "):
            cells.append(["markdown", source.removeprefix("#: ")])
        elif source.startswith("@"):
            cells.append(source.removeprefix("@").split(maxsplit=1))
        else:
            cells.append(["", source])
    return write_cells(folder, cells)


def tags(suggestion: Suggestion) -> list[str]:
    return [" ".join((*cell.has, *cell.tags)) for cell in suggestion.cells]


# -- whole notebooks


def test_penguins_without_its_tags_gets_those_that_a_person_gave_it(tmp_path: Path) -> None:
    notebook = json.loads(PENGUINS.read_text())
    given_tags = [
        cell["metadata"].pop("tags", []) for cell in notebook["cells"] if cell["cell_type"] == "code"
    ]
    (tmp_path / NAME).write_text(json.dumps(notebook))
    found = [list(cell.tags) for cell in suggest_tags(tmp_path / NAME, tmp_path).cells]
    # The last cell has none of its own: it joins the step above it.
    assert found == [*given_tags[:-1], ["evaluate"]]


def test_a_story_with_headings(tmp_path: Path) -> None:
    suggestion = suggested(
        tmp_path,
        "#: # Sums",
        "import random\nimport statistics\nrandom.seed(1)",
        "count = 5\nsteps: list[int] = [1, 2]",
        "def load_numbers():\n    return list(range(count))",
        "#: ## 1. Load the numbers",
        "numbers = load_numbers()",
        "#: ## 2. Clean",
        "numbers = [n * steps[1] for n in numbers]",
        "#: ## 3. What comes *out*",
        "total = sum(numbers)",
        "print(total)",
    )
    assert tags(suggestion) == [
        "imports",
        "parameters",
        "functions",
        "step:load-numbers",
        "step:clean",
        "step:what-comes-out",
        "step:what-comes-out",
    ]
    crossing = {step.name: [(taken.name, taken.step) for taken in step.takes] for step in suggestion.steps}
    assert crossing == {
        "load-numbers": [],
        "clean": [("numbers", "load-numbers")],
        "what-comes-out": [("numbers", "clean")],
    }
    path = tmp_path / "tagged.ipynb"
    write_copy(tmp_path / NAME, path, suggestion.tags(), tmp_path)
    pipeline, _ = compile_notebook(path, tmp_path)
    assert run_pipeline(pipeline, tmp_path).values["total"] == 20
    assert run_plainly(path, pipeline).values["total"] == 20


def test_what_little_crosses_between_is_cut_and_what_much_crosses_between_is_not(tmp_path: Path) -> None:
    many = ", ".join(f"v{number}" for number in range(8))
    fit = "class Model:\n    def fit(self, *values):\n        return self"
    close = suggested(tmp_path, fit, f"{many} = range(8)\nx = sorted([1]).copy()", f"Model().fit({many})")
    assert [step.cells for step in close.steps] == [(1, 2)]
    apart = suggested(tmp_path, fit, "import pandas as pd", "d = pd.read_csv('a')", "m = Model().fit(d)")
    assert [(step.name, step.cells) for step in apart.steps] == [("ingest", (2,)), ("train", (3,))]


def test_trainings_that_need_nothing_of_each_other_are_apart(tmp_path: Path) -> None:
    sources = [
        "from sklearn.linear_model import LinearRegression, Ridge",
        "x, y = [[1], [2]], [1, 2]",
        "plain = LinearRegression().fit(x, y)",
        "ridge = Ridge().fit(x, y)",
        "print(plain.predict(x), ridge.predict(x))",
    ]
    suggestion = suggested(tmp_path, *sources)
    assert [step.name for step in suggestion.steps if step.role == "train"] == ["plain", "ridge"]
    chained = [*sources[:3], "ridge = Ridge().fit(x, plain.predict(x))", sources[4]]
    steps = suggested(tmp_path, *chained).steps
    assert next(step.cells for step in steps if 2 in step.cells) == next(
        step.cells for step in steps if 3 in step.cells
    )


# -- what may not be apart


def test_a_generator_is_made_and_used_in_one_step(tmp_path: Path) -> None:
    suggestion = suggested(tmp_path, "#: ## Make", "g = (i for i in range(3))", "#: ## Use", "total = sum(g)")
    assert tags(suggestion) == ["step:make", "step:make"]
    assert suggestion.cells[1].why == "cells 1 to 3 can't be apart: FC500"


def test_random_numbers_that_go_on_stay_in_one_step(tmp_path: Path) -> None:
    drawing = ["import random", "#: ## One", "a = random.random()", "#: ## Two", "b = random.random()"]
    assert len(suggested(tmp_path, *drawing).steps) == 1
    seeded = [*drawing[:4], "random.seed(2)\nb = random.random()"]
    assert [step.name for step in suggested(tmp_path, *seeded).steps] == ["one", "two"]


def test_what_no_joining_cures_is_said(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        suggested(tmp_path, "a = 1\nprint(a)", "#: ## Later", "print(missing)")
    assert [problem.code for problem in caught.value.diagnostics] == ["FC200"]
    with pytest.raises(CompileError) as caught:
        suggested(tmp_path, "import math", "def f():\n    return 1")
    assert [problem.code for problem in caught.value.diagnostics] == ["FC022"]


def test_a_cell_that_only_measures_is_left_out(tmp_path: Path) -> None:
    sources = ["a = sorted([2, 1])", "%timeit sum(a)", "%%timeit\nb = sum(a)", "a?", "print(a)"]
    assert tags(suggested(tmp_path, *sources)) == ["step:explore", "skip", "skip", "skip", "step:explore"]
    with pytest.raises(CompileError) as caught:
        suggested(tmp_path, "a = 1\n%memit sum([a])")
    assert [problem.code for problem in caught.value.diagnostics] == ["FC015"]


# -- tags that are there


def test_cells_that_have_a_part_keep_it(tmp_path: Path) -> None:
    suggestion = suggested(
        tmp_path,
        "n = 3",
        "@step:first a = list(range(n))",
        "a.append(1)",
        "#: ## Add up",
        "total = sum(a)",
        "#| flowc: step:last\nprint(total)",
        "@skip print('scratch')",
        "@cpus:2 count = len(a)",
    )
    assert tags(suggestion) == [
        "parameters",
        "step:first",
        "step:first",
        "step:add-up",
        "",
        "skip",
        "cpus:2 step:last",
    ]
    assert [step.name for step in suggestion.steps] == ["first", "add-up", "last"]


# -- the cost


@st.composite
def work(draw: st.DrawFn) -> list[WorkCell]:
    cells: list[WorkCell] = []
    for index in range(draw(st.integers(1, 7))):
        values = [Value(f"v{maker}", maker) for maker in range(index)]
        cells.append(
            WorkCell(
                index,
                draw(st.frozensets(st.sampled_from(values)) if values else st.just(frozenset())),
                draw(st.sampled_from((None, TRAIN, TRANSFORM))),
                draw(st.sampled_from((None, 2, 3))),
                joined=draw(st.booleans()) and index > 0,
            )
        )
    return cells


def cost(step: list[WorkCell]) -> float:
    inside = {cell.index for cell in step}
    outer = {value.name for cell in step for value in cell.taken if value.cell not in inside}
    total = 1 + len(outer) + (len(step) / 8) ** 2
    total += sum({None: 0, 2: 3, 3: 1}[cell.heading] for cell in step[1:])
    told = [position for position, cell in enumerate(step) if cell.role]
    for before, after in itertools.pairwise(told):
        if step[before].role != step[after].role:
            total += 6
        elif step[after].role == TRAIN:
            earlier = {cell.index for cell in step[:after]}
            total += 6 * all(value.cell not in earlier for value in step[after].taken)
    return total


@given(work())
def test_no_other_cuts_cost_less(cells: list[WorkCell]) -> None:
    borders = [position for position in range(1, len(cells)) if not cells[position].joined]
    ways = itertools.chain.from_iterable(
        itertools.combinations(borders, size) for size in range(len(borders) + 1)
    )
    lowest = min(sum(cost(cells[a:b]) for a, b in itertools.pairwise((0, *way, len(cells)))) for way in ways)
    found = cheapest_cuts(cells)
    assert found is not None
    assert list(itertools.chain.from_iterable(found)) == cells
    assert sum(map(cost, found)) == pytest.approx(lowest)


def test_steps_that_tags_name_are_never_one() -> None:
    named = [WorkCell(0, frozenset(), None, step="a"), WorkCell(1, frozenset(), None, step="b", joined=True)]
    assert cheapest_cuts(named) is None


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("1. Load the data", "load-data"),
        ("Step 2: Fit a [forest](http://x.org/y)", "fit-forest"),
        ("**Evaluation** & metrics", "evaluation-metrics"),
        ("II. Größe", "größe"),
        ("2024", None),
        ("!!!", None),
        ("The", "the"),
    ],
)
def test_names_of_headings(heading: str, name: str | None) -> None:
    assert name_of_heading(heading) == name


# -- copies

RAW = """{
 "nbformat": 4, "nbformat_minor": 5,
 "metadata": {"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}, "n": 1e5},
 "cells": [
  {"cell_type": "code", "id": "a", "execution_count": 7, "metadata": {}, "source": "a = [1, 2]\\nprint(a)",
   "outputs": [{"output_type": "stream", "name": "stdout", "text": "\\u00e9\\ud83d [1, 2]\\n", "x": 1.50}]},
  {"cell_type": "code", "id": "b", "execution_count": null, "outputs": [], "source": ["b = sum(a)"],
   "metadata": {"collapsed": true, "tags": ["hide-input"]}},
  {"cell_type": "code", "id": "c", "execution_count": null, "outputs": [], "source": ["print(b)"],
   "metadata": {
    "collapsed": true
   }}
 ]
}
"""


def test_a_copy_differs_by_its_tags_alone(tmp_path: Path) -> None:
    path, copy = tmp_path / "raw.ipynb", tmp_path / "copy.ipynb"
    path.write_text(RAW)
    write_copy(path, copy, suggest_tags(path, tmp_path).tags(), tmp_path)
    assert path.read_text() == RAW
    text = copy.read_text()
    # Numbers and escapes stand as they were written: no JSON writer has seen them.
    assert '"n": 1e5' in text
    assert r'"\u00e9\ud83d [1, 2]\n", "x": 1.50' in text
    old, new = json.loads(RAW), json.loads(text)
    found = [cell["metadata"].pop("tags") for cell in new["cells"]]
    assert found == [["step:explore"], ["hide-input", "step:explore"], ["step:explore"]]
    del old["cells"][1]["metadata"]["tags"]
    assert new == old


def test_a_copy_overwrites_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "print(1)")
    before = path.read_text()
    for copy in (path, tmp_path / "copy.py", tmp_path / "nowhere" / "copy.ipynb"):
        with pytest.raises(UsageError):
            write_copy(path, copy, {0: ("step:a",)}, tmp_path)
    assert path.read_text() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [NAME]


def test_a_notebook_of_an_old_format_is_read_but_not_copied(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "language": "python", "input": "print(1)", "outputs": [], "metadata": {}}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [cell]}]}
    path = tmp_path / "old.ipynb"
    path.write_text(json.dumps(old))
    suggestion = suggest_tags(path, tmp_path)
    assert tags(suggestion) == ["step:explore"]
    with pytest.raises(UsageError, match="format 4"):
        write_copy(path, tmp_path / "copy.ipynb", suggestion.tags(), tmp_path)


def test_a_percent_file_is_copied_with_its_tags(tmp_path: Path) -> None:
    path, copy = tmp_path / "plain.py", tmp_path / "copy.py"
    path.write_text("# %% [markdown]\n# ## Make\n\n# %%\na = sorted([2, 1])\n\n# %%\n# %time print(a)\n")
    write_copy(path, copy, suggest_tags(path, tmp_path).tags(), tmp_path)
    assert copy.read_text() == (
        '# %% [markdown]\n# ## Make\n\n# %% tags=["step:make"]\na = sorted([2, 1])\n\n'
        '# %% tags=["step:make"]\n# %time print(a)\n'
    )


# -- the command


def test_the_command_shows_a_row_for_each_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "import math", "#: ## Make", "a = sorted([2, 1])", "#: ## Use", "print(math.fsum(a))")
    assert run_command(["suggest", NAME]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["CELL", "ID", "TAGS", "TAKES", "WHY"],
        ["0", "c0", "imports", "only", "imports", "and", "set-up"],
        ["2", "c2", "step:make", "nothing", "heading", "'Make'"],
        ["4", "c4", "step:use", "a", "of", "make", "heading", "'Use'"],
    ]
    assert run_command(["suggest", NAME, "-o", "copy.ipynb", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["written"] == "copy.ipynb"
    assert said["steps"][1] == {
        "name": "use",
        "role": None,
        "cells": [4],
        "takes": [{"name": "a", "step": "make"}],
    }
    assert run_command(["suggest", NAME, "-o", "copy.ipynb"]) == 2
    assert run_command(["check", "copy.ipynb"]) == 0


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"cells": 3}', '{"cells": [3]}', '{"cells": []}', '{"cells": [{"cell_type": "code"}]}',
     '{"cells": [{"cell_type": "code", "metadata": {"tags": "x"}, "source": "a"}]}',
     '{"cells": [{"cell_type": "code", "source": "a = ("}]}'],
)  # fmt: skip
def test_a_bad_notebook_is_refused_with_diagnostics(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(NAME).write_text(text)
    assert run_command(["suggest", NAME]) == 3
    assert "error[FC0" in capsys.readouterr().err


def test_other_targets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.py").write_text("x = 1\n")
    assert run_command(["suggest", "plain.py"]) == 2
    assert run_command(["suggest", "missing.ipynb"]) == 4


def test_the_same_notebook_always_gets_the_same_tags(tmp_path: Path) -> None:
    notebook = json.loads(PENGUINS.read_text())
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    (tmp_path / NAME).write_text(json.dumps(notebook))
    command = [sys.executable, "-m", "flowc", "suggest", NAME, "--json"]
    outputs = {
        subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
