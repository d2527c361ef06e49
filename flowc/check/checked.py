"""Check a pipeline: every rule runs, and all that they find is reported at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowc.check.columns import check_columns
from flowc.check.graph import check_graph, topological_order
from flowc.check.ports import check_ports, solved_outputs
from flowc.check.untyped import check_untyped
from flowc.diagnostics import Diagnostic
from flowc.errors import CompileError
from flowc.ir import Pipeline, Task


@dataclass(frozen=True, slots=True)
class CheckedPipeline:
    """A pipeline without errors. `ordered` are its tasks so that each stands behind what it needs; `diagnostics`
    holds the warnings and notes."""

    pipeline: Pipeline
    ordered: tuple[Task, ...]
    diagnostics: tuple[Diagnostic, ...]


def check_pipeline(
    pipeline: Pipeline, found: Sequence[Diagnostic] = (), *, strict: bool = False
) -> CheckedPipeline:
    """Hold a pipeline to all rules, those of --strict too if wanted; `found` is what its front end had to say.

    Raises CompileError with everything, warnings included, where there is at least one error.
    """
    # What is wrong with a call already is not said again of the task that it became.
    told = {diagnostic.source for diagnostic in found if diagnostic.severity == "error"} - {None}
    produced, faults = solved_outputs(pipeline)
    own = [*check_graph(pipeline), *faults, *check_ports(pipeline, produced)]
    if strict:
        own += [*check_untyped(pipeline), *check_columns(pipeline, produced)]
    diagnostics = (*found, *(diagnostic for diagnostic in own if diagnostic.source not in told))
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        raise CompileError(diagnostics)
    return CheckedPipeline(pipeline, topological_order(pipeline), diagnostics)
