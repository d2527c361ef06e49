"""Which process something belongs to, and whether it still lives: for runs and for unfinished artifacts."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Owner:
    """A process. `started` tells it from a later one of the same number; it is "" where the system can't say."""

    host: str
    pid: int
    started: str

    @classmethod
    def current(cls) -> Self:
        """Return the process that asks."""
        pid = os.getpid()
        return cls(socket.gethostname(), pid, _start(pid) or "")

    def alive(self) -> bool | None:
        """Say whether the process still runs, or None where that can't be seen from this host."""
        if self.host != socket.gethostname():
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it is another user's, so it exists
        return not self.started or _start(self.pid) == self.started


def _start(pid: int) -> str | None:
    """Return when a process started, in the kernel's ticks; None for one that is gone, a zombie, or unknowable."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command, in parentheses, may hold spaces and parentheses itself.
    fields = status.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]
