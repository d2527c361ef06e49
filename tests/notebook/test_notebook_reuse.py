"""Notebooks run again: what an edit of a cell makes run, and how a run that failed goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from running import write_cells

from flowc.cli.app import run_command

CELLS = [
    ["parameters", "scale = 3"],
    ["imports", "import helper\nfrom pathlib import Path"],
    [
        "step:read",
        "numbers = [int(word) for word in Path('numbers.txt').read_text().split()]\nprint('reading')",
    ],
    ["step:scaled", "scaled = [number * scale for number in numbers]"],
    ["step:total", "total = helper.add(scaled)\nprint('total', total)"],
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "numbers.txt").write_text("1 2 3")
    (tmp_path / "helper.py").write_text("def add(numbers):\n    return sum(numbers)\n")
    return tmp_path


def run(
    folder: Path, cells: list[list[str]], capsys: pytest.CaptureFixture[str], *options: str
) -> dict[str, Any]:
    """Run the notebook in new worker processes; return what `--json` says."""
    path = write_cells(folder, cells)
    run_command(["run", str(path), "--json", *options])
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def states(result: dict[str, Any]) -> dict[str, str]:
    return {task["name"]: task["state"] for task in result["tasks"]}


def ran(result: dict[str, Any]) -> list[str]:
    return [name for name, state in states(result).items() if state == "COMPLETE"]


def edited(index: int, source: str) -> list[list[str]]:
    return [[tags, source if at == index else old] for at, (tags, old) in enumerate(CELLS)]


def test_an_edit_of_a_cell_runs_its_step_and_what_that_changes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(run(folder, CELLS, capsys)) == ["read", "scaled", "total"]
    assert ran(run(folder, CELLS, capsys)) == []
    comment = edited(3, "# each\nscaled = [number * scale for number in numbers]")
    assert ran(run(folder, comment, capsys)) == []
    same = edited(3, "scaled = [scale * number for number in numbers]")
    assert ran(run(folder, same, capsys)) == ["scaled"]
    other = edited(3, "scaled = [number + scale for number in numbers]")
    assert ran(run(folder, other, capsys)) == ["scaled", "total"]
    assert ran(run(folder, CELLS, capsys, "--scale", "4")) == ["scaled", "total"]


def test_a_cell_more_is_no_edit_of_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, CELLS, capsys)
    more = [["step:hello", "print('hello')"], *CELLS]
    result = run(folder, more, capsys)
    assert ran(result) == ["hello"]
    shown = json.loads(Path(result["notebook"]).read_text())["cells"]
    texts = ["".join(output["text"]) for cell in shown for output in cell["outputs"]]
    assert texts == ["hello\n", "reading\n", "total 18\n"]


def test_a_file_that_a_cell_reads_is_an_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, CELLS, capsys)
    (folder / "numbers.txt").write_text("1 2 4")
    assert ran(run(folder, CELLS, capsys)) == ["read", "scaled", "total"]


def test_a_helper_module_beside_the_notebook_is_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, CELLS, capsys)
    (folder / "helper.py").write_text("def add(numbers):\n    # a comment\n    return sum(numbers)\n")
    assert ran(run(folder, CELLS, capsys)) == []
    (folder / "helper.py").write_text("def add(numbers):\n    return sum(numbers) + 1\n")
    result = run(folder, CELLS, capsys)
    assert ran(result) == ["total"]


def test_a_failed_step_is_begun_again_by_resume_and_nothing_else(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """N25: the step fails at its second of three cells; the third never runs; resume restarts that step."""
    cells = [
        ["step:first cache:off", "import os\nfirst = 1\nprint('first')"],
        ["step:second", "print('one')"],
        ["", "with open('there.txt') as file:\n    text = file.read()"],
        ["", "print('three', first, text)"],
        ["step:third", "third = first + 1"],
    ]
    failed = run(folder, cells, capsys)
    assert states(failed) == {"first": "COMPLETE", "second": "FAILED", "third": "COMPLETE"}
    (folder / "there.txt").write_text("found")
    resumed = run(folder, cells, capsys, "--resume", failed["run"][:-1])
    assert states(resumed) == {"first": "CACHED", "second": "COMPLETE", "third": "CACHED"}
    shown = json.loads(Path(resumed["notebook"]).read_text())["cells"]
    texts = ["".join(output["text"]) for cell in shown for output in cell["outputs"]]
    assert texts == ["first\n", "one\n", "three 1 found\n"]
    assert states(run(folder, cells, capsys)) == {"first": "COMPLETE", "second": "CACHED", "third": "CACHED"}
