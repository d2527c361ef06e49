"""Past executions whose results may be taken over: found by what they stand on, a fixed number of queries for any
number of tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, or_, select

from flowc.store import tables
from flowc.store.queries import stored_of
from flowc.store.records import Basis, BasisRecord, CodeRecord, PastExecution, PastOutput

# Databases limit the number of values in a statement; SQLite's limit is 32,766.
_AT_ONCE = 10_000


def find_past(
    connection: Connection, fingerprints: Collection[str], recipes: Collection[str]
) -> list[PastExecution]:
    """Return the executions that ended well and have one of these fingerprints or recipes, the newest first."""
    execution = tables.execution
    rows: dict[int, Row[Any]] = {}
    for column, keys in ((execution.c.fingerprint, fingerprints), (execution.c.recipe, recipes)):
        for some in _chunks(sorted(keys)):
            found = _executions(connection, column.in_(some), execution.c.state == "COMPLETE")
            rows.update((row.id, row) for row in found)
    return _past(connection, sorted(rows.values(), key=lambda row: -row.id))


def known_codes(connection: Connection, digests: Collection[str]) -> set[str]:
    """Return which of these digests of code some execution has stood on."""
    digest = tables.code.c.digest
    found: set[str] = set()
    for some in _chunks(sorted(digests)):
        found.update(connection.scalars(select(digest).where(digest.in_(some))))
    return found


def find_past_of_run(connection: Connection, run: str) -> list[PastExecution]:
    """Return the executions that ended well in a run, those included whose results it took over itself."""
    execution, later = tables.execution, tables.execution.alias()
    here = (
        select(later.c.id, later.c.reused_id)
        .join(tables.run, later.c.run_id == tables.run.c.id)
        .where(tables.run.c.name == run, later.c.state.in_(("COMPLETE", "CACHED")))
        .subquery()
    )
    ids = or_(execution.c.id.in_(select(here.c.id)), execution.c.id.in_(select(here.c.reused_id)))
    found = _executions(connection, ids, execution.c.state == "COMPLETE")
    return _past(connection, sorted(found, key=lambda row: -row.id))


def basis_in_run(connection: Connection, run: str, task: str) -> BasisRecord | None:
    """Return what a task stood on in a run; None where the run has no such task, or did not execute it."""
    return _newest_basis(connection, tables.run.c.name == run, tables.task.c.name == task)


def bases_before(
    connection: Connection, pipeline: str, tasks: Collection[str], run: str | None
) -> dict[str, BasisRecord]:
    """Return for each of a pipeline's tasks the newest execution with a basis, of the runs before `run`."""
    before = None
    if run is not None:
        before = connection.scalar(select(tables.run.c.id).where(tables.run.c.name == run))
    earlier = () if before is None else (tables.run.c.id < before,)
    found = {}
    for task in tasks:
        newest = _newest_basis(
            connection,
            tables.run.c.pipeline == pipeline,
            tables.task.c.name == task,
            tables.execution.c.fingerprint.is_not(None),
            *earlier,
        )
        if newest is not None:
            found[task] = newest
    return found


def _newest_basis(connection: Connection, *which: ColumnElement[bool]) -> BasisRecord | None:
    execution, code = tables.execution, tables.code
    past, origin = execution.alias(), tables.run.alias()
    statement = (
        select(
            execution,
            tables.run.c.name.label("run_name"),
            tables.task.c.name.label("task_name"),
            origin.c.name.label("reused"),
            code.c.definitions,
            code.c.distributions,
        )
        .join(tables.task, execution.c.task_id == tables.task.c.id)
        .join(tables.run, execution.c.run_id == tables.run.c.id)
        .outerjoin(past, execution.c.reused_id == past.c.id)
        .outerjoin(origin, past.c.run_id == origin.c.id)
        .outerjoin(code, execution.c.code_digest == code.c.digest)
        .where(*which)
        .order_by(execution.c.id.desc())
        .limit(1)
    )
    row = connection.execute(statement).first()
    if row is None:
        return None
    basis = row.fingerprint and Basis(
        fingerprint=row.fingerprint,
        recipe=row.recipe,
        code=CodeRecord(row.code_digest, row.definitions, row.distributions),
        parts=row.parts,
        files=row.files or {},
        unrepeatable=row.unrepeatable,
    )
    return BasisRecord(row.run_name, row.task_name, row.state, row.reused, basis or None)


def _chunks(keys: list[Any]) -> Iterable[list[Any]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))


def _executions(connection: Connection, *which: ColumnElement[bool]) -> list[Row[Any]]:
    execution = tables.execution
    chosen = [
        column
        for column in execution.c
        if column.name in ("id", "ended", "log", "fingerprint", "recipe", "files", "unrepeatable")
    ]
    statement = (
        select(*chosen, tables.task.c.name.label("task_name"), tables.run.c.name.label("run_name"))
        .join(tables.task, execution.c.task_id == tables.task.c.id)
        .join(tables.run, execution.c.run_id == tables.run.c.id)
        .where(execution.c.fingerprint.is_not(None), *which)
    )
    return [*connection.execute(statement)]


def _past(connection: Connection, rows: list[Row[Any]]) -> list[PastExecution]:
    outputs: dict[int, dict[str, PastOutput]] = defaultdict(dict)
    event, artifact = tables.event, tables.artifact
    for some in _chunks([row.id for row in rows]):
        statement = (
            select(event.c.execution_id, event.c.port, artifact)
            .join(artifact)
            .where(event.c.execution_id.in_(some), event.c.is_output)
        )
        for row in connection.execute(statement):
            outputs[row.execution_id][row.port] = PastOutput(row.id, stored_of(row))
    return [
        PastExecution(
            id=row.id,
            run=row.run_name,
            task=row.task_name,
            ended=row.ended,
            log=Path(row.log) if row.log else None,
            fingerprint=row.fingerprint,
            recipe=row.recipe,
            files=row.files or {},
            unrepeatable=row.unrepeatable,
            outputs=outputs[row.id],
        )
        for row in rows
    ]
