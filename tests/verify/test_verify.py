"""`flowc verify`: real workers against a real kernel."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flowc.cli.app import run_command
from flowc.ir import Pipeline
from flowc.notebook.lower import explain_notebook
from flowc.verify.checks import Check, Moment, checks_of

EXAMPLES = Path(__file__).parents[2] / "examples"

Verify = Callable[..., tuple[int, Any, str]]


def _write(folder: Path, cells: list[tuple[str, str]]) -> Path:
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {
                "cell_type": "code",
                "id": f"c{index}",
                "metadata": {"tags": tags.split()},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
            for index, (tags, source) in enumerate(cells)
        ],
    }
    path = folder / "verified.ipynb"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Verify:
    """Return a function from cells, and options of `flowc verify`, to exit code, JSON and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()

    def run(cells: list[tuple[str, str]], *options: str) -> tuple[int, Any, str]:
        code = run_command(["verify", str(_write(tmp_path, cells)), "--json", *options])
        written = capsys.readouterr()
        return code, json.loads(written.out), written.err

    return run


def _verdicts(report: Any) -> dict[str, str]:
    """Return what was found of values as they were given or made, by name."""
    first = (row for row in report["compared"] if row["occasion"] in ("given", "made"))
    return {row["name"]: row["verdict"] for row in first}


@pytest.mark.parametrize(
    ("example", "metrics", "pictures"),
    [
        ("penguins", {"accuracies", "best", "model", "measured", "trees"}, set()),
        ("churn", {"accuracies", "mean_chance", "threshold", "wish"}, {"figure", "axes"}),
    ],
)
def test_it_holds_on_the_examples(
    example: str,
    metrics: set[str],
    pictures: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(EXAMPLES / example, tmp_path / example)
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    code = run_command(["verify", f"{example}/{example}.ipynb", "--json"])
    written = capsys.readouterr()
    assert code == 0, written.err
    report = json.loads(written.out)
    assert {row["name"] for row in report["compared"] if row["verdict"] != "same"} == pictures
    assert metrics <= _verdicts(report).keys()


DEFINITIONS = """class Kind(enum.Enum):
    A = 1
    B = 2

class Box:
    def __init__(self, held):
        self.held = held"""
PARAMETERS = """n: int = 3
kind: Kind = Kind.A
twice = n * 2; s = 'it\\'s'"""
MAKE = """%matplotlib inline
box = Box({'k': np.array([1.0, np.nan, n])})
chosen = kind
both = twice + n"""
ALSO_MAKE = """!pip install nothing==1.0
lines = !echo line
frame = pd.DataFrame({'a': [n, twice], 'b': [None, 'x']})"""
USE = """same = chosen is Kind.B, isinstance(box, Box), both, s
total = float(box.held['k'][2])
print(frame, lines)"""


def test_values_of_all_kinds_hold_with_given_parameters(verify: Verify) -> None:
    cells = [
        ("imports", "import enum\nimport numpy as np\nimport pandas as pd"),
        ("functions", DEFINITIONS),
        ("parameters", PARAMETERS),
        ("step:make", MAKE),
        ("", ALSO_MAKE),
        ("step:use", USE),
        ("skip", "1 / 0"),
    ]
    code, report, said = verify(cells, "--n", "5", "--kind", "B", "-p", "s=other")
    assert code == 0, said
    assert set(_verdicts(report).values()) == {"same"}
    assert {"box", "chosen", "both", "frame", "lines", "same", "total"} <= _verdicts(report).keys()


def test_the_first_difference_is_shown_with_cell_and_variable(verify: Verify) -> None:
    code, report, said = verify(
        [
            ("step:a", "import os\nfixed = 1\nplace = {'pid': [0, os.getpid()]}"),
            ("step:b", "fixed, place\nlater = os.getpid()"),
        ]
    )
    assert code == 1
    assert not report["holds"]
    assert _verdicts(report) == {"fixed": "same", "place": "different", "later": "different"}
    row = next(row for row in report["compared"] if row["name"] == "place")
    assert row["kernel"] != row["pipeline"]
    assert "first difference: 'place' of step 'a', after cell 0 (id c0), which makes it\n" in said
    where = "  where       place['pid'][1]\n"
    assert f"{where}  one kernel  {row['kernel']}\n  pipeline    {row['pipeline']}\n" in said


CHANGE = """import gc
import sys
if 'ipykernel' in sys.modules:
    [each.append(3) for each in gc.get_objects() if type(each) is list and each == [1, 2]]"""


def test_a_change_on_the_way_to_a_reader_is_a_difference(verify: Verify) -> None:
    # No analysis sees it, and in the worker nothing happens, so that no guard does either.
    code, report, said = verify(
        [("step:a", "values = [1, 2]"), ("step:b", CHANGE), ("step:c", "print(values)")]
    )
    assert code == 1
    found = [(row["reader"], row["verdict"]) for row in report["compared"] if row["name"] == "values"]
    assert found == [(None, "same"), ("c", "different"), (None, "different")]
    assert "'values' of step 'a', before cell 2 (id c2) of step 'c', which reads it" in said
    assert (
        "it was the same after cell 0, and some cell changes it in a way not seen: tag that cell 'defines:values'"
        in said
    )
    assert "length 3: [1, 2, 3]" in said


OWN = """import enum
from dataclasses import dataclass

class Mood(enum.Enum):
    GOOD = 1

@dataclass
class Leaf:
    weight: float
    mood: Mood = Mood.GOOD

class Tree:
    __slots__ = ("leaves", "root", "made_by")
    def __init__(self, leaves):
        self.leaves, self.root = leaves, self"""
GROW = """import os
leaf = Leaf(float('nan'))
tree = Tree([leaf, Leaf(2.0)])
grown_here = Tree([Leaf(float(os.getpid()))])
first = tree.leaves[0]"""


def test_instances_of_the_notebook_s_classes_are_compared_by_what_they_hold(verify: Verify) -> None:
    code, report, said = verify(
        [("functions", OWN), ("step:grow", GROW), ("step:use", "weight = first.weight")]
    )
    assert code == 1
    assert _verdicts(report) == {
        "leaf": "same",
        "tree": "same",
        "grown_here": "different",
        "first": "same",
        "weight": "same",
    }
    assert "  where       grown_here.leaves[0].weight\n" in said


def test_two_measurements_are_not_compared(verify: Verify) -> None:
    cells = [
        ("step:a", "timing = %timeit -o -q -n 2 -r 1 sum([1, 2])\nn = timing.loops"),
        ("step:b", "m = timing.loops + n"),
    ]
    code, report, said = verify(cells)
    assert code == 0, said
    assert _verdicts(report)["m"] == "same"


def test_what_is_not_kept_is_listed_and_not_counted_as_the_same(verify: Verify) -> None:
    source = "import threading\nlock = threading.Lock()\nnumber = 1\nfile = open('verified.ipynb')"
    code, report, _ = verify([("step:a", source)])
    assert code == 0
    assert _verdicts(report)["number"] == "same"
    reasons = {row["name"]: row["reason"] for row in report["compared"] if row["verdict"] == "not compared"}
    assert reasons == {}


def test_parameters_and_all_that_is_left_at_the_end_are_compared(verify: Verify) -> None:
    cells = [
        ("parameters", "from pathlib import Path\nrate: float = 1.0\nfile = Path('data.csv')\nn = 2"),
        ("step:a", "import os\ninner = [n, os.getpid()]\npassed = n * rate"),
        ("step:b", "total = passed + 1; name = file.name"),
    ]
    code, report, said = verify(cells)
    found = {(row["name"], row["occasion"]): row["verdict"] for row in report["compared"]}
    assert found == {
        ("rate", "given"): "same",
        ("file", "given"): "same",
        ("n", "given"): "same",
        ("inner", "made"): "different",
        ("inner", "end"): "different",
        ("passed", "made"): "same",
        ("passed", "end"): "same",
        ("total", "made"): "same",
        ("name", "made"): "same",
    }
    assert code == 1
    assert "first difference: 'inner' of step 'a', after cell 1 (id c1), which makes it\n" in said


def test_a_parameter_that_the_pipeline_takes_in_another_form_is_a_difference(verify: Verify) -> None:
    cells = [
        ("parameters", "from pathlib import Path\nfile: Path = 'data.csv'"),
        ("step:a", "kind = type(file).__name__"),
    ]
    code, report, said = verify(cells)
    assert (code, _verdicts(report)) == (1, {"file": "different", "kind": "different"})
    assert "first difference: parameter 'file', after cell 0 (id c0), which sets it\n" in said
    assert "write it as its annotation has it" in said


def test_a_whole_number_for_a_float_is_given_as_it_is_written(verify: Verify) -> None:
    code, report, _ = verify([("parameters", "rate: float = 1"), ("step:a", "twice = rate * 2")])
    assert (code, _verdicts(report)) == (0, {"rate": "same", "twice": "same"})


def test_a_cell_that_fails_in_the_kernel_alone_is_no_success(verify: Verify) -> None:
    code, report, said = verify(
        [
            ("step:a", "import sys\nx = 1"),
            ("step:b", "y = x + 1\nif 'ipykernel' in sys.modules:\n    raise ValueError('only here')"),
        ]
    )
    assert code == 1
    assert report["failure"] == {"cell": 1, "message": "cell 1 fails in the kernel: ValueError: only here"}
    assert _verdicts(report) == {"x": "same", "y": "not compared"}
    assert "error: cell 1 fails in the kernel: ValueError: only here" in said


def test_a_pipeline_that_fails_is_no_success(verify: Verify) -> None:
    code, report, said = verify([("step:a", "1 / 0")])
    assert (code, report["state"], report["compared"]) == (1, "FAILED", [])
    assert "ZeroDivisionError" in said


def test_only_notebooks_can_be_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = "from flowc import *\n@component\ndef a() -> int:\n    return 1\n@pipeline\ndef p():\n    a()\n"
    (tmp_path / "job_to_verify.py").write_text(source)
    assert run_command(["verify", "job_to_verify.py"]) == 2
    assert "job_to_verify.py is no notebook" in capsys.readouterr().err


def _checks(folder: Path, cells: list[tuple[str, str]]) -> list[Check]:
    explained = explain_notebook(_write(folder, cells), folder, keep_all=True)
    pipeline: Pipeline = explained.pipeline
    return checks_of(pipeline, explained.edges, range(len(cells)))


def test_a_version_is_compared_when_it_is_complete_and_when_it_is_read(tmp_path: Path) -> None:
    # The cells of step a are 0 and 3; b changes x between them, and passes it on.
    cells = [
        ("step:a", "x = [1]\nz = 1"),
        ("step:b", "x.append(2)"),
        ("step:c", "print(x)"),
        ("step:a", "y = z + 1"),
        ("step:c", "result = x, y"),
    ]
    assert _checks(tmp_path, cells) == [
        Check("a", "x@0", "x", Moment(0, after=True)),
        Check("a", "z", "z", Moment(0, after=True)),
        Check("b", "x", "x", Moment(1, after=True)),
        Check("a", "y", "y", Moment(3, after=True)),
        Check("c", "result", "result", Moment(4, after=True)),
        Check("a", "y", "y", Moment(4, after=True), "end"),
        Check("b", "x", "x", Moment(4, after=True), "end"),
        Check("a", "z", "z", Moment(4, after=True), "end"),
    ]
