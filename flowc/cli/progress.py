"""How a run is going, on stderr: a line for each change of state; on a terminal, what runs now stands below them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flowc.cli.output import note
from flowc.cli.words import colored, duration, failure_words, first_line
from flowc.emit.text import printable
from flowc.engine.events import (
    Event,
    Listener,
    RunEnded,
    RunStarted,
    TaskEnded,
    TaskReused,
    TaskSkipped,
    TaskStarted,
)

if TYPE_CHECKING:
    from rich.text import Text

_MOST_SHOWN = 8


@contextmanager
def progress(*, live: bool, stopping: Callable[[], bool]) -> Iterator[Listener]:
    """Give a listener that shows events. `live` asks for the live part, where stderr is a terminal.

    `stopping` says whether the run was asked to stop. Where nobody reads stderr any more, a run goes on unseen.
    """
    if live and sys.stderr.isatty():
        with _live_progress(stopping) as listener:
            yield listener
    else:
        yield _Lines().show


class _Lines:
    """Shows each event as a line."""

    def __init__(self) -> None:
        self._read = True

    def show(self, event: Event) -> None:
        try:
            if self._read:
                note(line_of(event))
        except BrokenPipeError:
            self._read = False


@contextmanager
def _live_progress(stopping: Callable[[], bool]) -> Iterator[Listener]:
    from rich.console import Console  # a tenth of a second, for those who look on
    from rich.live import Live
    from rich.text import Text

    running = _Running(stopping)
    console = Console(stderr=True, highlight=False)
    with Live(console=console, get_renderable=running.text, transient=True):

        def show(event: Event) -> None:
            running.take(event)
            if not isinstance(event, TaskStarted):
                console.print(Text.from_ansi(line_of(event)), soft_wrap=True)

        yield show


class _Running:
    """What runs now. Rich draws it from a thread of its own."""

    def __init__(self, stopping: Callable[[], bool]) -> None:
        self._stopping = stopping
        self._tasks: dict[str, float] = {}
        self._total = self._ended = 0

    def take(self, event: Event) -> None:
        match event:
            case RunStarted(tasks=tasks):
                self._total = len(tasks)
            case TaskStarted(task=task, at=at):
                self._tasks[task] = at
            case TaskEnded(task=task, retry_in=retry_in):
                del self._tasks[task]
                self._ended += retry_in is None
            case TaskSkipped() | TaskReused():
                self._ended += 1

    def text(self) -> Text:
        from rich.text import Text

        now = time.time()
        tasks = list(self._tasks.items())
        lines = [f"  {printable(task)}  {duration(now - at)}" for task, at in tasks[:_MOST_SHOWN]]
        if len(tasks) > _MOST_SHOWN:
            lines.append(f"  and {len(tasks) - _MOST_SHOWN} more")
        if self._stopping():
            lines.append("stopping when these have ended; Ctrl-C again kills them")
        lines.append(f"{self._ended} of {self._total} tasks ended, {len(tasks)} running")
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


def line_of(event: Event) -> str:
    """Return the line that says what happened."""
    match event:
        case RunStarted():
            return f"{_state('RUNNING')} run {event.run} of {printable(event.pipeline)}: {len(event.tasks)} task(s)"
        case TaskStarted():
            again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
            return f"{_state('RUNNING')} {printable(event.task)}{again}"
        case TaskEnded():
            why = f": {first_line(failure_words(event.error))}" if event.error else ""
            again = f"; next attempt in {duration(event.retry_in)}" if event.retry_in is not None else ""
            return f"{_state(event.state)} {printable(event.task)} ({duration(event.at - event.started)}){why}{again}"
        case TaskReused():
            return f"{_state('CACHED')} {printable(event.task)}: from run {event.past.run}"
        case TaskSkipped():
            return f"{_state('SKIPPED')} {printable(event.task)}: {event.reason}"
        case RunEnded():
            return f"{_state(event.state)} run {event.run}"


def _state(state: str) -> str:
    return colored(state, state.ljust(len("COMPLETE")))
