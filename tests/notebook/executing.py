"""Notebooks run through real workers by the command line, and the executed notebooks that they leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from running import write_cells

from flowc.cli.app import run_command


@dataclass(frozen=True)
class Executed:
    """How a run ended, what it said on stderr, and its executed notebook."""

    code: int
    said: str
    notebook: Any

    def cell(self, index: int) -> Any:
        return self.notebook.cells[index]

    def outputs(self, index: int) -> list[dict[str, Any]]:
        return [dict(output) for output in self.cell(index).outputs]

    def text(self, index: int) -> str:
        """What a cell wrote to its streams."""
        return "".join(output.text for output in self.cell(index).outputs if output.output_type == "stream")


Execute = Callable[..., Executed]


def execute(folder: Path, cells: list[list[str]], *options: str) -> tuple[int, Any]:
    """Run a notebook of (tags, source) cells; return the exit code and the executed notebook, which is valid."""
    (folder / "pyproject.toml").touch()
    path = write_cells(folder, cells)
    code = run_command(["run", str(path), "--workers", "2", *options])
    (written,) = (folder / ".flowc" / "notebooks").glob("*.ipynb")
    notebook = nbformat.read(written, as_version=nbformat.NO_CONVERT)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    return code, notebook
