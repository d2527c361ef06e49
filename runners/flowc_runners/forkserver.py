"""A small process that forks worker processes: it has the imports done, and sees to it that none outlives us.

multiprocessing has a fork server too, but imports the user's main script in each worker (so that a script needs its
`if __name__ == "__main__"`), shares one server with the user's own code, and lets grandchildren live on. Here:

- the server has no thread and nothing but flowc's worker loaded, so a fork is quick, safe and small;
- each worker leads a session of its own, and, on Linux, orphans of its making come to it, and to the server when it
  dies: whatever a killed task had started is found there and killed as well;
- when the driver is gone, even by SIGKILL, the server sees its pipe close, kills all and ends; should the server be
  killed, the kernel kills its workers.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle
from pathlib import Path

from flowc.engine.worker import execute
from flowc_runners.wire import Unpacker

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


@dataclass(frozen=True, slots=True)
class Start:
    """Fork a worker, with these variables set in its environment. Its socket follows; the answer is its pid, or
    a text that says why there is none."""

    worker: int
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill a worker and all that it started."""

    worker: int


@dataclass(frozen=True, slots=True)
class Close:
    """Wait some seconds for the workers to end by themselves, kill the others, and end."""

    grace: float


@dataclass(frozen=True, slots=True)
class Ending:
    """A worker and all that it started are gone. `status` is an exit code, or a signal's number, negated."""

    worker: int
    status: int


@dataclass(slots=True)
class _Server:
    requests: Connection
    endings: Connection
    pids: dict[int, int] = field(default_factory=dict)  # of live workers, to their numbers

    def serve(self) -> Connection | None:
        """Serve until the driver is done or gone. Returns None then; in each worker, like fork, its connection."""
        child_ended = _wakes_on_child_end()
        while True:
            for ready in wait([self.requests, child_ended]):
                if ready is child_ended:
                    with contextlib.suppress(BlockingIOError):
                        child_ended.recv(4096)
                    self._reap()
                    continue
                try:
                    request = self.requests.recv()
                except (EOFError, OSError):
                    self._close(0.0)
                    return None
                match request:
                    case Start():
                        if connection := self._start(request):
                            return connection
                    case Kill(worker=worker):
                        self._kill(worker)
                    case Close(grace=grace):
                        self._close(grace)
                        return None

    def _start(self, request: Start) -> Connection | None:
        handle = recv_handle(self.requests)
        os.set_inheritable(handle, False)
        connection = Connection(handle)
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            connection.close()
            self.requests.send(str(error))
            return None
        if pid == 0:
            self.requests.close()
            self.endings.close()
            _become_worker(server, request.environment)
            return connection
        self.pids[pid] = request.worker
        connection.close()
        self.requests.send(pid)
        return None

    def _kill(self, worker: int) -> None:
        for pid, number in self.pids.items():
            if number == worker:
                os.kill(pid, signal.SIGKILL)  # its group follows when it is reaped

    def _reap(self) -> None:
        """Report each worker that ended, after the rest of what it started is gone as well."""
        while ended := _ended_child():
            if ended in self.pids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(ended, signal.SIGKILL)
            _, status = os.waitpid(ended, 0)
            self._kill_strays()
            if ended in self.pids:
                ending = Ending(self.pids.pop(ended), os.waitstatus_to_exitcode(status))
                with contextlib.suppress(OSError):  # the driver is gone: the next request says so
                    self.endings.send(ending)

    def _kill_strays(self) -> None:
        """Kill what has come to us from dead workers. What live workers start stays with them."""
        while strays := [pid for pid in _children() if pid not in self.pids]:
            for pid in strays:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _close(self, grace: float) -> None:
        deadline = time.monotonic() + grace
        while self.pids and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.005)
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        while self.pids:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            self._reap()


def _ended_child() -> int | None:
    """Return the pid of a child that has ended and is not reaped yet, so that its pid is still its own."""
    try:
        info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return info.si_pid if info else None


def _children() -> list[int]:
    pid = os.getpid()
    try:
        return [int(child) for child in Path(f"/proc/self/task/{pid}/children").read_text().split()]
    except FileNotFoundError:  # not Linux: orphans don't come to us
        return []


def _wakes_on_child_end() -> socket.socket:
    """Return a socket that has something to read when a child has ended."""
    wakes, woken = socket.socketpair()
    wakes.setblocking(False)
    woken.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.detach(), warn_on_full_buffer=False)
    return woken


def _become_worker(server: int, environment: dict[str, str]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != server:
        os._exit(0)
    os.environ.update(environment)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def work(connection: Connection) -> None:
    """Execute calls until the driver closes the connection."""
    worker = os.getpid()
    faulthandler.enable(2)
    unpacker = Unpacker()
    for message in _messages(connection):
        result = execute(unpacker.unpack(message), own_process=True)
        if os.getpid() != worker:
            os._exit(0)  # a child that the task forked came out of it as well: one of us is enough
        connection.send(result)


def _messages(connection: Connection) -> Iterator[bytes]:
    while True:
        try:
            yield connection.recv_bytes()
        except (EOFError, ConnectionResetError):
            return


def main(requests: int, endings: int) -> None:
    """Be the fork server on two file descriptors; in a worker, be that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    gc.collect()
    gc.freeze()
    connection = _Server(Connection(requests), Connection(endings, readable=False)).serve()
    if connection is not None:
        work(connection)
