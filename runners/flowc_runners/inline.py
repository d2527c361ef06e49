"""Tasks in the engine's own process, one at a time: for debugging. A breakpoint in a component stops there."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import FrameType

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
        future.set_running_or_notify_cancel()
        with _second_interrupt_raises():
            future.set_result(execute(call))
        return future

    def cancel(self, future: Future[TaskResult]) -> None:
        """Do nothing: every future that we gave out is done."""

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


@contextmanager
def _second_interrupt_raises() -> Iterator[None]:
    """Hand the first Ctrl-C on to who waits for it; let the second one stop the task, which nothing else can."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    interrupts = 0

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal interrupts
        interrupts += 1
        before(number, frame)
        if interrupts > 1:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
