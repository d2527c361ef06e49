"""The guard: a step that changes in place what others read after it fails, though analysis did not see the change."""

from __future__ import annotations

from pathlib import Path

import pytest
from executing import Execute
from running import write_cells

from flowc.notebook.guard import guards_of
from flowc.notebook.lower import explain_notebook
from flowc.runner import Guard

# The garbage collector knows every list: no analysis of names can see this change.
MAKES = "marked = ['mark', {'k': [1.0]}]"
CHANGES = """import gc
count = len(marked)
for each in gc.get_objects():
    if type(each) is list and len(each) == 2 and type(each[0]) is str and each[0] == 'mark':
        each[1]['k'].append(2.0)"""
READS = "print(marked)"


def test_a_change_that_later_readers_would_miss_is_an_error(run_cells: Execute) -> None:
    executed = run_cells([["step:a", MAKES], ["step:b", CHANGES], ["step:c", READS], ["step:d", READS]])
    assert executed.code == 1
    error = executed.outputs(1)[-1]
    assert error["ename"] == "ChangedInputError"
    assert error["evalue"] == (
        "step 'b' changed 'marked' in place, by cell 1, and 'c', 'd' would read it as it was before: "
        "marked[1]['k'] was length 1: [1.0] and is length 2: [1.0, 2.0]"
    )
    assert "defines:marked" in executed.said


def test_the_cell_that_it_stops_after_is_marked(run_cells: Execute) -> None:
    executed = run_cells(
        [["step:a", MAKES], ["step:b", CHANGES], ["step:c", READS], ["step:b", "print('late')"]]
    )
    assert executed.code == 1
    assert executed.cell(1).metadata.tags == ["step:b", "flowc-failed"]
    assert executed.outputs(3) == []


def test_a_declared_change_is_passed_on(run_cells: Execute) -> None:
    executed = run_cells([["step:a", MAKES], ["step:b defines:marked", CHANGES], ["step:c", READS]])
    assert executed.code == 0, executed.said
    assert executed.text(2) == "['mark', {'k': [1.0, 2.0]}]\n"


def test_a_change_that_nobody_would_miss_is_none_of_its_business(run_cells: Execute) -> None:
    executed = run_cells([["step:a", MAKES], ["step:c", READS], ["step:b", CHANGES]])
    assert executed.code == 0, executed.said


def test_a_change_of_what_has_left_is_an_error_where_somebody_reads_it_later(run_cells: Execute) -> None:
    executed = run_cells([["step:a", MAKES], ["step:c", READS], ["step:a", CHANGES], ["step:d", READS]])
    assert executed.code == 1
    assert "step 'a' changed 'marked' in place, by cell 2, and 'd' would read it" in executed.said


def test_a_change_of_what_has_left_is_nobodys_business_where_nobody_reads_it_later(
    run_cells: Execute,
) -> None:
    executed = run_cells([["step:a", MAKES], ["step:c", READS], ["step:a", CHANGES + "\nprint(marked)"]])
    assert executed.code == 0, executed.said
    assert executed.text(1) == "['mark', {'k': [1.0]}]\n"
    assert executed.text(2) == "['mark', {'k': [1.0, 2.0]}]\n"


@pytest.mark.parametrize("runner", ["local", "inline"])
def test_a_changed_parameter_is_seen_under_every_runner(run_cells: Execute, runner: str) -> None:
    cells = [
        ["parameters", "marked = ['mark', 'x']"],
        ["step:b", CHANGES.replace("[1]['k']", "")],
        ["step:c", READS],
    ]
    executed = run_cells(cells, "--runner", runner)
    assert executed.code == 1
    assert "marked was length 2" in executed.said


def test_guards_end_where_the_step_is_known_to_change_it(tmp_path: Path) -> None:
    cells = [
        ["step:a", "x = [1]\ny = [1]"],
        ["step:b", "print(len(x), len(y))"],
        ["step:c", "print(x)"],
        ["step:b", "x.append(2)\nz = len(y)"],
        ["step:d", "print(x, y)"],
    ]
    pipeline = explain_notebook(write_cells(tmp_path, cells), tmp_path).pipeline
    # b changes x at the end and passes it on to d, so c must leave it as it is. y is to be the same at the end of b.
    assert guards_of(pipeline) == {
        "a": (),
        "b": (Guard(3, "y", "y", ("d",)),),
        "c": (Guard(2, "x", "x", ("b",)),),
        "d": (),
    }


def test_what_the_parameters_cell_computes_on_is_no_change(run_cells: Execute) -> None:
    cells = [
        ["parameters", "names = ['a']\nnames += ['b']"],
        ["step:a", "print(names)"],
        ["step:b", "print(len(names))"],
    ]
    executed = run_cells(cells)
    assert executed.code == 0, executed.said
    assert (executed.text(1), executed.text(2)) == ("['a', 'b']\n", "2\n")


def test_a_step_that_changes_what_the_parameters_cell_computed_on_is_found(run_cells: Execute) -> None:
    marked = "marked = ['mark', 'x']\nmarked += ['y']"
    changes = CHANGES.replace("[1]['k']", "").replace("== 2", "== 3")
    executed = run_cells([["parameters", marked], ["step:b", changes], ["step:c", READS]])
    assert executed.code == 1
    assert "marked was length 3" in executed.said
