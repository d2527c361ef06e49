"""A notebook run through real workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from executing import Execute, Executed, execute


@pytest.fixture
def run_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Execute:
    """Return a function from (tags, source) cells, and options of `flowc run`, to what came of them."""
    monkeypatch.chdir(tmp_path)

    def run(cells: list[list[str]], *options: str) -> Executed:
        code, notebook = execute(tmp_path, cells, *options)
        return Executed(code, capsys.readouterr().err, notebook)

    return run
