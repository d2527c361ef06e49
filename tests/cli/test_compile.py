"""`flowc check`, `flowc compile`, `flowc graph`, and what can be a target."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import SAMPLES, SUMS, Flowc

from flowc.ir.json import load_pipeline

TWO = SAMPLES / "two.py"


def test_check_finds_everything(flowc: Flowc) -> None:
    found = flowc("check", f"{TWO}::wrong", "--format", "json")
    assert found.code == 3
    assert [(item["code"], item["source"]["line"]) for item in found.json()] == [("FC301", 23), ("FC301", 24)]
    shown = flowc("check", f"{TWO}::wrong")
    assert (shown.code, shown.err) == (3, "")
    assert "  --> tests/cli/samples/two.py:23" in shown.out
    assert "23 |     text(number())\n   |     ^^^^^^^^^^^^^^\n" in shown.out


def test_check_of_a_sound_pipeline_is_quiet(flowc: Flowc) -> None:
    sound = flowc("check", f"{TWO}::first")
    assert (sound.code, sound.out) == (0, "")
    assert flowc("check", f"{TWO}::first", "--format", "json").json() == []


def test_run_shows_the_diagnostics_before_anything_else(flowc: Flowc, tmp_path: Path) -> None:
    refused = flowc("run", f"{TWO}::wrong", "--no-such-option")
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.count("error[FC301]") == 2
    assert not (tmp_path / ".flowc").exists()


@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        ("sums.pi", 4, "no such target: sums.pi\nhint: did you mean 'sums.py'?"),
        ("sums", 4, "no such target: sums\nhint: did you mean 'sums.py'?"),
        ("text.txt", 4, "text.txt is no pipeline\nhint: a target is FILE.py"),
        (".", 4, ". is a folder\nhint: name a file in it: bad.ipynb, bad.json, empty.py, own.json, sums.py"),
        ("nowhere/sums.py", 4, "there is no folder "),
        ("sums.py::sum", 4, "did you mean 'sums'?"),
        ("own.json::x", 2, "own.json holds one pipeline only"),
        (f"{TWO}", 4, "holds 2 pipelines: first, wrong"),
        ("no_such_module:x", 4, "no module named 'no_such_module'"),
        ("empty.py", 4, "empty.py holds no pipeline"),
        ("bad.json", 3, "error[FC001] not JSON"),
        ("bad.ipynb", 3, "error[FC010] not JSON"),
        ("own.json", 3, "error[FC002] this JSON is not a compiled pipeline"),
    ],
)
def test_targets_that_are_no_pipeline(
    flowc: Flowc, tmp_path: Path, target: str, code: int, said: str
) -> None:
    (tmp_path / "sums.py").symlink_to(SUMS)
    (tmp_path / "text.txt").write_text("text")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "bad.ipynb").write_text("{")
    (tmp_path / "own.json").write_text("{}")
    refused = flowc("check", target)
    assert refused.code == code, refused.err
    assert said in refused.err + refused.out


def test_a_module_of_the_current_project_is_a_target(flowc: Flowc, tmp_path: Path) -> None:
    (tmp_path / "in_the_project.py").write_text(
        "from flowc import component, pipeline\n"
        "@component\ndef one() -> int: return 1\n"
        "@pipeline\ndef ones(): return one()\n"
    )
    shown = flowc("graph", "in_the_project:ones", "--format", "text")
    assert (shown.code, shown.out.splitlines()[0]) == (0, "pipeline ones")


def test_a_percent_file_is_a_notebook(flowc: Flowc, tmp_path: Path) -> None:
    (tmp_path / "cells.py").write_text(
        "# %%\n#| flowc: step:one\nx = 1\n\n# %%\n#| flowc: step:two\ny = x + 1\n"
    )
    shown = flowc("graph", "cells.py", "--format", "text")
    assert shown.code == 0, shown.err
    assert "task two: two\n    x <- one.x: Any" in shown.out


def test_compile_writes_the_file_as_a_whole(flowc: Flowc, tmp_path: Path) -> None:
    assert flowc("compile", SUMS, "-o", "sums.json").out == ""
    assert load_pipeline(tmp_path / "sums.json").name == "sums"
    assert (tmp_path / "sums.json").read_text() == flowc("compile", SUMS).out
    assert flowc("compile", f"{TWO}::wrong", "-o", "sums.json").code == 3
    assert load_pipeline(tmp_path / "sums.json").name == "sums"
    refused = flowc("compile", SUMS, "-o", "nowhere/sums.json")
    assert refused.code == 2
    assert "can't write nowhere/sums.json: no such file or directory" in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pyproject.toml", "sums.json"]


def test_graph_of_ir_needs_no_code(flowc: Flowc, tmp_path: Path) -> None:
    data = json.loads(flowc("compile", SUMS).out)
    data["modules"] = {"gone": "gone.py"}
    (tmp_path / "sums.json").write_text(json.dumps(data))
    drawn = flowc("graph", "sums.json")
    assert (drawn.code, drawn.out) == (0, flowc("graph", SUMS).out)
