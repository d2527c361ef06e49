"""What is written to the metadata store and read from it, as frozen values. Times are seconds since the epoch.

The states are ML Metadata's, and SKIPPED for a task that could not run because another failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from flowc.errors import TaskError
from flowc.store.stored import Stored

RunState = Literal["RUNNING", "COMPLETE", "FAILED", "CANCELED"]
TaskState = Literal["NEW", "RUNNING", "COMPLETE", "FAILED", "CACHED", "CANCELED", "SKIPPED"]


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task that a run means to execute."""

    name: str
    component: str
    upstream: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that begins. `parameters` are JSON data, secrets masked already; `ir` is the pipeline's JSON text."""

    pipeline: str
    target: str
    runner: str
    started: float
    ir: str
    tasks: tuple[PlannedTask, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    experiment: str | None = None
    user: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class FromOutput:
    """An input that is an output of another task of the same run."""

    task: str
    port: str


Origin = int | FromOutput
"""Where an input comes from: an artifact's id, or another task's output."""


@dataclass(frozen=True, slots=True)
class Made:
    """An output: the stored value, and its declared type in words, such as "Dataset[Trip]"."""

    stored: Stored
    type: str


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """An attempt begins: an execution."""

    run: str
    task: str
    attempt: int
    at: float
    worker: str | None = None
    log: Path | None = None
    inputs: Mapping[str, Origin] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CodeRecord:
    """The project's code that a task reaches, as `flowc.python.reach` tells it."""

    digest: str
    definitions: Mapping[str, str]
    distributions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Basis:
    """What an execution's results stand on: equal bases give equal results.

    `fingerprint` is over code, argument values and the content of inputs; `recipe` over code, argument values and the
    recipes of the tasks above, so that it is known before these have run. `parts` is what both are made of, as JSON.
    `files` are the digests of files that the task used by itself, by path. `unrepeatable` says in words why an
    execution with this basis might give something else.
    """

    fingerprint: str
    recipe: str
    code: CodeRecord
    parts: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    unrepeatable: str | None = None


@dataclass(frozen=True, slots=True)
class BasisRecord:
    """The basis of a task's last execution in a run. One that took over results has no basis of its own: `reused` is
    the run that they came from."""

    run: str
    task: str
    state: TaskState
    reused: str | None
    basis: Basis | None


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """An attempt is over."""

    run: str
    task: str
    attempt: int
    at: float
    state: Literal["COMPLETE", "FAILED", "CANCELED"]
    outputs: Mapping[str, Made] = field(default_factory=dict)
    error: TaskError | None = None
    inputs: Mapping[str, Origin] = field(default_factory=dict)
    worker: str | None = None
    basis: Basis | None = None


@dataclass(frozen=True, slots=True)
class PastOutput:
    """An output of an earlier execution, with the artifact's id."""

    artifact: int
    stored: Stored


@dataclass(frozen=True, slots=True)
class PastExecution:
    """An execution that ended well, in the run `run`, whose results may be taken over."""

    id: int
    run: str
    task: str
    ended: float
    log: Path | None
    fingerprint: str
    recipe: str
    files: Mapping[str, str]
    unrepeatable: str | None
    outputs: Mapping[str, PastOutput]


@dataclass(frozen=True, slots=True)
class TaskReused:
    """A task takes over the results of an earlier execution and is not executed: its state is CACHED."""

    run: str
    task: str
    at: float
    past: PastExecution
    inputs: Mapping[str, Origin] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskSkipped:
    """A task will not be executed in this run."""

    run: str
    task: str
    at: float
    reason: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run is over."""

    run: str
    at: float
    state: Literal["COMPLETE", "FAILED", "CANCELED"]
    error: str | None = None


Change = TaskStarted | TaskEnded | TaskReused | TaskSkipped | RunEnded


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run. `alive` says whether its process still runs: None where the run is over, or on another host.

    `counts` has the number of its tasks by state.
    """

    id: str
    pipeline: str
    target: str
    runner: str
    state: RunState
    started: float
    ended: float | None
    parameters: dict[str, Any]
    experiment: str | None
    user: str | None
    commit: str | None
    host: str
    pid: int
    alive: bool | None
    error: str | None
    counts: dict[TaskState, int]


@dataclass(frozen=True, slots=True)
class ExecutionRecord:
    """One attempt of a task; `reused` is the run whose results it took over, if it did."""

    attempt: int
    state: TaskState
    started: float
    ended: float | None
    worker: str | None
    log: Path | None
    error: TaskError | None
    reused: str | None = None


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task of a run with its attempts, the first one first; `reason` says why it was skipped."""

    name: str
    component: str
    upstream: tuple[str, ...]
    state: TaskState
    reason: str | None
    executions: tuple[ExecutionRecord, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """A port of a task in a run."""

    run: str
    task: str
    port: str


@dataclass(frozen=True, slots=True)
class ArtifactRecord:
    """An artifact. `path` is the folder of its files, None for a small value that has none.

    Read with a run, `producer` and `consumers` are those in that run; read by itself, the task that first made
    it, and all consumers.
    """

    id: int
    type: str
    stored: Stored
    path: Path | None
    created: float
    producer: Use
    consumers: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class StateChange:
    """A run (`task` is None) or a task came into a state."""

    at: float
    task: str | None
    attempt: int | None
    state: RunState | TaskState
    reason: str | None
