"""How changes become rows: those of one call in one transaction, each kind in one statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, Insert, Table, Update, bindparam, func, insert, select, update

from flowc.errors import NotFoundError, TaskError
from flowc.store import tables
from flowc.store.records import (
    Basis,
    Change,
    FromOutput,
    Made,
    Origin,
    RunEnded,
    TaskEnded,
    TaskReused,
    TaskSkipped,
    TaskStarted,
)

Row = dict[str, Any]
Rows = list[Row]
_OfAttempt = TaskStarted | TaskEnded | TaskReused

# Made once: making a statement costs as much as executing it.
_END_EXECUTION = (
    update(tables.execution)
    .where(tables.execution.c.id == bindparam("execution"))
    .values(
        state=bindparam("now"),
        ended=bindparam("at"),
        error=bindparam("why", type_=tables.execution.c.error.type),
        worker=func.coalesce(bindparam("by"), tables.execution.c.worker),
        fingerprint=bindparam("fingerprint"),
        recipe=bindparam("recipe"),
        code_digest=bindparam("code"),
        parts=bindparam("parts", type_=tables.execution.c.parts.type),
        files=bindparam("files", type_=tables.execution.c.files.type),
        unrepeatable=bindparam("unrepeatable"),
    )
)
_SET_TASK_STATE = (
    update(tables.task)
    .where(tables.task.c.id == bindparam("task"))
    .values(state=bindparam("now"), reason=bindparam("why"))
)
_END_RUN = (
    update(tables.run)
    .where(tables.run.c.id == bindparam("run"))
    .values(state=bindparam("now"), ended=bindparam("at"), error=bindparam("why"))
)


@dataclass(slots=True)
class RunIndex:
    """The row ids of a run that is under way: kept by its driver, so that recording needs no look-ups."""

    id: int
    tasks: dict[str, int] = field(default_factory=dict)
    executions: dict[tuple[str, int], int] = field(default_factory=dict)
    outputs: dict[tuple[str, str], int] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)  # those that are in the table for certain


def load_index(connection: Connection, name: str) -> RunIndex:
    """Read a run's index; NotFoundError where there is no such run."""
    run, task, execution, event = tables.run, tables.task, tables.execution, tables.event
    found = connection.scalar(select(run.c.id).where(run.c.name == name))
    if found is None:
        raise NotFoundError(f"no run '{name}'", hint="'flowc runs' lists the runs that there are")
    index = RunIndex(found)
    for row in connection.execute(select(task.c.name, task.c.id).where(task.c.run_id == found)):
        index.tasks[row.name] = row.id
    attempts = (
        select(task.c.name, execution.c.attempt, execution.c.id)
        .join_from(execution, task)
        .where(execution.c.run_id == found)
    )
    index.executions.update({(row.name, row.attempt): row.id for row in connection.execute(attempts)})
    outputs = (
        select(task.c.name, event.c.port, event.c.artifact_id)
        .join_from(event, execution)
        .join(task)
        .where(execution.c.run_id == found, event.c.is_output)
        .order_by(event.c.id)
    )
    index.outputs.update({(row.name, row.port): row.artifact_id for row in connection.execute(outputs)})
    return index


def write_changes(
    connection: Connection, changes: Sequence[Change], index_of: Callable[[str], RunIndex]
) -> None:
    """Write changes of any runs, in the order of their meaning: what is referred to comes first."""
    _Writing(connection, changes, index_of).write()


class _Writing:
    """One call's changes on their way to rows."""

    def __init__(
        self, connection: Connection, changes: Sequence[Change], index_of: Callable[[str], RunIndex]
    ) -> None:
        self._connection = connection
        self._changes = changes
        self._index_of = index_of

    def write(self) -> None:
        self._add_executions()
        self._add_code()
        events = [*self._add_outputs(), *self._inputs()]
        self._insert(tables.event, events)
        self._end_executions()
        self._set_task_states()
        self._insert(tables.state_change, map(self._log_row, self._changes))
        self._end_runs()

    def _of(self, *kinds: type[Any]) -> list[Any]:
        return [change for change in self._changes if isinstance(change, kinds)]

    def _add_executions(self) -> None:
        new: dict[tuple[str, str, int], Row] = {}
        for change in self._of(TaskStarted, TaskEnded, TaskReused):
            index = self._index_of(change.run)
            key = (change.run, change.task, _attempt(change))
            if key[1:] in index.executions or key in new:
                continue
            log = getattr(change, "log", None)
            row = {
                "run_id": index.id,
                "task_id": self._task(change),
                "attempt": key[2],
                "state": "RUNNING",
                "started": change.at,
                "ended": None,
                "worker": getattr(change, "worker", None),
                "log": str(log) if log else None,
                "reused_id": None,
            }
            if isinstance(change, TaskReused):
                row.update(state="CACHED", ended=change.at, reused_id=change.past.id)
            new[key] = row
        ids = self._insert_returning(tables.execution, list(new.values()))
        for (run, task, attempt), id_ in zip(new, ids, strict=True):
            self._index_of(run).executions[task, attempt] = id_

    def _add_code(self) -> None:
        new = {}
        for change in self._of(TaskEnded):
            codes = self._index_of(change.run).codes
            if change.basis is not None and change.basis.code.digest not in codes:
                codes.add(change.basis.code.digest)
                new[change.basis.code.digest] = change.basis.code
        if not new:
            return
        code = tables.code
        known = self._connection.scalars(select(code.c.digest).where(code.c.digest.in_(new)))
        for digest in known:
            del new[digest]
        self._insert(
            code,
            (
                {
                    "digest": digest,
                    "definitions": dict(each.definitions),
                    "distributions": dict(each.distributions),
                }
                for digest, each in new.items()
            ),
        )

    def _add_outputs(self) -> Rows:
        made = [
            (change, port, each) for change in self._of(TaskEnded) for port, each in change.outputs.items()
        ]
        ids = self._insert_returning(
            tables.artifact, [_artifact_row(each, change.at) for change, _, each in made]
        )
        for (change, port, _), id_ in zip(made, ids, strict=True):
            self._index_of(change.run).outputs[change.task, port] = id_
        taken = [
            (change, port, each.artifact)
            for change in self._of(TaskReused)
            for port, each in change.past.outputs.items()
        ]
        for change, port, id_ in taken:
            self._index_of(change.run).outputs[change.task, port] = id_
        given = [(change, port, id_) for (change, port, _), id_ in zip(made, ids, strict=True)]
        return [self._event_row(change, id_, port, is_output=True) for change, port, id_ in (*given, *taken)]

    def _inputs(self) -> Rows:
        return [
            self._event_row(change, self._artifact(change.run, origin), port, is_output=False)
            for change in self._of(TaskStarted, TaskEnded, TaskReused)
            for port, origin in change.inputs.items()
        ]

    def _event_row(self, change: _OfAttempt, artifact: int, port: str, *, is_output: bool) -> Row:
        execution = self._index_of(change.run).executions[change.task, _attempt(change)]
        return {"execution_id": execution, "artifact_id": artifact, "port": port, "is_output": is_output}

    def _artifact(self, run: str, origin: Origin) -> int:
        if not isinstance(origin, FromOutput):
            return origin
        outputs = self._index_of(run).outputs
        if (origin.task, origin.port) not in outputs:
            raise NotFoundError(f"run '{run}' has recorded no output '{origin.port}' of task '{origin.task}'")
        return outputs[origin.task, origin.port]

    def _task(self, change: _OfAttempt | TaskSkipped) -> int:
        tasks = self._index_of(change.run).tasks
        if change.task not in tasks:
            raise NotFoundError(f"run '{change.run}' was not begun with a task '{change.task}'")
        return tasks[change.task]

    def _end_executions(self) -> None:
        self._execute(_END_EXECUTION, map(self._ended_row, self._of(TaskEnded)))

    def _ended_row(self, change: TaskEnded) -> Row:
        return {
            "execution": self._index_of(change.run).executions[change.task, change.attempt],
            "now": change.state,
            "at": change.at,
            "why": asdict(change.error) if change.error else None,
            "by": change.worker,
            **_basis_row(change.basis),
        }

    def _set_task_states(self) -> None:
        states = (
            {"task": self._task(change), "now": _state(change), "why": getattr(change, "reason", None)}
            for change in self._of(TaskStarted, TaskEnded, TaskReused, TaskSkipped)
        )
        self._execute(_SET_TASK_STATE, states)

    def _log_row(self, change: Change) -> Row:
        return {
            "run_id": self._index_of(change.run).id,
            "task_id": None if isinstance(change, RunEnded) else self._task(change),
            "attempt": None if isinstance(change, TaskSkipped | RunEnded) else _attempt(change),
            "state": _state(change),
            "at": change.at,
            "reason": _reason(change),
        }

    def _end_runs(self) -> None:
        ended = (
            {"run": self._index_of(change.run).id, "now": change.state, "at": change.at, "why": change.error}
            for change in self._of(RunEnded)
        )
        self._execute(_END_RUN, ended)

    def _insert(self, table: Table, rows: Iterable[Row]) -> None:
        self._execute(insert(table), rows)

    def _insert_returning(self, table: Table, rows: Rows) -> Sequence[int]:
        if not rows:
            return []
        statement = insert(table).returning(table.c.id, sort_by_parameter_order=True)
        return self._connection.scalars(statement, rows).all()

    def _execute(self, statement: Insert | Update, rows: Iterable[Row]) -> None:
        listed = list(rows)
        if listed:  # given none, SQLAlchemy would execute the statement once, without values
            self._connection.execute(statement, listed)


def _state(change: Change) -> str:
    match change:
        case TaskStarted():
            return "RUNNING"
        case TaskReused():
            return "CACHED"
        case TaskSkipped():
            return "SKIPPED"
        case _:
            return change.state


def _attempt(change: _OfAttempt) -> int:
    return 1 if isinstance(change, TaskReused) else change.attempt


def _basis_row(basis: Basis | None) -> Row:
    if basis is None:
        return dict.fromkeys(("fingerprint", "recipe", "code", "parts", "files", "unrepeatable"))
    return {
        "fingerprint": basis.fingerprint,
        "recipe": basis.recipe,
        "code": basis.code.digest,
        "parts": dict(basis.parts),
        "files": dict(basis.files),
        "unrepeatable": basis.unrepeatable,
    }


def _reason(change: Change) -> str | None:
    match change:
        case TaskReused(past=past):
            return f"taken over from {past.run}"
        case TaskSkipped(reason=reason):
            return reason
        case TaskEnded(error=TaskError(message=message)):
            return message
        case RunEnded(error=error):
            return error
    return None


def _artifact_row(made: Made, at: float) -> Row:
    stored = made.stored
    return {
        "type": made.type,
        "digest": stored.digest,
        "codec": stored.codec,
        "python_type": stored.python_type,
        "size": stored.size,
        "inline": stored.inline,
        "summary": stored.summary,
        "code": list(stored.code),
        "created": at,
    }
