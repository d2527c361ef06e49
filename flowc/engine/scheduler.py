"""The one scheduler, whatever the runner: a single thread that starts what is ready and takes in what has ended.

Each turn of the loop takes all completions at hand, commits what changed in one go, tells the listener, and only
then submits what became ready. So a task that a listener saw end is in the store for good.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
from collections.abc import Callable, Mapping
from concurrent import futures
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Literal

from flowc.engine.events import (
    EndState,
    Event,
    Listener,
    RunEnded,
    TaskEnded,
    TaskReused,
    TaskSkipped,
    TaskStarted,
)
from flowc.engine.frontier import Frontier
from flowc.engine.interrupts import Interrupts
from flowc.engine.outcome import TaskOutcome, result_of
from flowc.engine.reuse import Bases
from flowc.errors import StoreError
from flowc.plan.model import PlannedTask
from flowc.plan.reuse import Decision, LeftOut, Reuse
from flowc.runner import Runner, TaskCall, TaskResult
from flowc.store.records import PastExecution

# How long a killed task may take to be gone when a run is given up.
_GRACE = 10.0


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of day, for records, and a clock that never goes back, for waiting."""

    now: Callable[[], float]
    monotonic: Callable[[], float]


@dataclass(frozen=True, slots=True)
class BackOff:
    """Seconds before an attempt is followed by the next: doubled each time, up to a limit."""

    first: float = 1.0
    longest: float = 60.0

    def after(self, attempt: int) -> float:
        return min(self.first * 2.0 ** min(attempt - 1, 62), self.longest)


@dataclass(slots=True, eq=False)
class Attempt:
    """An attempt that the runner has. `killed` says why we had it killed, if we had."""

    planned: PlannedTask
    call: TaskCall
    started: float
    future: futures.Future[TaskResult] | None = None
    killed: Literal["timeout", "interrupt"] | None = None

    @property
    def task(self) -> str:
        return self.call.task

    @property
    def number(self) -> int:
        return self.call.attempt


_Ending = tuple[Attempt, futures.Future[TaskResult]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a scheduler works with: `commit` makes events durable, `call` makes an attempt's call, `bases` tells what
    need not run."""

    run: str
    runner: Runner
    commit: Callable[[list[Event]], None]
    call: Callable[[PlannedTask, int, Mapping[str, TaskOutcome]], TaskCall]
    listener: Listener
    interrupts: Interrupts
    clock: Clock
    back_off: BackOff
    bases: Bases


class Scheduler:
    """Runs the tasks of a frontier to their ends. Used once."""

    def __init__(self, frontier: Frontier, surroundings: Surroundings) -> None:
        self._frontier = frontier
        self._with = surroundings
        self._running: dict[str, Attempt] = {}
        self._pausing: set[str] = set()  # tasks that wait for their next attempt
        self._outcomes: dict[str, TaskOutcome] = {}
        self._ended: SimpleQueue[_Ending | None] = SimpleQueue()  # None wakes the loop
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_ids = itertools.count()
        self._pending: list[Event] = []
        self._stopped = False
        self._canceled = False

    def run(self, first: Event, decisions: Mapping[str, Decision]) -> tuple[EndState, dict[str, TaskOutcome]]:
        """Run until nothing is left; return the run's state and each task's outcome. What was decided before is not
        waited for: the frontier has it as done.

        Where the store, the runner or the listener fails, what runs is killed and the error comes through.
        """
        self._pending.append(first)
        for name, decision in decisions.items():
            match decision:
                case Reuse(past=past):
                    self._take_over(name, past)
                case LeftOut(reason=reason):
                    self._skip([name], reason)
        with self._with.interrupts.heeded(partial(self._ended.put, None)):
            try:
                self._loop()
            except BaseException:
                self._abandon()
                raise
        return self._state(), self._outcomes

    def _loop(self) -> None:
        while True:
            self._heed_interrupts()
            starting = [
                attempt for planned in self._frontier.startable() if (attempt := self._begin(planned))
            ]
            if not (starting or self._running or self._pausing):
                self._pending.append(RunEnded(self._with.run, self._state(), self._with.clock.now()))
                self._commit()
                return
            self._commit()
            for attempt in starting:
                self._submit(attempt)
            self._take_in()

    def _begin(self, planned: PlannedTask) -> Attempt | None:
        """Return the task's next attempt; None where it can take over an earlier execution's results instead."""
        before = self._outcomes.get(planned.name)
        past = None if before else self._with.bases.begin(planned, self._outcomes)
        if past is not None:
            self._take_over(planned.name, past)
            self._frontier.release(planned.name)
            self._frontier.completed(planned.name)
            return None
        call = self._with.call(planned, before.attempts + 1 if before else 1, self._outcomes)
        attempt = Attempt(planned, call, self._with.clock.now())
        self._running[planned.name] = attempt
        self._pending.append(
            TaskStarted(self._with.run, planned.name, attempt.number, attempt.started, call.log)
        )
        return attempt

    def _take_over(self, name: str, past: PastExecution) -> None:
        outputs = {port: each.stored for port, each in past.outputs.items()}
        self._outcomes[name] = TaskOutcome("CACHED", 0, outputs)
        self._pending.append(TaskReused(self._with.run, name, past, self._with.clock.now()))

    def _submit(self, attempt: Attempt) -> None:
        attempt.future = self._with.runner.submit(attempt.call)
        attempt.future.add_done_callback(partial(self._note_end, attempt))
        timeout = attempt.planned.task.policy.timeout
        if timeout is not None:
            self._after(timeout, partial(self._kill, attempt, "timeout"))

    def _note_end(self, attempt: Attempt, future: futures.Future[TaskResult]) -> None:
        self._ended.put((attempt, future))

    def _commit(self) -> None:
        if self._pending:
            self._with.commit(self._pending)
            events, self._pending = self._pending, []
            for event in events:
                self._with.listener(event)

    def _take_in(self) -> None:
        """Wait for an ending, a timer or an interrupt, and take in all the endings at hand."""
        wait = max(0.0, self._timers[0][0] - self._with.clock.monotonic()) if self._timers else None
        with contextlib.suppress(Empty):
            ending = self._ended.get(timeout=wait)
            while True:
                if ending is not None:
                    self._end(*ending)
                ending = self._ended.get_nowait()
        while self._timers and self._timers[0][0] <= self._with.clock.monotonic():
            heapq.heappop(self._timers)[2]()

    def _end(self, attempt: Attempt, future: futures.Future[TaskResult]) -> None:
        name = attempt.task
        del self._running[name]
        self._frontier.release(name)
        # An inline runner's task is interrupted in the middle of `submit`, before we could have it killed.
        killed = attempt.killed or ("interrupt" if self._with.interrupts.killing else None)
        state, result = result_of(future, killed, attempt.planned.task.policy.timeout)
        basis = None
        if state == "COMPLETE":
            basis = self._with.bases.end(attempt.planned, self._outcomes, result.observed)
        self._outcomes[name] = TaskOutcome(state, attempt.number, result.outputs, result.error)
        retry_in = self._retry_in(attempt) if state == "FAILED" else None
        self._pending.append(
            TaskEnded(
                run=self._with.run,
                task=name,
                attempt=attempt.number,
                state=state,
                started=result.started or attempt.started,
                at=result.ended or self._with.clock.now(),
                worker=result.worker,
                outputs=result.outputs,
                error=result.error,
                retry_in=retry_in,
                basis=basis,
            )
        )
        if retry_in is not None:
            self._pausing.add(name)
            self._after(retry_in, partial(self._try_again, name))
        elif state == "COMPLETE":
            self._frontier.completed(name)
        else:
            reason = f"needs '{name}', which " + ("failed" if state == "FAILED" else "was cancelled")
            self._skip(self._frontier.drop_below(name), reason)

    def _retry_in(self, attempt: Attempt) -> float | None:
        """Return how long to wait for the next attempt; None where there is to be none.

        A ComponentError is a component's considered answer, such as a gate's no: asking again is no use.
        """
        error = self._outcomes[attempt.task].error
        expected = error is not None and error.expected
        if expected or self._stopped or attempt.number > attempt.planned.task.policy.retries:
            return None
        return self._with.back_off.after(attempt.number)

    def _try_again(self, name: str) -> None:
        if name in self._pausing:
            self._pausing.remove(name)
            self._frontier.make_ready(name)

    def _skip(self, names: list[str], reason: str) -> None:
        now = self._with.clock.now()
        for name in names:
            if name not in self._outcomes:  # one that failed and was to be tried again stays failed
                self._outcomes[name] = TaskOutcome("SKIPPED", 0, reason=reason)
                self._pending.append(TaskSkipped(self._with.run, name, reason, now))

    def _cut_short(self, reason: str) -> None:
        """Start nothing more, and try nothing again."""
        dropped = self._frontier.drop_all()
        self._canceled = self._canceled or bool(dropped or self._pausing)
        self._pausing.clear()
        self._skip(dropped, reason)

    def _heed_interrupts(self) -> None:
        interrupts = self._with.interrupts
        if interrupts.stopping and not self._stopped:
            self._stopped = True
            self._cut_short("the run was interrupted")
        if interrupts.killing:
            for attempt in list(self._running.values()):
                self._kill(attempt, "interrupt")

    def _kill(self, attempt: Attempt, why: Literal["timeout", "interrupt"]) -> None:
        if attempt.killed is None and attempt.future is not None and not attempt.future.done():
            attempt.killed = why
            self._with.runner.cancel(attempt.future)

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        when = self._with.clock.monotonic() + seconds
        heapq.heappush(self._timers, (when, next(self._timer_ids), action))

    def _abandon(self) -> None:
        """Kill what runs, and record that the run failed, if the store still takes it."""
        for attempt in self._running.values():
            self._kill(attempt, "interrupt")
        futures.wait([a.future for a in self._running.values() if a.future is not None], timeout=_GRACE)
        now = self._with.clock.now()
        for attempt in self._running.values():
            self._pending.append(
                TaskEnded(self._with.run, attempt.task, attempt.number, "CANCELED", attempt.started, now)
            )
        self._cut_short("the run was given up")
        self._pending.append(RunEnded(self._with.run, "FAILED", now))
        # The store may be what failed: then the error that is on its way says it already.
        with contextlib.suppress(StoreError):
            self._with.commit(self._pending)

    def _state(self) -> EndState:
        states = {outcome.state for outcome in self._outcomes.values()}
        if self._canceled or "CANCELED" in states:
            return "CANCELED"
        return "FAILED" if "FAILED" in states else "COMPLETE"
