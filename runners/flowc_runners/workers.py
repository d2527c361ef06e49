"""The driver's side of the fork server: start a worker process, talk to it, kill it, see it gone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import send_handle

from flowc.errors import RunnerError
from flowc.runner import TaskResult, WorkerLostError
from flowc_runners.forkserver import Close, Ending, Kill, Start
from flowc_runners.machine import share_of_machine


@dataclass(frozen=True, slots=True)
class Share:
    """What a worker process has of the machine, fixed when it starts."""

    threads: int
    gpus: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Worker:
    """A worker process. `known` are the shared objects that were sent to it; `future` is that of its present call."""

    number: int
    pid: int
    connection: Connection
    share: Share
    known: set[int] = field(default_factory=set)
    future: Future[TaskResult] | None = None
    canceled: bool = False
    gone: threading.Event = field(default_factory=threading.Event)

    def dismiss(self) -> None:
        """Let an idle worker end as a Python process ends by itself."""
        # Where it has ended already, there is nothing to let go.
        with (
            contextlib.suppress(OSError),
            socket.socket(fileno=os.dup(self.connection.fileno())) as side,
        ):
            side.shutdown(socket.SHUT_WR)


class ForkServer:
    """The fork server's process. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = 0
        self._requests, requests = Pipe()
        self.endings, endings = Pipe(duplex=False)
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from flowc_runners.forkserver import main; "
            f"main({requests.fileno()}, {endings.fileno()})"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(requests.fileno(), endings.fileno()),
            start_new_session=True,  # out of reach of the terminal's Ctrl-C, which is for the engine
        )
        requests.close()
        endings.close()

    def start(self, share: Share) -> Worker:
        """Start a worker process; RunnerError where the system refuses."""
        connection, theirs = Pipe()
        with self._lock, theirs:
            self._started += 1
            try:
                self._requests.send(Start(self._started, share_of_machine(share.threads, share.gpus)))
                send_handle(self._requests, theirs.fileno(), self._process.pid)
                answer = self._requests.recv()
            except (EOFError, OSError) as error:
                connection.close()
                raise self._gone() from error
            if isinstance(answer, str):
                connection.close()
                raise RunnerError(f"can't start a worker process: {answer}")
            return Worker(self._started, answer, connection, share)

    def kill(self, worker: Worker) -> None:
        """Have a worker and all that it started killed; its ending is reported when they are gone."""
        with self._lock:
            self._requests.send(Kill(worker.number))

    def close(self, grace: float) -> None:
        """Give dismissed workers some seconds to end, kill the others, and see all of them gone."""
        with self._lock:
            with contextlib.suppress(OSError):  # it is gone already
                self._requests.send(Close(grace))
            self._process.wait()
            self._requests.close()

    def _gone(self) -> RunnerError:
        status = self._process.wait()
        return RunnerError(f"the process that starts workers is gone: it {how_it_ended(status)}")


def lost(ending: Ending) -> WorkerLostError:
    """Return the error that says how a worker ended in the middle of a task."""
    message = f"the worker process {how_it_ended(ending.status)} before the task was done"
    if ending.status == -signal.SIGKILL:
        hint = "by the system if memory ran out: give the task more memory=, or run fewer tasks at a time"
    elif ending.status < 0:
        hint = "compiled code crashed, or somebody sent the signal: the task's log may say where"
    else:
        hint = "something called os._exit, or a library ended the process: see the task's log"
    return WorkerLostError(message, hint=hint)


def how_it_ended(status: int) -> str:
    """Return a process's exit status in words."""
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
