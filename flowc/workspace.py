"""Where a component puts the files that it makes: a scratch folder of the task's, gone once they are stored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_scratch: ContextVar[Path | None] = ContextVar("scratch", default=None)


def workdir() -> Path:
    """Return a new, empty folder. In a task it lives until the outputs are stored; outside one it is temporary."""
    return Path(tempfile.mkdtemp(prefix="flowc-", dir=_scratch.get()))


@contextmanager
def scratch() -> Iterator[Path]:
    """Hold a folder that `workdir` makes its folders in, and remove it with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="flowc-task-", ignore_cleanup_errors=True) as folder:
        token = _scratch.set(Path(folder))
        try:
            yield Path(folder)
        finally:
            _scratch.reset(token)
