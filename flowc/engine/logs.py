"""What a task prints goes to its attempt's log: by file descriptor in a process of its own, else by `sys.stdout`."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TextIO


def take_over_output(log: Path) -> None:
    """Point this process's stdout and stderr at the log for good, also those of C code and of child processes.

    They stay there until the next call, so that what a thread or a child says late is in the log of the task that
    began it.
    """
    finish_output()
    log.parent.mkdir(parents=True, exist_ok=True)
    for number in (1, 2):  # opened apart, so that each one's offset tells where it has written
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout, sys.stderr = _line_buffered(1), _line_buffered(2)


def _line_buffered(descriptor: int) -> TextIO:
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def finish_output() -> None:
    """Write out what Python and C hold back, so that it lands in the log of the task that said it."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed or replaced by the task
            stream.flush()  # type: ignore[union-attr]
    ctypes.CDLL(None).fflush(None)


class _Copied(io.TextIOBase):
    """A text stream that goes to a log and to the terminal; everything else is as the terminal has it.

    The log is opened when there is something to write: to make a file would be most of a small task's cost.
    """

    def __init__(self, path: Path, terminal: TextIO) -> None:
        self._path = path
        self._log: IO[str] | None = None
        self._terminal = terminal

    def write(self, text: str) -> int:
        if self._log is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._log = self._path.open("a", buffering=1, encoding="utf-8", errors="backslashreplace")
        self._log.write(text)
        return self._terminal.write(text)

    def flush(self) -> None:
        if not self._terminal.closed:  # a stream that a test had put there may be gone before we are
            self._terminal.flush()

    def close_log(self) -> None:
        if self._log is not None:
            self._log.close()

    def isatty(self) -> bool:
        return self._terminal.isatty()

    def fileno(self) -> int:
        return self._terminal.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # ours is not to be set
        return self._terminal.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._terminal.errors

    def writable(self) -> bool:
        return True


@contextlib.contextmanager
def copied_output(log: Path) -> Iterator[None]:
    """Copy what Python code prints into the log, and show it on stderr, where a debugger's prompt appears too.

    stdout is left to the command's own result.
    """
    both = _Copied(log, sys.stderr)
    try:
        with contextlib.redirect_stdout(both), contextlib.redirect_stderr(both):
            yield
    finally:
        both.close_log()


def append(log: Path, text: str) -> None:
    """Write to the end of a log, for those who read it alone; where its disk is full, do without."""
    with contextlib.suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
