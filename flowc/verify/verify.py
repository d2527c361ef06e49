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
from flowc.ir import Parameter, Pipeline
from flowc.notebook.lower import definitions_module, explain_notebook
from flowc.notebook.model import NotebookCell
from flowc.notebook.reader import read_notebook
from flowc.notebook.tags import read_tags
from flowc.plan import make_plan
from flowc.target import NotebookFile, PythonFile
from flowc.verify.checks import Check, checks_of
from flowc.verify.inside import Argument, Finding, Orders, read_findings, write_orders
from flowc.verify.kernel import CellFailedError, run_in_kernel, with_parameters


@dataclass(frozen=True, slots=True)
class Verification:
    """What was compared and found, in the order of the kernel's way. `failure` is a cell that failed in it.

    `pipeline` is what was run: the notebook's, with all that is left at its end as results.
    """

    run: RunResult
    pipeline: Pipeline
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
    compiled: api.Compiled,
    arguments: Mapping[str, Any],
    store: Path,
    run: Callable[[api.Compiled], RunResult],
) -> Verification:
    """Run a notebook as a pipeline, by `run`, then in one kernel, and compare what crosses its steps and what is left
    at its end.

    `run` gets the pipeline in a form whose steps keep all of that. `arguments` are the parameters' values that were
    given, `store` is where the run is recorded. Raises UsageError where the target is no notebook, RunnerError where
    there can be no kernel.
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
    explained = explain_notebook(path, compiled.root, keep_all=True)
    pipeline = explained.pipeline
    values = make_plan(api.check(compiled), arguments, compiled.root).arguments
    result = run(replace(compiled, pipeline=pipeline))
    if result.state != "COMPLETE":
        return Verification(result, pipeline)
    orders = Orders(
        store=store / "artifacts",
        home=path.parent,
        module=definitions_module(source.file),
        checks=[
            (check, None if check.step is None else result.tasks[check.step].outputs[check.port])
            for check in checks_of(pipeline, explained.edges, [cell.index for cell in cells])
        ],
        arguments={p.name: Argument(p.type, values[p.name]) for p in pipeline.parameters},
    )
    given = [parameter for parameter in pipeline.parameters if parameter.name in arguments]
    return _compared(Verification(result, pipeline), orders, cells, given)


def _cells(path: Path, root: Path) -> list[NotebookCell]:
    """Return the cells that take part."""
    notebook = read_notebook(path, root)
    tags, _ = read_tags(notebook)
    return [cell for cell in notebook.cells if cell.kind == "code" and tags[cell.index].part != "skip"]


def _compared(
    ran: Verification, orders: Orders, cells: list[NotebookCell], given: list[Parameter]
) -> Verification:
    failure = None
    with tempfile.TemporaryDirectory(prefix="flowc-verify-") as place:
        write_orders(Path(place), orders)
        prepared = [replace(cell, source=with_parameters(cell, given, Path(place))) for cell in cells]
        try:
            run_in_kernel(prepared, {check.moment for check, _ in orders.checks}, orders.home, Path(place))
        except CellFailedError as error:
            failure = error
        found = {finding.check: finding for finding in read_findings(Path(place))}
    unreached = "the kernel did not come so far"
    rows = (
        (check, found.get(number, Finding(number, "not compared", detail=unreached)))
        for number, (check, _) in enumerate(orders.checks)
    )
    return replace(ran, rows=tuple(rows), failure=failure)
