"""What kinds of value a pipeline's tasks made in earlier runs: the evidence for types that nobody wrote down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, func, select

from flowc.store import tables

# So many of a pipeline's runs are looked through for the last time that a task was executed.
_RECENT = 50

Key = tuple[str, str]
"""A task and an output port of it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An output as it was made last: its Python type and, of a table, its columns with Arrow's names of their types.

    `code` is the digest of the code that made it.
    """

    python_type: str
    columns: Mapping[str, str] | None
    run: str
    code: str | None


def outputs_seen(connection: Connection, pipeline: str, before: str | None = None) -> dict[Key, Seen]:
    """Return what each task of a pipeline made when it was executed last, of the runs before `before`, if given."""
    run, task, execution = tables.run, tables.task, tables.execution
    runs = select(run.c.id).where(run.c.pipeline == pipeline).order_by(run.c.started.desc()).limit(_RECENT)
    if before is not None:
        runs = runs.where(run.c.id < select(run.c.id).where(run.c.name == before).scalar_subquery())
    last = (
        select(func.max(execution.c.id))
        .join(task, execution.c.task_id == task.c.id)
        .where(execution.c.run_id.in_(runs), execution.c.state == "COMPLETE")
        .group_by(task.c.name)
    )
    return _outputs(connection, execution.c.id.in_(last))


def outputs_made(connection: Connection, run: str) -> dict[Key, Seen]:
    """Return what the tasks that a run executed made."""
    return _outputs(connection, tables.run.c.name == run, tables.execution.c.state == "COMPLETE")


def _outputs(connection: Connection, *which: ColumnElement[bool]) -> dict[Key, Seen]:
    event, artifact, execution = tables.event, tables.artifact, tables.execution
    statement = (
        select(
            tables.task.c.name,
            event.c.port,
            artifact.c.python_type,
            artifact.c.summary,
            tables.run.c.name.label("run_name"),
            execution.c.code_digest,
        )
        .select_from(event)
        .join(artifact, event.c.artifact_id == artifact.c.id)
        .join(execution, event.c.execution_id == execution.c.id)
        .join(tables.task, execution.c.task_id == tables.task.c.id)
        .join(tables.run, execution.c.run_id == tables.run.c.id)
        .where(event.c.is_output, *which)
    )
    return {
        (row.name, row.port): Seen(row.python_type, row.summary.get("schema"), row.run_name, row.code_digest)
        for row in connection.execute(statement)
    }
