"""Running a step where an event loop runs already, as in a cell of Jupyter: in a thread of its own.

A loop can't run inside another one in the same thread. Cells get what they get in a kernel, a running loop, all the
same.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import closing, suppress
from typing import Any, TypeVar

R = TypeVar("R")


def run_in_loop(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine in a loop of its own, in this thread if no other loop runs here, and return its result."""
    loop = asyncio.new_event_loop()
    return _run_in_own_thread(loop, coroutine) if _loop_runs_here() else _run(loop, coroutine)


def _loop_runs_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, R]) -> R:
    # The runner ends what is left in the loop; its own `run` would take SIGINT over.
    with closing(asyncio.Runner(loop_factory=lambda: loop)) as runner:
        return runner.get_loop().run_until_complete(coroutine)


def _run_in_own_thread(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, R]) -> R:
    """Run it in a thread; what interrupts us here is raised there."""
    future: Future[R] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(_run, loop, coroutine))
        except BaseException as error:  # noqa: BLE001  # it is raised again where we wait
            future.set_exception(error)

    thread = threading.Thread(target=run, name="flowc-step", daemon=True)
    thread.start()
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as error:  # noqa: BLE001  # the step's end says what came of it
            _raise_in(thread, type(error))
            with suppress(RuntimeError):  # it is closed: the step has just ended
                loop.call_soon_threadsafe(lambda: None)  # where it waits, it takes no notice by itself
    return future.result()


def _raise_in(thread: threading.Thread, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(error))
