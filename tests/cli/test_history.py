"""`flowc runs`, `flowc show`, `flowc logs`: what is known of runs afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import SUMS, Flowc


@pytest.fixture
def run(flowc: Flowc, text: Path) -> str:
    """A run in which `gate` failed."""
    ran = flowc("run", SUMS, "--runner", "inline", "--store", ".flowc", "--text", text, "--least", 7)
    assert ran.code == 1
    return ran.out.split()[0]


def test_show_tells_all_of_a_run(flowc: Flowc, run: str, text: Path) -> None:
    shown = flowc("show", "--json").json()
    assert (shown["run"], shown["pipeline"], shown["state"]) == (run, "sums", "FAILED")
    assert shown["target"] == "tests/cli/samples/sums.py"
    assert shown["counts"] == {"COMPLETE": 2, "FAILED": 1, "SKIPPED": 1}
    assert shown["parameters"]["text"] == str(text)
    assert [(task["name"], task["role"], task["state"]) for task in shown["tasks"]] == [
        ("lengths", None, "COMPLETE"),
        ("total", "evaluate", "COMPLETE"),
        ("gate", None, "FAILED"),
        ("crash", None, "SKIPPED"),
    ]
    (attempt,) = shown["tasks"][2]["attempts"]
    assert attempt["error"]["message"] == "the total 6 is below 7"
    assert attempt["started"] <= attempt["ended"]
    numbers, added = shown["artifacts"]
    assert (numbers["type"], added["type"]) == ("list[int]", "Metrics")
    assert numbers["producer"] == {"task": "lengths", "port": "output"}
    assert numbers["consumers"] == [{"task": "total", "port": "numbers"}]
    assert len(numbers["digest"]) == 64
    assert shown["outputs"] == {"added": {"artifact": added["id"], "digest": added["digest"]}}


def test_show_as_text(flowc: Flowc, run: str) -> None:
    shown = flowc("show", run[:-2]).out
    lines = [line.split() for line in shown.splitlines()]
    assert lines[0] == ["run", run]
    assert ["least", "7.0"] in lines
    assert ["rounding", '"up"'] in lines
    gate = next(line for line in lines if line[:2] == ["gate", "FAILED"])
    assert " ".join(gate[5:]) == "the total 6 is below 7"
    assert any(line[:2] == ["lengths.output", "list[int]"] and line[-1] == "total.numbers" for line in lines)


def test_runs_are_listed(flowc: Flowc, run: str) -> None:
    (listed,) = flowc("runs").out.splitlines()
    assert listed.split()[:3] == [run, "sums", "FAILED"]
    assert listed.endswith("2 COMPLETE, 1 FAILED, 1 SKIPPED")
    (as_json,) = flowc("runs", "--json").json()
    assert as_json["run"] == run
    assert flowc("runs", "--pipeline", "other").out == ""


def test_logs_have_what_was_printed(flowc: Flowc, run: str) -> None:
    assert flowc("logs", run, "lengths").out == "reading text.txt\n"
    assert flowc("logs", "latest").out.splitlines()[:2] == [
        "--- lengths (attempt 1, COMPLETE)",
        "reading text.txt",
    ]
    (entry,) = flowc("logs", run, "lengths", "--json").json()
    assert (entry["task"], entry["attempt"], entry["text"]) == ("lengths", 1, "reading text.txt\n")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("show", "nope"), "no run 'nope'"),
        (("logs", "latest", "length"), "did you mean 'lengths'?"),
        (("logs", "latest", "lengths", "--attempt", 2), "'lengths' has no attempt 2; it has 1"),
        (("logs", "latest", "crash"), "'crash' was not started: needs 'gate', which failed"),
    ],
)
@pytest.mark.usefixtures("run")
def test_what_is_not_there_is_not_found(flowc: Flowc, args: tuple[object, ...], said: str) -> None:
    refused = flowc(*args)
    assert (refused.code, refused.out) == (4, "")
    assert said in refused.err


def test_nothing_has_run_yet(flowc: Flowc, tmp_path: Path) -> None:
    for args in (("runs",), ("show",), ("logs", "latest")):
        assert flowc(*args).code == 4
    assert not (tmp_path / ".flowc").exists()
