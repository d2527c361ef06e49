"""A run as JSON: what `--json` of `flowc run`, `flowc runs` and `flowc show` has. Times are ISO 8601, in UTC."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flowc.store.records import ArtifactRecord, ExecutionRecord, RunRecord, TaskRecord
from flowc.view import RunView


def run_json(run: RunRecord) -> dict[str, Any]:
    """Return the record of a run by itself."""
    return {
        "run": run.id,
        "pipeline": run.pipeline,
        "target": run.target,
        "runner": run.runner,
        "state": run.state,
        "alive": run.alive,
        "error": run.error,
        **_times(run.started, run.ended),
        "parameters": run.parameters,
        "counts": run.counts,
    }


def view_json(view: RunView, store: Path) -> dict[str, Any]:
    """Return a run with its tasks, artifacts and outputs; `store` is where it is recorded."""
    outputs = view.outputs()
    return {
        **run_json(view.run),
        "store": str(store),
        "notebook": str(view.notebook) if view.notebook else None,
        "outputs": {
            name: {"artifact": made.id, "digest": made.stored.digest} for name, made in outputs.items()
        },
        "tasks": [_task(view, task) for task in view.tasks],
        "artifacts": [_artifact(artifact) for artifact in view.artifacts],
    }


def _task(view: RunView, task: TaskRecord) -> dict[str, Any]:
    return {
        "name": task.name,
        "component": task.component,
        "role": view.role_of(task),
        "state": task.state,
        "reason": task.reason,
        "upstream": task.upstream,
        "attempts": [_attempt(execution) for execution in task.executions],
    }


def _attempt(execution: ExecutionRecord) -> dict[str, Any]:
    return {
        "attempt": execution.attempt,
        "state": execution.state,
        **_times(execution.started, execution.ended),
        "worker": execution.worker,
        "log": str(execution.log) if execution.log else None,
        "error": asdict(execution.error) if execution.error else None,
    }


def _artifact(artifact: ArtifactRecord) -> dict[str, Any]:
    return {
        "id": artifact.id,
        "type": artifact.type,
        "digest": artifact.stored.digest,
        "size": artifact.stored.size,
        "codec": artifact.stored.codec,
        "python_type": artifact.stored.python_type,
        "summary": artifact.stored.summary,
        "path": str(artifact.path) if artifact.path else None,
        "producer": {"task": artifact.producer.task, "port": artifact.producer.port},
        "consumers": [{"task": use.task, "port": use.port} for use in artifact.consumers],
    }


def _times(started: float, ended: float | None) -> dict[str, Any]:
    return {
        "started": _iso(started),
        "ended": None if ended is None else _iso(ended),
        "seconds": None if ended is None else round(ended - started, 3),
    }


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
