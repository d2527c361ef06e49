"""Which tasks of a plan run and which take over earlier results, and why: decided before anything runs, as far as it
can be known then, and for the rest as their inputs come to be known.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from flowc.errors import UsageError, did_you_mean
from flowc.ir import FromTask
from flowc.plan.fingerprint import Fingerprints, NoBasisError
from flowc.plan.model import Plan, PlannedTask
from flowc.store.files import FileDigests
from flowc.store.records import Basis, PastExecution
from flowc.store.stored import Stored

NOTHING_LIKE_IT = "nothing like it has run"


class Past(Protocol):
    """What has run before: the store, or nothing."""

    @property
    def file_digests(self) -> FileDigests: ...
    def past(self, fingerprints: Collection[str], recipes: Collection[str]) -> list[PastExecution]: ...
    def past_of_run(self, run: str) -> list[PastExecution]: ...
    def known_codes(self, digests: Collection[str]) -> set[str]: ...
    def has(self, stored: Stored) -> bool: ...


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user wants of a run. `again`: nothing is taken over; `resume`: what this run has finished is, whatever
    the tasks' own policy; `begin` and what needs it run again; only `until`, and what it needs, are part of it; `only`:
    this task runs again, and everything that it needs must be there already."""

    again: bool = False
    resume: str | None = None
    begin: str | None = None
    until: str | None = None
    only: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The task runs."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reuse:
    """The task takes over what an execution made."""

    past: PastExecution


@dataclass(frozen=True, slots=True)
class Undecided:
    """The task runs, unless its inputs come out as they were in an earlier execution."""

    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The task is not part of this run."""

    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """The task can't run: something that it needs is not there, and is not to be made."""

    reason: str


Decision = Run | Reuse | Undecided | LeftOut | Blocked


@dataclass(slots=True)
class Reuser:
    """Decides on the tasks of one plan."""

    plan: Plan
    past: Past
    wish: Wish = Wish()
    now: Callable[[], float] = time.time
    fingerprints: Fingerprints = field(init=False)
    _found: dict[str, list[PastExecution]] = field(init=False, default_factory=lambda: defaultdict(list))
    _asked: set[str] = field(init=False, default_factory=set)
    _known_codes: set[str] = field(init=False, default_factory=set)
    _resumed: dict[str, list[PastExecution]] = field(init=False, default_factory=lambda: defaultdict(list))
    _forced: frozenset[str] = field(init=False, default=frozenset())
    _left_out: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        self.fingerprints = Fingerprints(self.plan, self.past.file_digests)
        self._forced, self._left_out = _selected(self.plan, self.wish)

    def decide(self) -> dict[str, Decision]:
        """Return what is known before anything runs, in the plan's order. One query, if all can be taken over."""
        self._look_up_recipes()
        decisions: dict[str, Decision] = {}
        for wave in _waves(self.plan.tasks):
            known = {task.name: task for task in wave if self._inputs_known(task, decisions)}
            bases = {
                name: self._basis_or_reason(task, self._stored(decisions)) for name, task in known.items()
            }
            self._look_up([basis for basis in bases.values() if isinstance(basis, Basis)])
            for task in wave:
                decisions[task.name] = self._decision(task, bases.get(task.name), decisions)
        return {task.name: decisions[task.name] for task in self.plan.tasks}

    def reconsider(self, task: PlannedTask, basis: Basis) -> Reuse | Run:
        """Decide on a task whose inputs were made just now."""
        self._look_up([basis])
        return self._chosen(task, basis)

    def basis_of(self, name: str, decisions: Mapping[str, Decision]) -> Basis:
        """Return what a task stands on whose inputs are all taken over. Raises NoBasisError where it can't be told."""
        (task,) = (task for task in self.plan.tasks if task.name == name)
        return self.fingerprints.basis(task, self._stored(decisions))

    def may_reuse(self, task: PlannedTask) -> bool:
        """Say whether there is a point in looking."""
        return not (self.wish.again or task.name in self._forced)

    def _decision(
        self, task: PlannedTask, basis: Basis | str | None, decisions: Mapping[str, Decision]
    ) -> Decision:
        if task.name in self._left_out:
            return LeftOut(f"left out by --{'only' if self.wish.only else 'until'}")
        if not self.may_reuse(task):
            made = Run("nothing is to be reused" if self.wish.again else "asked for")
        elif isinstance(basis, str):
            made = Run(basis)
        elif basis is not None:
            chosen = self._chosen(task, basis)
            if isinstance(chosen, Reuse):
                return chosen
            made = chosen
        else:
            above = next(name for name in task.upstream if not isinstance(decisions[name], Reuse))
            if isinstance(decisions[above], Blocked):
                return Blocked(f"needs '{above}'")
            return Undecided(f"after '{above}'")
        if self.wish.only and task.name != self.wish.only:
            return Blocked(made.reason)
        return made

    def _chosen(self, task: PlannedTask, basis: Basis) -> Reuse | Run:
        if not self.may_reuse(task):
            return Run("asked for")
        for past in self._resumed[basis.fingerprint]:
            if self._fault(task, past) is None:
                return Reuse(past)
        policy = task.task.policy
        if not policy.cache:
            return Run("its cache is off")
        reasons: list[str] = []
        for past in self._found[basis.fingerprint]:
            reason = self._unfit(task, past, policy.cache_for)
            if reason is None:
                return Reuse(past)
            reasons.append(reason)
        return Run(reasons[0] if reasons else NOTHING_LIKE_IT)

    def _unfit(self, task: PlannedTask, past: PastExecution, cache_for: float | None) -> str | None:
        if cache_for is None and past.unrepeatable is not None:
            return past.unrepeatable
        if cache_for is not None and self.now() - past.ended > cache_for:
            return f"what {past.run} made is older than {cache_for:g} s"
        return self._fault(task, past)

    def _fault(self, task: PlannedTask, past: PastExecution) -> str | None:
        """Return why results that fit are not there any more, or their files not what they were."""
        for port in task.component.outputs:
            if port.name not in past.outputs:
                return f"{past.run} has no output '{port.name}'"
            if not self.past.has(past.outputs[port.name].stored):
                return f"the artifact '{port.name}' of {past.run} is gone"
        for name, digest in past.files.items():
            if self.past.file_digests.again(self.plan.code_base.root / name, digest) != digest:
                return f"{name} is not what it was in {past.run}"
        return None

    def _look_up_recipes(self) -> None:
        if self.wish.again:
            return
        self._known_codes = self.past.known_codes(
            {self.fingerprints.code_digest(task) for task in self.plan.tasks}
        )
        recipes = set()
        for task in self.plan.tasks:
            try:
                recipes.add(self.fingerprints.recipe(task))
            except NoBasisError:
                continue  # found by its fingerprint, when its inputs are known
        self._take(self.past.past((), recipes), self._found)
        if self.wish.resume is not None:
            self._take(self.past.past_of_run(self.wish.resume), self._resumed)

    def _look_up(self, bases: Iterable[Basis]) -> None:
        # Of code that has never run there is nothing to find.
        fingerprints = {basis.fingerprint for basis in bases if basis.code.digest in self._known_codes}
        new = {each for each in fingerprints - self._asked if not self._found.get(each)}
        self._asked |= fingerprints
        if new and not self.wish.again:
            self._take(self.past.past(new, ()), self._found)

    def _take(self, found: Iterable[PastExecution], into: dict[str, list[PastExecution]]) -> None:
        for past in found:
            if all(past.id != other.id for other in into[past.fingerprint]):
                into[past.fingerprint].append(past)

    def _basis_or_reason(self, task: PlannedTask, output_of: Callable[[FromTask], Stored]) -> Basis | str:
        try:
            return self.fingerprints.basis(task, output_of)
        except NoBasisError as error:
            return error.message

    def _inputs_known(self, task: PlannedTask, decisions: Mapping[str, Decision]) -> bool:
        needed = (given.task for given in task.inputs.values() if isinstance(given, FromTask))
        return all(isinstance(decisions[name], Reuse) for name in needed)

    def _stored(self, decisions: Mapping[str, Decision]) -> Callable[[FromTask], Stored]:
        def output(given: FromTask) -> Stored:
            decision = decisions[given.task]
            assert isinstance(decision, Reuse)
            return decision.past.outputs[given.output].stored

        return output


def _waves(tasks: Iterable[PlannedTask]) -> list[list[PlannedTask]]:
    """Return the tasks by the number of tasks on the longest path to each."""
    depth: dict[str, int] = {}
    waves: list[list[PlannedTask]] = []
    for task in tasks:
        depth[task.name] = at = max((depth[name] + 1 for name in task.upstream), default=0)
        if at == len(waves):
            waves.append([])
        waves[at].append(task)
    return waves


def _selected(plan: Plan, wish: Wish) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tasks that are to run in any case, and those that are no part of the run."""
    tasks = {task.name: task for task in plan.tasks}
    for name in (wish.begin, wish.until, wish.only):
        if name is not None and name not in tasks:
            hint = did_you_mean(name, tasks) or f"its tasks are: {', '.join(tasks)}"
            raise UsageError(f"pipeline '{plan.pipeline.name}' has no task '{name}'", hint=hint)
    last = wish.until or wish.only
    left_out = frozenset(tasks) - _above(tasks, last) if last else frozenset()
    forced = _below(plan, wish.begin) if wish.begin else frozenset()
    return (forced | {wish.only} if wish.only else forced), left_out


def _above(tasks: Mapping[str, PlannedTask], name: str) -> frozenset[str]:
    found, pending = {name}, [name]
    while pending:
        new = set(tasks[pending.pop()].upstream) - found
        found |= new
        pending += new
    return frozenset(found)


def _below(plan: Plan, name: str) -> frozenset[str]:
    found = {name}
    for task in plan.tasks:  # in topological order
        if found.intersection(task.upstream):
            found.add(task.name)
    return frozenset(found)
