"""Tasks in warm worker processes on this machine.

A worker is forked when a call finds none idle, and is kept: the one that was used last is used first, so that a
chain of tasks stays where TensorFlow is imported already. A worker's libraries get as many threads as its task has
cpus (`OMP_NUM_THREADS` and its like, unless you set them), since several tasks run side by side; and it sees the GPUs
that its task was given and no others. Both are fixed when a process starts, so a worker is used again only for
tasks that ask for the same.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import selectors
import signal
import threading
import time
from concurrent.futures import Future

from flowc.errors import CancelledError, RunnerError, TaskError
from flowc.ir import Resources
from flowc.runner import TaskCall, TaskResult, WorkerLostError
from flowc_runners.forkserver import Ending
from flowc_runners.machine import machine_resources, visible_gpus
from flowc_runners.wire import Packer
from flowc_runners.workers import ForkServer, Share, Worker, lost

# Tasks that ask for a fraction of a cpu, or none, still cost a process each.
_PROCESSES_PER_CPU = 10
# How long an idle worker may take to end by itself, with its atexit functions, when the runner is closed.
_GRACE = 2.0


class LocalRunner:
    """Worker processes on this machine, as many at a time as `workers` (the cpus there are) lets run.

    A thread of its own takes in what the workers send. The first call starts the first process.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise RunnerError(f"the local runner needs at least one worker, not {workers}")
        machine = machine_resources()
        cpus = workers or machine.cpus
        self._capacity = machine.model_copy(
            update={"cpus": cpus, "processes": math.ceil(cpus) * _PROCESSES_PER_CPU}
        )
        self._gpus = visible_gpus()
        self._packer = Packer()
        self._lock = threading.Lock()  # over the workers' state, which the thread changes too
        self._workers: dict[int, Worker] = {}
        self._idle: list[Worker] = []  # the one used last at the end
        self._selector = selectors.DefaultSelector()
        self._server: ForkServer | None = None
        self._listener = threading.Thread(target=self._listen, name="flowc-workers", daemon=True)
        self._closed = False

    @property
    def capacity(self) -> Resources:
        """The machine's memory and GPUs, and as many cpus as there are to be workers."""
        return self._capacity

    def submit(self, call: TaskCall) -> Future[TaskResult]:
        """Send the call to an idle worker that fits, or to a new one."""
        future: Future[TaskResult] = Future()
        future.set_running_or_notify_cancel()
        if call.resources.processes > 1:
            future.set_result(_refused(_gang(call)))
            return future
        while True:
            worker = self._take_worker(call)
            try:
                message = self._packer.pack(call, worker.known)
            except Exception as error:  # noqa: BLE001  # whatever pickling an argument of the user's raises
                self._put_back(worker)
                future.set_result(_refused(_unsendable(call, error)))
                return future
            if self._sent(worker, message, future):
                return future

    def cancel(self, future: Future[TaskResult]) -> None:
        """Kill the worker that has the call, with all that it started; the future ends with a CancelledError."""
        with self._lock:
            having = [worker for worker in self._workers.values() if worker.future is future]
            for worker in having:
                worker.canceled = True
        for worker in having:
            self._kill(worker)

    def close(self) -> None:
        """End all workers, idle ones as Python processes end, busy ones at once."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            idle, self._idle = self._idle, []
            busy = [worker for worker in self._workers.values() if worker.future]
        if self._server is None:
            self._selector.close()
            return
        for worker in busy:
            self._kill(worker)
        for worker in idle:
            worker.dismiss()
        self._server.close(_GRACE)
        self._listener.join()
        self._selector.close()

    def _take_worker(self, call: TaskCall) -> Worker:
        """Return a worker with the share of the machine that the call asks for, taken off the idle ones."""
        with self._lock:
            if self._closed:
                raise RunnerError("the local runner is closed")
            share = Share(max(1, math.ceil(call.resources.cpus)), self._gpus_for(call.resources.gpus))
            fitting = [worker for worker in self._idle if worker.share == share]
            if fitting:
                self._idle.remove(fitting[-1])
                return fitting[-1]
            in_the_way = [worker for worker in self._idle if set(worker.share.gpus) & set(share.gpus)]
            self._idle = [worker for worker in self._idle if worker not in in_the_way]
        for worker in in_the_way:  # it holds the memory of a GPU that is to be used with others now
            self._kill(worker)
            worker.gone.wait()
        return self._started(share)

    def _gpus_for(self, count: int) -> tuple[str, ...]:
        """Return GPUs that no task holds: those of an idle worker if possible."""
        taken = {gpu for worker in self._workers.values() if worker.future for gpu in worker.share.gpus}
        for worker in reversed(self._idle):
            if len(worker.share.gpus) == count and not taken & set(worker.share.gpus):
                return worker.share.gpus
        return tuple(gpu for gpu in self._gpus if gpu not in taken)[:count]

    def _started(self, share: Share) -> Worker:
        if self._server is None:
            self._server = ForkServer()
            self._selector.register(self._server.endings, selectors.EVENT_READ)
            self._listener.start()
        with self._lock:  # so that the listener hears of its end only after we know it
            worker = self._server.start(share)
            self._workers[worker.number] = worker
            # epoll and kqueue take a new connection while the listener waits in them.
            self._selector.register(worker.connection, selectors.EVENT_READ, worker)
        return worker

    def _sent(self, worker: Worker, message: bytes, future: Future[TaskResult]) -> bool:
        """Say whether the worker is now answerable for the future; not if it died while it was idle."""
        worker.future = future
        try:
            worker.connection.send_bytes(message)
        except OSError:
            with self._lock:
                mine, worker.future = worker.future is future, None
            return not mine  # the listener may have seen the death, and failed the future, before us
        return True

    def _put_back(self, worker: Worker) -> None:
        with self._lock:
            if not self._closed and worker.number in self._workers:
                self._idle.append(worker)

    def _kill(self, worker: Worker) -> None:
        if self._server is not None:
            with contextlib.suppress(OSError):  # the server is gone, and the listener ends everything
                self._server.kill(worker)

    def _listen(self) -> None:
        """Take in results and endings until the server has ended. Runs in the listener's thread."""
        try:
            while True:
                for key, _ in self._selector.select():
                    if key.data is not None:
                        self._take_in(key.data)
                    elif not self._take_in_ending():
                        return
        finally:
            self._end_all()

    def _take_in(self, worker: Worker) -> None:
        if worker.gone.is_set():
            return
        result = _received(worker)
        if result is None:
            self._hear_no_more_of(worker)
            # It is ending, or its task closed what is not its own: then it is of no more use.
            if worker.future:
                self._kill(worker)
            return
        with self._lock:
            future, worker.future = worker.future, None
            if not (worker.canceled or self._closed):
                self._idle.append(worker)
            spare = self._idle.pop(0) if len(self._idle) > self._capacity.cpus else None
        if spare:
            spare.dismiss()
        if future:
            future.set_result(result)

    def _take_in_ending(self) -> bool:
        """Take in that a worker has ended; say whether the server is still there."""
        try:
            ending: Ending = self._server.endings.recv()  # type: ignore[union-attr]  # there while we listen
        except (EOFError, OSError):
            return False
        with self._lock:
            worker = self._workers[ending.worker]
        self._forget(worker, lost(ending))
        return True

    def _hear_no_more_of(self, worker: Worker) -> None:
        with contextlib.suppress(KeyError):  # its end may be seen twice: on its connection, and reported
            self._selector.unregister(worker.connection)

    def _end_all(self) -> None:
        """Leave no process and no future behind when the server has ended, by our wish or not."""
        error = WorkerLostError("the process that starts workers was killed, and its workers with it")
        for worker in list(self._workers.values()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(worker.pid, signal.SIGKILL)
            self._forget(worker, error)

    def _forget(self, worker: Worker, error: WorkerLostError) -> None:
        """Complete what an ended worker had: with the result that it still sent, or with an error."""
        result = _received(worker) if worker.future and worker.connection.poll() else None
        with self._lock:
            del self._workers[worker.number]
            self._idle = [other for other in self._idle if other is not worker]
            future, worker.future = worker.future, None
            worker.gone.set()
        self._hear_no_more_of(worker)
        worker.connection.close()
        if future and result:
            future.set_result(result)
        elif future:
            future.set_exception(CancelledError("killed on request") if worker.canceled else error)


def _received(worker: Worker) -> TaskResult | None:
    """Return a result that a worker has sent; None where it has ended, or closed its side, instead."""
    try:
        result: TaskResult = worker.connection.recv()
    except (EOFError, OSError):
        return None
    return result


def _gang(call: TaskCall) -> TaskError:
    message = (
        f"the task asks for {call.resources.processes} processes, and the local runner gives each task one"
    )
    return TaskError(
        "RunnerError", message, hint="take processes= away, or choose a runner that starts gangs"
    )


def _unsendable(call: TaskCall, error: Exception) -> TaskError:
    """Return the error that names the inputs that can't be pickled."""
    names = [f"'{name}'" for name, given in call.inputs.items() if not _picklable(given)]
    message = f"can't send input {', '.join(names)} to a worker process: {error}"
    hint = "make the value in a component, or use the inline runner, which sends nothing"
    return TaskError(type(error).__name__, message, hint=hint)


def _picklable(value: object) -> bool:
    try:
        pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001  # whatever the value's own class raises
        return False
    return True


def _refused(error: TaskError) -> TaskResult:
    now = time.time()
    return TaskResult(started=now, ended=now, worker="", error=error)
