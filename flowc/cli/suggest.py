"""`flowc suggest`: tags for a notebook that has none, and a copy of it with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowc import api
from flowc.cli.output import columns, json_option, note, write_json, write_out
from flowc.cli.root import set_root
from flowc.emit.text import printable
from flowc.errors import UsageError
from flowc.target import NotebookFile, PythonFile

if TYPE_CHECKING:
    from flowc.notebook.suggest import CellProposal, StepProposal, Suggestion


@click.command("suggest")
@click.argument("target")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a copy of the notebook with the tags in it.",
)
@json_option
@click.pass_context
def suggest_command(ctx: click.Context, target: str, output: Path | None, as_json: bool) -> None:
    """Suggest where the steps of the notebook TARGET begin, what they are called, and what they are for.

    Steps are cut where few values cross from one to another: a step costs 1, each value that it takes 1, its length
    (cells / 8)². A step that changes from one role to another costs 6 more, one that goes on over a heading 3, one
    with two trainings that could run side by side 6. The cuts that cost least and compile are shown. Cells that have
    a part in the pipeline keep it, and the notebook itself is never changed.
    """
    from flowc.notebook.suggest import suggest_tags, write_copy

    path, root = _notebook(target)
    set_root(ctx, root)
    suggestion = suggest_tags(path, root)
    if output is not None:
        write_copy(path, output, suggestion.tags(), root)
    if as_json:
        write_json(_as_json(suggestion, output))
    else:
        for line in columns(_rows(suggestion)):
            write_out(line)
    _say_diagnostics(suggestion, root)
    if output is not None:
        note(f"written: {output}; 'flowc run {output}' runs it")


def _notebook(text: str) -> tuple[Path, Path]:
    from flowc.notebook.reader import is_percent_notebook

    target = api.load_target(text, Path.cwd())
    match target:
        case NotebookFile(path=path, root=root):
            return path, root
        case PythonFile(path=path, name=None, root=root) if is_percent_notebook(path):
            return path, root
    raise UsageError(f"{text} is no notebook", hint="name an .ipynb file, or a .py file with '# %%' lines")


def _rows(suggestion: Suggestion) -> list[list[str]]:
    steps = {step.cells[0]: step for step in suggestion.steps}
    rows = [["CELL", "ID", "TAGS", "TAKES", "WHY"]]
    for cell in suggestion.cells:
        tags = " ".join((*cell.has, *cell.tags)) or "-"
        takes = _takes(steps[cell.index]) if cell.index in steps else ""
        rows.append([str(cell.index), printable(cell.id), printable(tags), takes, printable(cell.why)])
    return rows


def _takes(step: StepProposal) -> str:
    """Return what crosses the border at which a step begins, by the step that it comes from."""
    producers = dict.fromkeys(taken.step for taken in step.takes)
    parts = (
        ", ".join(taken.name for taken in step.takes if taken.step == producer) + f" of {producer}"
        for producer in producers
    )
    return printable("; ".join(parts)) or "nothing"


def _as_json(suggestion: Suggestion, output: Path | None) -> dict[str, Any]:
    return {
        "notebook": suggestion.notebook.file,
        "cells": [_cell_as_json(cell) for cell in suggestion.cells],
        "steps": [
            {
                "name": step.name,
                "role": step.role,
                "cells": list(step.cells),
                "takes": [{"name": taken.name, "step": taken.step} for taken in step.takes],
            }
            for step in suggestion.steps
        ],
        "diagnostics": [
            diagnostic.model_dump(mode="json", exclude_none=True) for diagnostic in suggestion.diagnostics
        ],
        "written": None if output is None else str(output),
    }


def _cell_as_json(cell: CellProposal) -> dict[str, Any]:
    return {
        "index": cell.index,
        "id": cell.id,
        "has": list(cell.has),
        "suggested": list(cell.tags),
        "step": cell.step,
        "why": cell.why,
    }


def _say_diagnostics(suggestion: Suggestion, root: Path) -> None:
    from flowc.cli.diagnostics import say_diagnostics

    if suggestion.diagnostics:
        say_diagnostics(suggestion.diagnostics, root)
