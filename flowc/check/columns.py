"""The rule of `flowc check --strict` for tables: where columns are wanted, it is known which there are."""

from __future__ import annotations

from collections.abc import Iterator

from flowc.check.ports import Produced
from flowc.diagnostics import Diagnostic
from flowc.ir import FromTask, Pipeline
from flowc.types.model import ArtifactType, ObjectType


def check_columns(pipeline: Pipeline, produced: Produced) -> Iterator[Diagnostic]:
    """Return a note for each input that wants columns of a table whose maker does not say which it has."""
    for task in pipeline.tasks:
        component = pipeline.components.get(task.component)
        for port in component.inputs if component else ():
            binding = task.inputs.get(port.name)
            if (
                not isinstance(binding, FromTask)
                or not isinstance(port.type, ArtifactType)
                or not port.type.columns
            ):
                continue
            made = produced.get((binding.task, binding.output))
            unsaid = isinstance(made, ArtifactType) and (made.columns is None or made.open)
            if unsaid or isinstance(made, ObjectType):
                yield Diagnostic(
                    code="FC311",
                    severity="note",
                    message=f"task '{task.name}', input '{port.name}' wants the columns of {port.type}: "
                    f"'{binding.task}' makes {made}, which does not say what columns it has",
                    source=task.source,
                    hint="annotate what it returns as Dataset[ROW]; a component that takes any table and changes some "
                    "columns says so: Dataset[T] -> Dataset[Add[T, ROW]]",
                )
