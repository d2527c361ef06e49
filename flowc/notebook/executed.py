"""The notebook of a run, with what its steps showed, as if one kernel had run it from top to bottom."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from flowc.errors import FlowcError, TaskError
from flowc.ir import Component, NotebookCode, Pipeline
from flowc.notebook.model import Notebook, NotebookCell
from flowc.notebook.reader import read_notebook
from flowc.notebook.tags import read_tags

FAILED_TAG = "flowc-failed"
State = Literal["not finished", "done", "failed"]
_INJECTED_TAG = "injected-parameters"
_Output = dict[str, Any]


@dataclass(slots=True)
class _CellRun:
    """A cell as one step ran it."""

    outputs: list[_Output] = field(default_factory=list)
    ended: bool = False
    failed: bool = False


class ExecutedNotebook:
    """A notebook that is filled in as steps end.

    An output of a shared cell is that of the first step, in the notebook's order, that ran the cell. Parameters that
    were given stand in a cell of their own below the notebook's, as papermill has it.
    """

    def __init__(self, pipeline: Pipeline, root: Path, run: str, given: Mapping[str, Any]) -> None:
        notebook, self._document = _read(pipeline, root)
        self._indices = [cell.index for cell in notebook.cells]
        self._document.setdefault("metadata", {})["flowc"] = {"run": run, "notebook": notebook.file}
        self._given = given
        self._parameter_cells = {
            p.source.cell for p in pipeline.parameters if p.source and p.source.cell is not None
        }
        self._steps = {task.name: _cells(pipeline.component_of(task)) for task in pipeline.tasks}
        self._programs = {task.name: _program(pipeline.component_of(task)) for task in pipeline.tasks}
        tags, _ = read_tags(notebook)
        self._runnable = [
            cell.index
            for cell in notebook.cells
            if cell.kind == "code" and cell.source.strip() and tags[cell.index].part != "skip"
        ]
        self._runs: dict[str, dict[int, _CellRun]] = {}
        self._states: dict[str, State] = dict.fromkeys(self._steps, "not finished")

    def take_in(self, step: str, events: Iterable[Mapping[str, Any]], error: TaskError | None) -> None:
        """Take in what a step's last attempt showed, and how it failed, if it did."""
        runs = _cell_runs(events)
        if error is not None:
            failed = next((cell for cell, run in runs.items() if not run.ended), self._steps[step][-1])
            run = runs.setdefault(failed, _CellRun())
            run.failed = True
            run.outputs.append(_error_output(error))
        self._runs[step] = runs
        self._states[step] = "done" if error is None else "failed"

    def take_over(self, step: str, events: Iterable[Mapping[str, Any]]) -> None:
        """Take in what a step showed in an earlier run. Its cells may have been others in number since then: they are
        told by their order, and nothing is shown where there are more or fewer of them now."""
        earlier = _cell_runs(events)
        if len(earlier) == len(self._programs[step]):
            runs = (earlier[cell] for cell in sorted(earlier))
            self._runs[step] = dict(zip(self._programs[step], runs, strict=True))

    def text(self) -> str:
        """Return the notebook as JSON."""
        metadata = self._document["metadata"]
        ours = {**metadata["flowc"], "steps": dict(self._states)}
        document = {**self._document, "metadata": {**metadata, "flowc": ours}}
        document["cells"] = list(self._filled())
        return json.dumps(document, indent=1) + "\n"

    def _filled(self) -> Iterable[dict[str, Any]]:
        # As one kernel counts: each cell that has code and is run, in the notebook's order.
        numbers = iter(range(1, len(self._document["cells"]) + 2))
        injected_after = max(self._parameter_cells, default=-1) if self._given else None
        if injected_after == -1:
            yield self._injected(next(numbers))
        reached = max((cell for runs in self._runs.values() for cell in runs), default=-1)
        for index, cell in zip(self._indices, self._document["cells"], strict=True):
            if cell.get("cell_type") != "code":
                yield cell
                continue
            number = next(numbers) if index in self._runnable else None
            yield self._filled_cell(index, cell, number, reached)
            if index == injected_after:
                yield self._injected(next(numbers))

    def _filled_cell(
        self, index: int, cell: dict[str, Any], number: int | None, reached: int
    ) -> dict[str, Any]:
        run = self._run_of(index)
        # What belongs to no step, such as imports that nobody needs, a kernel would have run on its way.
        passed = index < reached and not any(index in cells for cells in self._steps.values())
        filled = {**cell, "outputs": [], "execution_count": number if run or passed else None}
        if run is None:
            return filled
        filled["outputs"] = [
            {**output, "execution_count": number} if output["output_type"] == "execute_result" else output
            for output in run.outputs
        ]
        if run.failed:
            metadata = cell.get("metadata", {})
            filled["metadata"] = {**metadata, "tags": [*metadata.get("tags", ()), FAILED_TAG]}
        return filled

    def _run_of(self, index: int) -> _CellRun | None:
        """Return a cell's run: by the step that it belongs to, else by the first that ran it."""
        owners = sorted(self._steps, key=lambda step: index not in self._steps[step])
        runs = (self._runs.get(step, {}).get(index) for step in owners)
        found = [run for run in runs if run is not None]
        return next((run for run in found if run.failed), found[0] if found else None)

    def _injected(self, number: int) -> dict[str, Any]:
        lines = ["# Parameters", *(f"{name} = {value!r}" for name, value in self._given.items())]
        cell: dict[str, Any] = {
            "cell_type": "code",
            "execution_count": number if self._runs else None,
            "metadata": {"tags": [_INJECTED_TAG]},
            "outputs": [],
            "source": "\n".join(lines),
        }
        has_ids = any("id" in other for other in self._document["cells"])
        return {"id": "injected-parameters", **cell} if has_ids else cell


def _cells(component: Component) -> tuple[int, ...]:
    assert isinstance(component.code, NotebookCode)
    return component.code.cells


def _program(component: Component) -> list[int]:
    assert isinstance(component.code, NotebookCode)
    return sorted({*component.code.shared, *component.code.cells})


def _read(pipeline: Pipeline, root: Path) -> tuple[Notebook, dict[str, Any]]:
    """Return the pipeline's notebook, and as JSON data of format 4: as it stands in its file, if that is of format 4.

    Where it is gone, or has other cells than those that were compiled, the cells are those of the IR.
    """
    assert pipeline.source is not None
    path = root / pipeline.source.file
    try:
        notebook = read_notebook(path, root)
    except FlowcError:  # a pipeline's IR is all that a run needs
        notebook = _of_ir(pipeline)
        return notebook, _document(notebook)
    document = _document_of(path)
    kinds = {cell.index: (cell.kind, cell.id) for cell in notebook.cells}
    for cell in pipeline.cells:
        kind, identity = kinds.get(cell.index, ("raw", ""))
        if kind != "code" or identity != cell.id:
            notebook = _of_ir(pipeline)
            return notebook, _document(notebook)
    return notebook, document or _document(notebook)


def _document_of(path: Path) -> dict[str, Any] | None:
    """Return an .ipynb file of format 4 as it stands; None for any other file."""
    if path.suffix != ".ipynb":
        return None
    document: dict[str, Any] = json.loads(path.read_bytes().decode("utf-8-sig"))
    return document if document.get("nbformat") == 4 else None


def _of_ir(pipeline: Pipeline) -> Notebook:
    cells = (NotebookCell(cell.index, cell.id or "", "code", cell.source) for cell in pipeline.cells)
    return Notebook(pipeline.source.file if pipeline.source else "", tuple(cells), {})


def _document(notebook: Notebook) -> dict[str, Any]:
    cells = [
        {
            "cell_type": cell.kind,
            "metadata": {"tags": list(cell.tags)} if cell.tags else {},
            "source": cell.source,
        }
        for cell in notebook.cells
    ]
    return {"cells": cells, "metadata": dict(notebook.metadata), "nbformat": 4, "nbformat_minor": 4}


def _cell_runs(events: Iterable[Mapping[str, Any]]) -> dict[int, _CellRun]:
    runs: dict[int, _CellRun] = {}
    displays: dict[str, list[_Output]] = {}
    clearing: set[int] = set()
    for event in events:
        cell = event["cell"]
        run = runs.setdefault(cell, _CellRun())
        match event["event"]:
            case "end":
                run.ended = True
            case "clear" if event["wait"]:
                clearing.add(cell)
            case "clear":
                run.outputs.clear()
            case "update":
                for output in displays.get(event["id"], ()):
                    output.update(data=event["data"], metadata=event["metadata"])
            case "stream" | "display_data" | "execute_result":
                if cell in clearing:
                    clearing.discard(cell)
                    run.outputs.clear()
                _add(run.outputs, event, displays)
    return runs


def _add(outputs: list[_Output], event: Mapping[str, Any], displays: dict[str, list[_Output]]) -> None:
    if event["event"] == "stream":
        last = outputs[-1] if outputs else {}
        if last.get("name") == event["name"]:
            last["text"] += event["text"]
        else:
            outputs.append({"output_type": "stream", "name": event["name"], "text": event["text"]})
        return
    output = {"output_type": event["event"], "data": event["data"], "metadata": event["metadata"]}
    outputs.append(output)
    if event["id"] is not None:
        displays.setdefault(event["id"], []).append(output)


def _error_output(error: TaskError) -> _Output:
    text = error.traceback.rstrip("\n") or f"{error.kind}: {error.message}"
    return {
        "output_type": "error",
        "ename": error.kind,
        "evalue": error.message,
        "traceback": text.split("\n"),
    }
