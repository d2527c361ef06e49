"""Tasks in the engine's own process, one at a time: for debugging. A breakpoint in a component stops there."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import FrameType

from flowc.engine.interrupts import current_interrupts
from flowc.engine.worker import execute
from flowc.ir import Resources
from flowc.runner import TaskCall, TaskResult
from flowc_runners.machine import machine_resources


class InlineRunner:
    """Executes each call before `submit` returns. It can't kill a task, so timeouts do not apply."""

    def __init__(self) -> None:
        self._capacity = machine_resources()

    @property
    def capacity(self) -> Resources:
        """The whole machine, for one task at a time."""
        return self._capacity

    def submit(self, call: TaskCall) -> Future[TaskResult]:
        """Execute the call, and return a future that is done."""
        future: Future[TaskResult] = Future()
        with _killing_raises():
            if _killing():
                future.cancel()
                future.set_running_or_notify_cancel()
                return future
            future.set_running_or_notify_cancel()
            future.set_result(execute(call))
        return future

    def cancel(self, future: Future[TaskResult]) -> None:
        """Do nothing: every future that we gave out is done."""

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def _killing() -> bool:
    interrupts = current_interrupts()
    return interrupts is not None and interrupts.killing


@contextmanager
def _killing_raises() -> Iterator[None]:
    """Let a signal stop the task once what runs is to be killed: nothing else can, in this process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def interrupted(number: int, frame: FrameType | None) -> None:
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
        if _killing():
            raise KeyboardInterrupt

    taken = [number for number, handler in before.items() if callable(handler)]
    for number in taken:
        signal.signal(number, interrupted)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])
