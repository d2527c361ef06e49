"""Where a component puts the files that it makes: folders of the task's, gone once they are stored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path

_task: ContextVar[ExitStack | None] = ContextVar("task", default=None)


def workdir() -> Path:
    """Return a new, empty folder. In a task it lives until the outputs are stored; outside one it is temporary."""
    task = _task.get()
    if task is None:
        return Path(tempfile.mkdtemp(prefix="flowc-"))
    folder = tempfile.TemporaryDirectory(prefix="flowc-task-", ignore_cleanup_errors=True)
    return Path(task.enter_context(folder))


@contextmanager
def scratch() -> Iterator[None]:
    """Remove the folders that `workdir` makes in the meantime, with all that is in them."""
    with ExitStack() as task:
        token = _task.set(task)
        try:
            yield
        finally:
            _task.reset(token)
