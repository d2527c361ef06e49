"""What is read from the metadata store. Each function makes a fixed number of queries, whatever it finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from flowc.errors import NotFoundError, TaskError, did_you_mean
from flowc.store import tables
from flowc.store.owner import Owner
from flowc.store.records import (
    ArtifactRecord,
    ExecutionRecord,
    RunRecord,
    StateChange,
    TaskRecord,
    TaskState,
    Use,
)
from flowc.store.stored import Stored

PathOf = Callable[[str], Path]

_LATEST = "latest"
# How many recent runs are looked through for the one that a mistyped id meant.
_SUGGESTIONS = 1000

_RUN = [column for column in tables.run.c if column.name != "ir"]


def list_runs(connection: Connection, limit: int | None, pipeline: str | None) -> list[RunRecord]:
    """Return runs, the newest first."""
    statement = select(*_RUN).order_by(tables.run.c.started.desc(), tables.run.c.id.desc()).limit(limit)
    if pipeline is not None:
        statement = statement.where(tables.run.c.pipeline == pipeline)
    return _run_records(connection, connection.execute(statement).all())


def find_run(connection: Connection, wanted: str) -> RunRecord:
    """Return the run of this id, or the only one whose id begins so, or the newest for "latest"."""
    if wanted == _LATEST:
        newest = list_runs(connection, 1, None)
        if not newest:
            raise NotFoundError("there are no runs yet", hint="make one with 'flowc run TARGET'")
        return newest[0]
    name = tables.run.c.name
    # Two are enough to know that the beginning is not one run's alone.
    found = connection.execute(select(*_RUN).where(name == wanted)).all() or (
        connection.execute(select(*_RUN).where(name.startswith(wanted, autoescape=True)).limit(2)).all()
    )
    if len(found) > 1:
        names = " and ".join(row.name for row in found)
        raise NotFoundError(
            f"'{wanted}' is the beginning of several runs, such as {names}", hint="give more of it"
        )
    if not found:
        recent = connection.scalars(
            select(name).order_by(tables.run.c.started.desc()).limit(_SUGGESTIONS)
        ).all()
        hint = did_you_mean(wanted, recent) or "'flowc runs' lists the runs that there are"
        raise NotFoundError(f"no run '{wanted}'", hint=hint)
    return _run_records(connection, found)[0]


def run_ir(connection: Connection, run: str) -> str:
    """Return the JSON text of the pipeline that a run executes."""
    statement = select(tables.run.c.ir).where(tables.run.c.id == _id_of(connection, run))
    return str(connection.scalar(statement))


def _id_of(connection: Connection, run: str) -> int:
    found = connection.scalar(select(tables.run.c.id).where(tables.run.c.name == run))
    if found is None:
        raise NotFoundError(f"no run '{run}'", hint="'flowc runs' lists the runs that there are")
    return int(found)


def _run_records(connection: Connection, rows: Sequence[Row[Any]]) -> list[RunRecord]:
    task = tables.task
    counted = (
        select(task.c.run_id, task.c.state, func.count().label("number"))
        .where(task.c.run_id.in_([row.id for row in rows]))
        .group_by(task.c.run_id, task.c.state)
    )
    counts: dict[int, dict[TaskState, int]] = defaultdict(dict)
    for row in connection.execute(counted):
        counts[row.run_id][row.state] = row.number
    return [_run_record(row, counts[row.id]) for row in rows]


def _run_record(row: Row[Any], counts: dict[TaskState, int]) -> RunRecord:
    owner = Owner(row.host, row.pid, row.pid_started)
    return RunRecord(
        id=row.name,
        pipeline=row.pipeline,
        target=row.target,
        runner=row.runner,
        state=row.state,
        started=row.started,
        ended=row.ended,
        parameters=row.parameters,
        experiment=row.experiment,
        user=row.user,
        commit=row.commit,
        host=row.host,
        pid=row.pid,
        alive=owner.alive() if row.state == "RUNNING" else None,
        error=row.error,
        counts=counts,
    )


def list_tasks(connection: Connection, run: str) -> list[TaskRecord]:
    """Return a run's tasks with their attempts, in the order in which they were planned."""
    task, execution = tables.task, tables.execution
    of_run = _id_of(connection, run)
    attempts: dict[int, list[ExecutionRecord]] = defaultdict(list)
    past, origin = execution.alias(), tables.run.alias()
    found = (
        select(execution, origin.c.name.label("reused"))
        .outerjoin(past, execution.c.reused_id == past.c.id)
        .outerjoin(origin, past.c.run_id == origin.c.id)
        .where(execution.c.run_id == of_run)
        .order_by(execution.c.attempt)
    )
    for row in connection.execute(found):
        attempts[row.task_id].append(_execution_record(row))
    return [
        TaskRecord(
            name=row.name,
            component=row.component,
            upstream=tuple(row.upstream),
            state=row.state,
            reason=row.reason,
            executions=tuple(attempts[row.id]),
        )
        for row in connection.execute(select(task).where(task.c.run_id == of_run).order_by(task.c.id))
    ]


def _execution_record(row: Row[Any]) -> ExecutionRecord:
    return ExecutionRecord(
        attempt=row.attempt,
        state=row.state,
        started=row.started,
        ended=row.ended,
        worker=row.worker,
        log=Path(row.log) if row.log else None,
        error=TaskError(**row.error) if row.error else None,
        reused=row.reused,
    )


def list_artifacts(connection: Connection, run: str, path_of: PathOf) -> list[ArtifactRecord]:
    """Return what a run's tasks made or took over, in the order of recording, with their uses in this run."""
    statement = _events().where(tables.execution.c.run_id == _id_of(connection, run))
    rows = connection.execute(statement.add_columns(*tables.artifact.c).join(tables.artifact)).all()
    consumers: dict[int, dict[Use, None]] = defaultdict(dict)
    for row in rows:
        if not row.is_output:
            consumers[row.artifact_id][_use(row)] = None
    return [
        _artifact_record(row, _use(row), consumers[row.artifact_id], path_of) for row in rows if row.is_output
    ]


def find_artifact(connection: Connection, wanted: int | str, path_of: PathOf) -> ArtifactRecord:
    """Return the artifact of this row id, or the newest of those whose digest begins so, with all its uses."""
    artifact = tables.artifact
    statement = select(artifact).order_by(artifact.c.id.desc()).limit(1)
    if isinstance(wanted, int):
        row = connection.execute(statement.where(artifact.c.id == wanted)).first()
    else:
        row = connection.execute(
            statement.where(artifact.c.digest == _whole_digest(connection, wanted))
        ).first()
    if row is None:
        raise _no_artifact(wanted)
    events = connection.execute(_events().where(tables.event.c.artifact_id == row.id)).all()
    producer = next(_use(row) for row in events if row.is_output)
    consumers = dict.fromkeys(_use(row) for row in events if not row.is_output)
    return _artifact_record(row, producer, consumers, path_of)


def _whole_digest(connection: Connection, beginning: str) -> str:
    digest = tables.artifact.c.digest
    first = beginning.lower()
    # A range, which the index serves; no hexadecimal digit sorts after "g".
    statement = select(digest).where(digest >= first, digest < first + "g").distinct().limit(2)
    found = connection.scalars(statement).all()
    if not found:
        raise _no_artifact(beginning)
    if len(found) > 1:
        names = " and ".join(each[: len(first) + 8] for each in found)
        message = f"'{beginning}' is the beginning of several digests, such as {names}"
        raise NotFoundError(message, hint="give more of it")
    return str(found[0])


def _no_artifact(wanted: int | str) -> NotFoundError:
    return NotFoundError(f"no artifact '{wanted}'", hint="'flowc show RUN' lists a run's artifacts")


def list_state_changes(connection: Connection, run: str) -> list[StateChange]:
    """Return everything that happened in a run, in the order of recording."""
    change, task = tables.state_change, tables.task
    statement = (
        select(change.c.at, task.c.name, change.c.attempt, change.c.state, change.c.reason)
        .outerjoin_from(change, task)
        .where(change.c.run_id == _id_of(connection, run))
        .order_by(change.c.id)
    )
    return [StateChange(*row) for row in connection.execute(statement)]


def _events() -> Select[Any]:
    event, execution = tables.event, tables.execution
    return (
        select(event.c.artifact_id, event.c.is_output, event.c.port, *_named())
        .join_from(event, execution)
        .join(tables.task)
        .join(tables.run, execution.c.run_id == tables.run.c.id)
        .order_by(event.c.id)
    )


def _named() -> tuple[Any, Any]:
    return tables.run.c.name.label("run_name"), tables.task.c.name.label("task_name")


def _use(row: Row[Any]) -> Use:
    return Use(row.run_name, row.task_name, row.port)


def _artifact_record(
    row: Row[Any], producer: Use, consumers: Iterable[Use], path_of: PathOf
) -> ArtifactRecord:
    return ArtifactRecord(
        id=row.id,
        type=row.type,
        stored=stored_of(row),
        path=None if row.inline is not None else path_of(row.digest),
        created=row.created,
        producer=producer,
        consumers=tuple(consumers),
    )


def stored_of(row: Row[Any]) -> Stored:
    """Return the stored value that an artifact's row stands for."""
    return Stored(
        row.digest, row.codec, row.python_type, row.size, row.inline, row.summary, tuple(row.code or ())
    )
