"""Run a notebook both ways and bring together what was found."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flowc import api
from flowc.engine.outcome import RunResult
from flowc.errors import UsageError
from flowc.ir import Parameter
from flowc.notebook.lower import definitions_module, explain_notebook
from flowc.notebook.model import NotebookCell
from flowc.notebook.reader import read_notebook
from flowc.notebook.tags import read_tags
from flowc.target import NotebookFile, PythonFile
from flowc.verify.checks import Check, checks_of
from flowc.verify.inside import Finding, Orders, read_findings, write_orders
from flowc.verify.kernel import CellFailedError, run_in_kernel, with_parameters


@dataclass(frozen=True, slots=True)
class Verification:
    """What was compared and found, in the order of the kernel's way. `failure` is a cell that failed in it."""

    run: RunResult
    rows: tuple[tuple[Check, Finding], ...] = ()
    failure: CellFailedError | None = None

    @property
    def holds(self) -> bool:
        """Whether the pipeline gave what the kernel gave, as far as it could be compared."""
        if self.run.state != "COMPLETE" or self.failure is not None:
            return False
        return not any(finding.verdict == "different" for _, finding in self.rows)

    def first_difference(self) -> tuple[Check, Finding] | None:
        """Return the difference that the kernel came to first."""
        return next((row for row in self.rows if row[1].verdict == "different"), None)


def verify_notebook(
    compiled: api.Compiled, arguments: Mapping[str, Any], store: Path, run: Callable[[], RunResult]
) -> Verification:
    """Run a notebook as a pipeline, by `run`, then in one kernel, and compare what crosses its steps and its results.

    `arguments` are the parameters' values that were given, `store` is where the run is recorded. Raises UsageError
    where the target is no notebook, RunnerError where there can be no kernel.
    """
    source = compiled.pipeline.source
    if (
        not isinstance(compiled.target, NotebookFile | PythonFile)
        or not compiled.pipeline.cells
        or not source
    ):
        hint = "name an .ipynb file, or a .py file with '# %%' lines"
        raise UsageError(f"{compiled.target} is no notebook", hint=hint)
    path = compiled.root / source.file
    # Before the run: the notebook may be edited while it goes on.
    cells = _cells(path, compiled.root)
    explained = explain_notebook(path, compiled.root)
    result = run()
    if result.state != "COMPLETE":
        return Verification(result)
    checks = checks_of(explained.pipeline, explained.edges, [cell.index for cell in cells])
    orders = Orders(
        store=store / "artifacts",
        module=definitions_module(source.file),
        checks=[(check, result.tasks[check.step].outputs[check.port]) for check in checks],
        given=dict(arguments),
    )
    given = [parameter for parameter in compiled.pipeline.parameters if parameter.name in arguments]
    return _compared(result, orders, path.parent, cells, given)


def _cells(path: Path, root: Path) -> list[NotebookCell]:
    """Return the cells that take part."""
    notebook = read_notebook(path, root)
    tags, _ = read_tags(notebook)
    return [cell for cell in notebook.cells if cell.kind == "code" and tags[cell.index].part != "skip"]


def _compared(
    result: RunResult, orders: Orders, folder: Path, cells: list[NotebookCell], given: list[Parameter]
) -> Verification:
    failure = None
    with tempfile.TemporaryDirectory(prefix="flowc-verify-") as place:
        write_orders(Path(place), orders)
        prepared = [replace(cell, source=with_parameters(cell, given, Path(place))) for cell in cells]
        try:
            run_in_kernel(prepared, {check.moment for check, _ in orders.checks}, folder, Path(place))
        except CellFailedError as error:
            failure = error
        found = {finding.check: finding for finding in read_findings(Path(place))}
    unreached = "the kernel did not come so far"
    rows = (
        (check, found.get(number, Finding(number, "not compared", detail=unreached)))
        for number, (check, _) in enumerate(orders.checks)
    )
    return Verification(result, tuple(rows), failure)
