"""For users' own tests of pipelines, and ours: a store that is gone afterwards, a runner that keeps what it was told.

with temporary_store() as store:
    result = run_plan(plan, runner=RecordingRunner(), store=store, label=RunLabel("test", "recording"))
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flowc.check import check_pipeline
from flowc.engine.worker import execute
from flowc.ir import Resources
from flowc.plan import Plan, make_plan
from flowc.project import find_root
from flowc.python.compile import compile_file
from flowc.runner import TaskCall, TaskResult
from flowc.store.metadata import Store, open_store


def plan_file(path: Path, name: str | None = None, /, **arguments: Any) -> Plan:
    """Compile, check and plan the pipeline of this name in a Python file, or its only one."""
    root = find_root(path)
    pipeline, diagnostics = compile_file(path, name, root)
    return make_plan(check_pipeline(pipeline, diagnostics), arguments, root)


class RecordingRunner:
    """Executes each call in this process, and keeps it in `calls`, in the order of execution."""

    def __init__(self, capacity: Resources | None = None) -> None:
        self.calls: list[TaskCall] = []
        self._capacity = capacity or Resources(cpus=1024, memory=2**50, gpus=1024)

    @property
    def capacity(self) -> Resources:
        """More than any task asks for, unless it was said otherwise; one task at a time."""
        return self._capacity

    def submit(self, call: TaskCall) -> Future[TaskResult]:
        """Keep and execute the call; the future is done."""
        self.calls.append(call)
        future: Future[TaskResult] = Future()
        future.set_running_or_notify_cancel()
        future.set_result(execute(call))
        return future

    def cancel(self, future: Future[TaskResult]) -> None:
        """Do nothing: every future is done."""

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


@contextmanager
def temporary_store() -> Iterator[Store]:
    """Hold a new store in a folder of its own, and remove both."""
    with (
        tempfile.TemporaryDirectory(prefix="flowc-store-") as folder,
        open_store(Path(folder) / ".flowc", create=True) as store,
    ):
        yield store
