"""A run as text: what `flowc show` prints, and what `flowc run` says at its end."""

from __future__ import annotations

from collections.abc import Iterator

from flowc.cli.output import columns
from flowc.cli.words import colored, duration, facts, failure_words, first_line, moment, short_digest
from flowc.emit.text import printable, shown_value
from flowc.store.records import ArtifactRecord, RunRecord, TaskRecord
from flowc.view import RunView

_INDENT = "  "


def view_lines(view: RunView) -> Iterator[str]:
    """Return all of a run, line by line."""
    run = view.run
    yield from columns(
        [
            ("run", run.id),
            ("pipeline", f"{printable(run.pipeline)} ({printable(run.target)})"),
            ("state", state_of(run)),
            ("started", moment(run.started) + _took(run)),
            ("runner", printable(run.runner)),
        ]
    )
    yield from _section("parameters", _parameters(view))
    yield from _section("tasks", [_task_cells(view, task) for task in view.tasks])
    yield from _section("artifacts", [_artifact_cells(artifact) for artifact in view.artifacts])


def result_lines(view: RunView) -> Iterator[str]:
    """Return how a run ended and what the pipeline gave, line by line."""
    run = view.run
    yield f"{run.id} {state_of(run)}{_took(run)}"
    rows = [
        (printable(name), made.type, short_digest(made.stored.digest), facts(made.stored.summary))
        for name, made in view.outputs().items()
    ]
    yield from columns(rows, _INDENT)


def state_of(run: RunRecord) -> str:
    """Return a run's state; of one that can't go on, that its process is gone."""
    return colored(run.state) + (" (its process is gone)" if run.alive is False and run.ended is None else "")


def counts_of(run: RunRecord) -> str:
    """Return how many of a run's tasks are in which state."""
    return ", ".join(f"{count} {state}" for state, count in run.counts.items() if count)


def _took(run: RunRecord) -> str:
    return "" if run.ended is None else f", took {duration(run.ended - run.started)}"


def _section(title: str, rows: list[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield ""
        yield title
        yield from columns(rows, _INDENT)


def _parameters(view: RunView) -> list[tuple[str, ...]]:
    types = {parameter.name: parameter.type for parameter in view.pipeline.parameters}
    return [(printable(name), shown_value(types[name], value)) for name, value in view.run.parameters.items()]


def _task_cells(view: RunView, task: TaskRecord) -> tuple[str, ...]:
    role = view.role_of(task)
    component = printable(task.component) + (f" ({role})" if role else "")
    return (printable(task.name), colored(task.state), component, _time(task), _remark(task))


def _time(task: TaskRecord) -> str:
    last = task.executions[-1] if task.executions else None
    return duration(last.ended - last.started) if last and last.ended is not None else ""


def _remark(task: TaskRecord) -> str:
    attempts = f"{len(task.executions)} attempts" if len(task.executions) > 1 else ""
    error = task.executions[-1].error if task.executions else None
    why = failure_words(error) if error else task.reason or ""
    reused = task.executions[-1].reused if task.executions else None
    return first_line("; ".join(filter(None, (attempts, why, reused and f"from run {reused}"))))


def _artifact_cells(artifact: ArtifactRecord) -> tuple[str, ...]:
    stored, made = artifact.stored, artifact.producer
    consumers = ", ".join(f"{use.task}.{use.port}" for use in artifact.consumers)
    return (
        printable(f"{made.task}.{made.port}"),
        printable(artifact.type),
        short_digest(stored.digest),
        facts(stored.summary),
        printable(f"-> {consumers}") if consumers else "",
        printable(str(artifact.path)) if artifact.path else "",
    )
