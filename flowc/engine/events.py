"""What happens in a run, as data. An event reaches its listener after the store has it for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from flowc.errors import TaskError
from flowc.store.records import Basis, PastExecution
from flowc.store.stored import Stored

EndState = Literal["COMPLETE", "FAILED", "CANCELED"]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began. `tasks` are in the plan's order."""

    run: str
    pipeline: str
    tasks: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """An attempt of a task is handed to the runner. Attempts count from 1."""

    run: str
    task: str
    attempt: int
    at: float
    log: Path


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """An attempt of a task ended. `retry_in` is the number of seconds to the next one, if there is to be one."""

    run: str
    task: str
    attempt: int
    state: EndState
    started: float
    at: float
    worker: str = ""
    outputs: Mapping[str, Stored] = field(default_factory=dict)
    error: TaskError | None = None
    retry_in: float | None = None
    basis: Basis | None = None


@dataclass(frozen=True, slots=True)
class TaskReused:
    """A task takes over what an earlier execution made, and is not executed."""

    run: str
    task: str
    past: PastExecution
    at: float


@dataclass(frozen=True, slots=True)
class TaskSkipped:
    """A task will not run: something that it needs failed, the run was interrupted before its turn, or it was left
    out."""

    run: str
    task: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run ended; no event of it follows."""

    run: str
    state: EndState
    at: float


Event = RunStarted | TaskStarted | TaskEnded | TaskReused | TaskSkipped | RunEnded
Listener = Callable[[Event], None]
