"""What came of a task and of a run, and how it is read from the future of an attempt."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Literal

from flowc.engine.events import EndState
from flowc.errors import FlowcError, TaskError
from flowc.runner import TaskResult
from flowc.store.stored import Stored

TaskState = Literal["COMPLETE", "CACHED", "FAILED", "SKIPPED", "CANCELED"]


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """A task's last state. `reason` says why it was skipped, `error` why it failed or was cancelled."""

    state: TaskState
    attempts: int
    outputs: Mapping[str, Stored] = field(default_factory=dict)
    error: TaskError | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run: its state, and each task's outcome, in the order in which they ended."""

    run: str
    state: EndState
    tasks: Mapping[str, TaskOutcome]


def result_of(
    future: Future[TaskResult], killed: Literal["timeout", "interrupt"] | None, timeout: float | None
) -> tuple[EndState, TaskResult]:
    """Return an ended attempt's state and result; where the runner lost it, a result that says why.

    An attempt that came to its end before the kill reached it counts as it ended.
    """
    try:
        result = future.result()
    except (Exception, CancelledError) as lost:  # noqa: BLE001  # however a runner says that it lost a call
        return ("CANCELED" if killed == "interrupt" else "FAILED"), _lost(lost, killed, timeout)
    if result.error is None:
        return "COMPLETE", result
    interrupted = killed == "interrupt" and result.error.kind == "KeyboardInterrupt"
    return ("CANCELED" if interrupted else "FAILED"), result


def _lost(lost: BaseException, killed: str | None, timeout: float | None) -> TaskResult:
    if killed == "timeout":
        error = TaskError(
            "TimeoutError",
            f"took longer than its timeout of {timeout:g} s, and was killed",
            hint="give it more time with timeout=, or find out in its log what it waited for",
        )
    elif killed == "interrupt":
        error = TaskError("CancelledError", "killed when the run was interrupted")
    else:
        hint = lost.hint if isinstance(lost, FlowcError) else None
        error = TaskError(type(lost).__name__, str(lost), hint=hint)
    return TaskResult(started=0.0, ended=0.0, worker="", error=error)
