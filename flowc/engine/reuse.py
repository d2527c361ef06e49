"""What the tasks of a run stand on, told as their inputs come to be known, and whether they need to run at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flowc.engine.outcome import TaskOutcome
from flowc.ir import FromTask
from flowc.plan.fingerprint import NoBasisError
from flowc.plan.model import PlannedTask
from flowc.plan.reuse import Reuse, Reuser
from flowc.runner import Observed
from flowc.store.records import Basis, PastExecution
from flowc.store.stored import Stored

Outcomes = Mapping[str, TaskOutcome]


@dataclass(slots=True)
class Bases:
    """Keeps the bases of the tasks that run now."""

    reuser: Reuser
    _running: dict[str, Basis] = field(default_factory=dict)

    def begin(self, planned: PlannedTask, outcomes: Outcomes) -> PastExecution | None:
        """Return the execution whose results the task can take over; None where it has to run."""
        try:
            basis = self._basis(planned, outcomes)
        except NoBasisError:
            return None
        self._running[planned.name] = basis
        decision = self.reuser.reconsider(planned, basis)
        return decision.past if isinstance(decision, Reuse) else None

    def end(self, planned: PlannedTask, outcomes: Outcomes, observed: Observed) -> Basis | None:
        """Return what a task that ended well stands on; None where that can't be told.

        A path among its arguments that the task itself wrote to counts as the task left it: found so again, there is
        nothing to do.
        """
        before = self._running.pop(planned.name, None)
        if before is None:
            return None
        try:
            after = self._basis(planned, outcomes)
        except NoBasisError:
            return None
        unrepeatable = observed.unrepeatable or after.unrepeatable
        if after.fingerprint != before.fingerprint and not observed.wrote:
            unrepeatable = unrepeatable or "a file among its arguments changed while it ran"
        return replace(after, files=observed.files, unrepeatable=unrepeatable)

    def watched(self, planned: PlannedTask) -> tuple[str, ...]:
        """Return the files that the task's code names by text."""
        return self.reuser.fingerprints.watched(planned)

    def _basis(self, planned: PlannedTask, outcomes: Outcomes) -> Basis:
        def output(given: FromTask) -> Stored:
            return outcomes[given.task].outputs[given.output]

        return self.reuser.fingerprints.basis(planned, output)
