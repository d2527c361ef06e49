"""What a runner is, and what passes between the engine and it. Runner authors implement `Runner`, nothing more.

The engine submits a `TaskCall`; the runner has it executed, where and how it likes, by
`flowc.engine.worker.execute`, and completes the future with the `TaskResult` that this returns. A task that
fails is a result with an error, not an exception: the future gets an exception only where the runner lost the
call, as when a worker process was killed (`WorkerLostError`).
"""

from __future__ import annotations

import pickle
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from flowc.errors import RunnerError, TaskError
from flowc.ir import Cell, Code, Component, Resources
from flowc.store.stored import Stored


@dataclass(frozen=True, slots=True)
class Literal:
    """An input whose value travels with the call: a parameter or a constant, as a Python value.

    Its repr shows nothing of the value, which may be secret. A notebook's step gets the value as it is `written`
    there, where that differs: with relative paths.
    """

    value: Any = field(repr=False)
    written: Any = field(repr=False, default=None)

    @property
    def passed(self) -> Any:
        """What the task gets."""
        return self.value if self.written is None else self.written

    def __reduce__(self) -> tuple[object, ...]:
        # A call must be readable before the project's modules are imported, which the value may need.
        return (Packed, (pickle.dumps(self.passed, pickle.HIGHEST_PROTOCOL),))


@dataclass(frozen=True, slots=True)
class Packed:
    """What a `Literal` becomes when it is pickled: its value, still to be read."""

    pickled: bytes = field(repr=False)

    def value(self) -> Any:
        return pickle.loads(self.pickled)  # noqa: S301  # made by `Literal`, on the driver


@dataclass(frozen=True, slots=True)
class Reference:
    """An input that is a function or class, as "module:qualname"."""

    ref: str


Input = Stored | Literal | Packed | Reference


@dataclass(frozen=True, slots=True)
class CodeBase:
    """Where the code of a run is found: the project's root, its modules' files below it, a notebook's cells."""

    root: Path
    modules: dict[str, str]
    notebook: str | None = None
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Guard:
    """When a step has run a cell, a name that came in by a port is to be as it came: `readers` read it later.

    With `left`, the port is one of those by which a copy left the step before its end.
    """

    cell: int
    port: str
    name: str
    readers: tuple[str, ...]
    left: bool = False


@dataclass(frozen=True, slots=True)
class TaskCall:
    """One attempt of one task, complete in itself: it can be pickled and executed anywhere that sees the store.

    `given` are the paths in its arguments, and `watched` the files that its code names by text.
    """

    run: str
    task: str
    attempt: int
    component: Component
    code_base: CodeBase
    inputs: dict[str, Input]
    resources: Resources
    store: Path
    log: Path
    guards: tuple[Guard, ...] = ()
    given: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()

    @property
    def code(self) -> Code:
        return self.component.code


@dataclass(frozen=True, slots=True)
class Observed:
    """What an attempt touched beside its inputs: digests of files by path (below the project's root, relative to it),
    those of its `given` paths that it wrote to, and in words why the same again might give something else."""

    files: dict[str, str] = field(default_factory=dict)
    wrote: tuple[str, ...] = ()
    unrepeatable: str | None = None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What came of an attempt: its outputs by port, or an error. Times are seconds since the epoch."""

    started: float
    ended: float
    worker: str
    outputs: dict[str, Stored] = field(default_factory=dict)
    error: TaskError | None = None
    observed: Observed = Observed()


class WorkerLostError(RunnerError):
    """The process that executed a task ended without a result: killed, out of memory, crashed."""


class Runner(Protocol):
    """A place where tasks run. Methods are called from one thread, that of the engine."""

    @property
    def capacity(self) -> Resources:
        """What all tasks running at one time may hold together; `processes` counts the tasks' processes."""
        ...

    def submit(self, call: TaskCall) -> Future[TaskResult]:
        """Start the call and return at once; an inline runner may return a future that is already done."""
        ...

    def cancel(self, future: Future[TaskResult]) -> None:
        """Stop a call for good, killing its process if it runs; the future ends cancelled or with an error."""
        ...

    def close(self) -> None:
        """Free everything. No process of the runner is left when this returns."""
        ...
