"""Parameters of a notebook, given on the command line to real workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from executing import Execute

MODES = """\
from enum import Enum
class Mode(Enum):
    FAST = 1
    SLOW = 2
rounds = 2
mode: Mode = Mode.SLOW
price = mode.value * rounds
"""


@pytest.mark.parametrize(
    ("options", "shown"),
    [((), "Mode.SLOW False 4\n"), (("--mode", "FAST", "--rounds", "5"), "Mode.FAST True 5\n")],
)
def test_a_member_of_an_enum_that_the_parameters_cell_defines(
    run_cells: Execute, options: tuple[str, ...], shown: str
) -> None:
    cells = [["parameters", MODES], ["step:a", "print(mode, mode is Mode.FAST, price)"]]
    executed = run_cells(cells, *options)
    assert executed.code == 0, executed.said
    assert executed.text(-1) == shown


@pytest.mark.parametrize("runner", ["local", "inline"])
def test_a_path_is_as_it_is_written_and_finds_its_file(run_cells: Execute, runner: str) -> None:
    cells = [
        [
            "parameters",
            "from pathlib import Path\nfile = Path('data') / 'a.txt'\nmore: list[Path] = [Path('b')]",
        ],
        ["step:a", "file.parent.mkdir(exist_ok=True)\nfile.write_text('found')\nprint(file, more)"],
        ["step:b", "print(file.read_text())"],
    ]
    executed = run_cells(cells, "--runner", runner)
    assert executed.code == 0, executed.said
    assert (executed.text(1), executed.text(2)) == ("data/a.txt [PosixPath('b')]\n", "found\n")


def test_a_path_that_is_given_is_where_it_was_given(run_cells: Execute, tmp_path: Path) -> None:
    cells = [["parameters", "from pathlib import Path\nfile = Path('a.txt')"], ["step:a", "print(file)"]]
    executed = run_cells(cells, "--file", "b.txt")
    assert executed.text(2) == f"{tmp_path / 'b.txt'}\n"


def test_a_whole_number_where_a_float_may_stand_is_as_it_is_written(run_cells: Execute) -> None:
    cells = [
        ["parameters", "rate: float = 1\nrates: list[float] = [1, 2.5]\nlimits: dict[str, float] = {'a': 3}"],
        ["step:a", "print(rate, rates, limits)"],
    ]
    assert run_cells(cells).text(1) == "1 [1, 2.5] {'a': 3}\n"


def test_a_whole_number_that_is_given_for_a_float_is_one(run_cells: Execute) -> None:
    cells = [["parameters", "rate: float = 1"], ["step:a", "print(rate)"]]
    assert run_cells(cells, "--rate", "2").text(2) == "2.0\n"
