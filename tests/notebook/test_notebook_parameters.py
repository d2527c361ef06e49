"""Parameters of a notebook, given on the command line to real workers."""

from __future__ import annotations

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
