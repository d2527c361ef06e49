"""Why each edge of a compiled notebook is there, as notes: what `flowc check --explain` says of a notebook."""

from __future__ import annotations

from pathlib import Path

from flowc.diagnostics import Diagnostic
from flowc.notebook.lower import compile_cells
from flowc.notebook.model import Notebook, diagnose
from flowc.notebook.reader import read_notebook
from flowc.notebook.steps import Edge


def edge_notes(path: Path, root: Path) -> list[Diagnostic]:
    """Return a note for each edge: the variable, the line that made it so, the line that needs it.

    Raises CompileError where the notebook does not compile.
    """
    notebook = read_notebook(path, root)
    return [_note(notebook, edge) for edge in compile_cells(notebook).edges]


def _note(notebook: Notebook, edge: Edge) -> Diagnostic:
    through = f" (through '{edge.via}')" if edge.via else ""
    what = "it comes after it" if edge.name is None else f"it reads '{edge.name}'{through}"
    made = edge.why if edge.name is None else f"'{edge.name}' {edge.why} here"
    defined = notebook.place(edge.defined.cell, edge.defined.line, edge.defined.column)
    return diagnose(
        "FC100",
        f"step '{edge.consumer}' needs '{edge.producer}': {what}",
        notebook.place(edge.read.cell, edge.read.line, edge.read.column),
        severity="note",
        related=((made, defined),),
    )
