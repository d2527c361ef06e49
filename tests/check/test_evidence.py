"""What earlier runs tell of a notebook's tables: columns that a step reads in vain, and runs that differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from flowc.check.evidence import Evidence, changes
from flowc.cli.app import run_command

Notebook = Callable[..., Path]
READ = "import pandas as pd\ntrips = pd.DataFrame({'fare': [1.0, 2.0], 'tips': [0, 1]})"
MORE = "trips = pd.DataFrame({'fare': [1, 2], 'miles': [3.0, 4.0]})"


@pytest.fixture
def notebook(tmp_path: Path) -> Notebook:
    (tmp_path / "pyproject.toml").touch()

    def write(*steps: str) -> Path:
        cells = [
            {
                "cell_type": "code",
                "id": f"c{index}",
                "metadata": {"tags": [f"step:s{index}"]},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
            for index, source in enumerate(steps)
        ]
        path = tmp_path / "trips.ipynb"
        path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
        return path

    return write


def warnings(path: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, int, int]]:
    """Check a notebook; return each warning's first words, and where it stands."""
    capsys.readouterr()
    assert run_command(["check", str(path), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return [
        (each["message"].split(", which")[0], each["source"]["cell"], each["source"]["column"])
        for each in found
    ]


READS = {
    "a name that was mistyped": ("x = trips['fares'].sum()", [("fares", 11)]),
    "one of several": ("x = trips[['fare', 'tip']]", [("tip", 20)]),
    "twice": ("x = trips['a']\ny = trips['a']", [("a", 11)]),
    "one that is there": ("x = trips['fare'] + trips['tips']", []),
    "one that the step makes": ("trips['total'] = trips['fare']\nx = trips['total']", []),
    "one that it makes of a missing one": ("trips['total'] = trips['fars']", [("fars", 24)]),
    "after the name is bound anew": ("trips = trips.assign(a=1)\nx = trips['a']", []),
    "after a change in place": ("trips.rename(columns={'fare': 'a'}, inplace=True)\nx = trips['a']", []),
    "after an insert": ("trips.insert(0, 'a', 1)\nx = trips['a']", []),
    "after loc gave one": ("trips.loc[:, 'a'] = 1\nx = trips['a']", []),
    "after a function had it": ("def f(t): t['a'] = 1\nf(trips)\nx = trips['a']", []),
    "where it is asked for first": ("x = trips['a'] if 'a' in trips else 0", []),
    "where a branch asks": ("if 'a' in trips.columns:\n    x = trips['a']", []),
    "in a filter": ("x = trips[trips['tip'] > 0]", [("tip", 17)]),
    "by a variable": ("name = 'a'\nx = trips[name]", []),
    "in an alias": ("t = trips\nt['a'] = 1\nx = trips['a']", []),
    "in a walrus": ("print(trips := trips.assign(a=1))\nx = trips['a']", []),
}


@pytest.mark.parametrize("name", READS)
def test_columns_that_a_step_reads(notebook: Notebook, capsys: pytest.CaptureFixture[str], name: str) -> None:
    source, expected = READS[name]
    assert run_command(["run", str(notebook(READ, "print(trips['fare'])")), "--runner", "inline"]) == 0
    found = warnings(notebook(READ, source), capsys)
    assert found == [(f"step 's1' reads column '{column}' of 'trips'", 1, at) for column, at in expected]


def test_no_word_of_columns_where_what_makes_the_table_was_edited(
    notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["run", str(notebook(READ, "print(trips['fare'])")), "--runner", "inline"]) == 0
    assert warnings(notebook(READ.replace("tips", "tip"), "x = trips['tip']"), capsys) == []


def test_a_run_that_differs_says_what_changed(notebook: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", str(notebook(READ, "x = trips['fare']")), "--runner", "inline"]) == 0
    assert "differs" not in capsys.readouterr().err
    assert (
        run_command(["run", str(notebook(READ + "\n" + MORE, "x = trips['fare']")), "--runner", "inline"])
        == 0
    )
    said = capsys.readouterr().err
    assert "note: what step 's0' gives as 'trips' differs from run trips-" in said
    lines = [line.strip() for line in said.splitlines() if line.startswith("  column")]
    assert lines == [
        "column 'tips' went",
        "column 'miles' (double) appeared",
        "column 'fare' is int64, and was double",
        "column 'value' is int64, and was double",  # the series that step s1 takes from it
    ]


def test_a_change_of_type() -> None:
    before = Evidence("pandas.core.frame:DataFrame", {"a": "int64"}, "r")
    assert changes(before, Evidence("builtins:list", None, "s")) == ["is a list, and was a DataFrame"]
    assert changes(before, before) == []
