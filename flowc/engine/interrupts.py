"""Requests to stop a run: Ctrl-C once lets running tasks end, twice kills them; SIGTERM kills at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_CLEANLY, _AT_ONCE = 1, 2
_current: ContextVar[Interrupts | None] = ContextVar("interrupts", default=None)


def current_interrupts() -> Interrupts | None:
    """Return the requests that a run in this thread heeds, or None outside of one."""
    return _current.get()


class Interrupts:
    """How urgently a run is to stop. `request` may be called from any thread, or from a signal handler."""

    def __init__(self) -> None:
        self._urgency = 0
        self._wake: Callable[[], None] = lambda: None

    @property
    def stopping(self) -> bool:
        """Nothing more is to start."""
        return self._urgency >= _CLEANLY

    @property
    def killing(self) -> bool:
        """What runs is to be killed."""
        return self._urgency >= _AT_ONCE

    def request(self, *, at_once: bool = False) -> None:
        """Ask the run to stop; a second time, or `at_once`, to kill what runs."""
        self._urgency += _AT_ONCE if at_once else _CLEANLY
        self._wake()

    @contextmanager
    def heeded(self, wake: Callable[[], None]) -> Iterator[None]:
        """Take SIGINT and SIGTERM as requests, where this is the main thread; `wake` is called at each request.

        It must be safe in a signal handler, as `SimpleQueue.put` is.
        """
        self._wake = wake
        token = _current.set(self)
        try:
            with self._signals_taken():
                yield
        finally:
            _current.reset(token)

    @contextmanager
    def _signals_taken(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous: dict[int, Any] = {
            signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: self.request()),
            signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: self.request(at_once=True)),
        }
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
