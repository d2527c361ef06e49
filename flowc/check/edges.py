"""Why each edge of a pipeline is there, as notes: what `flowc check --explain` says of a pipeline in Python or IR."""

from __future__ import annotations

from collections.abc import Iterator

from flowc.diagnostics import Diagnostic, Related
from flowc.ir import FromTask, Pipeline, Task


def edge_notes(pipeline: Pipeline) -> Iterator[Diagnostic]:
    """Return a note for each input that another task makes, and for each task that is ordered after another."""
    for task in pipeline.tasks:
        for name, binding in task.inputs.items():
            if isinstance(binding, FromTask):
                output = "" if binding.output == "output" else f" '{binding.output}'"
                why = f"its input '{name}' is the output{output} of '{binding.task}'"
                yield _note(pipeline, task, binding.task, why)
        for above in task.after:
            yield _note(pipeline, task, above, f"it is ordered after '{above}'")


def _note(pipeline: Pipeline, task: Task, above: str, why: str) -> Diagnostic:
    made = pipeline.task(above).source
    return Diagnostic(
        code="FC100",
        severity="note",
        message=f"task '{task.name}' needs '{above}': {why}",
        source=task.source,
        related=(Related(message=f"'{above}' is called here", source=made),) if made else (),
    )
