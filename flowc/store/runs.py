"""How a run begins: its contexts, its name, and the tasks that it means to execute."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

from sqlalchemy import Connection, insert, select

from flowc.store import tables
from flowc.store.changes import RunIndex
from flowc.store.owner import Owner
from flowc.store.records import NewRun

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def insert_run(connection: Connection, new: NewRun, owner: Owner) -> tuple[str, RunIndex]:
    """Write a run with its tasks, all NEW, and return its id and index."""
    name = _unused_name(connection, new)
    run = _insert_context(connection, "run", name, new.started)
    parents = [_context(connection, "pipeline", new.pipeline, new.started)]
    if new.experiment is not None:
        parents.append(_context(connection, "experiment", new.experiment, new.started))
    rows = [{"context_id": run, "parent_id": parent} for parent in parents]
    connection.execute(insert(tables.parent_context), rows)
    connection.execute(
        insert(tables.run),
        {
            "id": run,
            "name": name,
            "pipeline": new.pipeline,
            "experiment": new.experiment,
            "target": new.target,
            "runner": new.runner,
            "parameters": dict(new.parameters),
            "ir": new.ir,
            "state": "RUNNING",
            "started": new.started,
            "user": new.user,
            "commit": new.commit,
            "host": owner.host,
            "pid": owner.pid,
            "pid_started": owner.started,
        },
    )
    begun = {"run_id": run, "state": "RUNNING", "at": new.started}
    connection.execute(insert(tables.state_change), begun)
    return name, RunIndex(run, tasks=_insert_tasks(connection, run, new))


def _insert_tasks(connection: Connection, run: int, new: NewRun) -> dict[str, int]:
    rows = [
        {
            "run_id": run,
            "name": task.name,
            "component": task.component,
            "upstream": list(task.upstream),
            "state": "NEW",
        }
        for task in new.tasks
    ]
    if not rows:
        return {}
    statement = insert(tables.task).returning(tables.task.c.id, sort_by_parameter_order=True)
    ids = connection.scalars(statement, rows).all()
    return {task.name: id_ for task, id_ in zip(new.tasks, ids, strict=True)}


def _unused_name(connection: Connection, new: NewRun) -> str:
    """Return a name such as taxi-20261201-131633-k3f9: in UTC, so that names sort by time."""
    pipeline = re.sub(r"[^a-z0-9]+", "-", new.pipeline.lower()).strip("-") or "run"
    time = datetime.fromtimestamp(new.started, UTC).strftime("%Y%m%d-%H%M%S")
    while True:
        name = f"{pipeline}-{time}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"
        if connection.scalar(select(tables.run.c.id).where(tables.run.c.name == name)) is None:
            return name


def _context(connection: Connection, type_: str, name: str, created: float) -> int:
    context = tables.context
    found = connection.scalar(select(context.c.id).where(context.c.type == type_, context.c.name == name))
    return found if found is not None else _insert_context(connection, type_, name, created)


def _insert_context(connection: Connection, type_: str, name: str, created: float) -> int:
    context = tables.context
    statement = insert(context).values(type=type_, name=name, created=created).returning(context.c.id)
    return int(connection.execute(statement).scalar_one())
