"""`flowc logs`: what the tasks of a run printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from flowc.cli.output import json_option, write_json, write_out
from flowc.cli.settings import settings_of, store_option
from flowc.emit.text import printable
from flowc.errors import NotFoundError, did_you_mean
from flowc.settings import Given
from flowc.store.metadata import open_store
from flowc.store.records import ExecutionRecord, TaskRecord


@click.command("logs")
@click.argument("run")
@click.argument("task", required=False)
@click.option("--attempt", type=click.IntRange(min=1), help="Which attempt of the task; the last by default.")
@store_option
@json_option
@click.pass_context
def logs_command(
    ctx: click.Context, run: str, task: str | None, attempt: int | None, store: Path | None, as_json: bool
) -> None:
    """Print what TASK wrote in RUN, or what all tasks of it wrote. RUN is an id, its beginning, or 'latest'."""
    with open_store(settings_of(ctx, Given(store=store)).store, create=False) as opened:
        found = opened.run(run)
        tasks = opened.tasks(found.id)
    chosen = tasks if task is None else [_named(task, tasks, found.id)]
    logs = [(each, execution) for each in chosen for execution in _attempts(each, attempt)]
    if task is not None and not logs:
        raise NotFoundError(_without_log(chosen[0], attempt))
    if as_json:
        write_json([_log_json(each, execution) for each, execution in logs])
        return
    for each, execution in logs:
        if task is None:
            write_out(f"--- {printable(each.name)} (attempt {execution.attempt}, {execution.state})")
        if text := _text(execution):
            write_out(text.rstrip("\n"))


def _named(name: str, tasks: list[TaskRecord], run: str) -> TaskRecord:
    known = {task.name: task for task in tasks}
    if name not in known:
        hint = did_you_mean(name, known) or f"its tasks are: {', '.join(known)}"
        raise NotFoundError(f"run '{run}' has no task '{name}'", hint=hint)
    return known[name]


def _attempts(task: TaskRecord, number: int | None) -> Iterator[ExecutionRecord]:
    if number is None:
        yield from task.executions[-1:]
    else:
        yield from (execution for execution in task.executions if execution.attempt == number)


def _without_log(task: TaskRecord, attempt: int | None) -> str:
    if not task.executions:
        return f"task '{task.name}' was not started: {task.reason or task.state}"
    return f"task '{task.name}' has no attempt {attempt}; it has {len(task.executions)}"


def _log_json(task: TaskRecord, execution: ExecutionRecord) -> dict[str, Any]:
    return {
        "task": task.name,
        "attempt": execution.attempt,
        "state": execution.state,
        "log": str(execution.log) if execution.log else None,
        "text": _text(execution),
    }


def _text(execution: ExecutionRecord) -> str:
    """Return an attempt's log; empty where it wrote nothing, and so has no file."""
    if execution.log is None or not execution.log.exists():
        return ""
    return execution.log.read_text(encoding="utf-8", errors="backslashreplace")
