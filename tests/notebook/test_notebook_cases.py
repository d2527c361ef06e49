"""The notebook compiler's cases: tables of small notebooks in tests/cases/notebook.

A case states the edges, the diagnostics and what the steps print, worked out by hand. What they print is also
compared with a plain run of the notebook from top to bottom.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from running import run_pipeline, run_plainly, write_cells

from flowc.errors import CompileError
from flowc.notebook.lower import Compiled, explain_notebook

FOLDER = Path(__file__).parent.parent / "cases" / "notebook"


def _cases() -> list[Any]:
    found = []
    for file in sorted(FOLDER.glob("*.toml")):
        cases = tomllib.loads(file.read_text())["case"]
        found += [pytest.param(case, id=f"{file.stem}: {case['name']}") for case in cases]
    return found


def _edges(compiled: Compiled) -> list[str]:
    return sorted(
        f"{edge.producer} -> {edge.consumer}: {edge.name}"
        if edge.name
        else f"{edge.producer} -> {edge.consumer}"
        for edge in compiled.edges
    )


@pytest.mark.parametrize("case", _cases())
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    path = write_cells(tmp_path, case["cells"])
    if "refused" in case:
        with pytest.raises(CompileError) as raised:
            explain_notebook(path, tmp_path)
        errors = [problem for problem in raised.value.diagnostics if problem.severity == "error"]
        assert sorted({problem.code for problem in errors}) == case["refused"]
        assert [problem.source.cell for problem in errors if problem.source][
            : len(case.get("at", []))
        ] == case.get("at", [])
        hints = " ".join(problem.hint or "" for problem in errors)
        assert all(hint in hints for hint in case.get("hints", []))
        return
    compiled = explain_notebook(path, tmp_path)
    warnings = sorted({problem.code for problem in compiled.diagnostics if problem.severity == "warning"})
    assert warnings == case.get("warnings", [])
    if "notes" in case:
        notes = {problem.code for problem in compiled.diagnostics if problem.severity == "note"}
        assert sorted(notes) == case["notes"]
    if "edges" in case:
        assert _edges(compiled) == sorted(case["edges"])
    if "tasks" in case:
        assert [task.name for task in compiled.pipeline.tasks] == case["tasks"]
    for given in [{}, *case.get("given", [])]:
        piped = run_pipeline(compiled.pipeline, tmp_path, given)
        plain = run_plainly(path, compiled.pipeline, given)
        assert not piped.errors or plain.errors, piped.errors
        assert piped.printed == plain.printed
        if not given and "prints" in case:
            assert {name: text.strip() for name, text in piped.printed.items() if text} == case["prints"]
