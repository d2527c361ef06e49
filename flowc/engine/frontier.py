"""Which tasks of a plan are ready, may start now, or never will: the scheduler's bookkeeping, without any action.

All of it is linear in tasks and edges, and nothing recurses, so that chains and fans of any size will do.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from flowc.diagnostics import Diagnostic
from flowc.ir import Resources
from flowc.plan.model import Plan, PlannedTask


@dataclass(slots=True)
class Free:
    """What is left of a runner's capacity. CPUs in thousandths, so that fractions add up exactly."""

    cpus: int
    memory: int | None
    gpus: int
    processes: int

    @classmethod
    def all_of(cls, capacity: Resources) -> Free:
        return cls(round(capacity.cpus * 1000), capacity.memory, capacity.gpus, capacity.processes)

    def lacks(self, wanted: Resources) -> str | None:
        """Return what there is not enough of, in words; None where all is there."""
        if _cpus(wanted) > self.cpus:
            return f"{wanted.cpus:g} cpus, and there are {self.cpus / 1000:g}"
        if wanted.memory is not None and self.memory is not None and wanted.memory > self.memory:
            return f"{_gib(wanted.memory)} of memory, and there are {_gib(self.memory)}"
        if wanted.gpus > self.gpus:
            return f"{wanted.gpus} gpus, and there are {self.gpus}"
        if wanted.processes > self.processes:
            return f"{wanted.processes} processes, and there are {self.processes}"
        return None

    def take(self, wanted: Resources) -> None:
        self._add(wanted, -1)

    def give_back(self, held: Resources) -> None:
        self._add(held, 1)

    def _add(self, some: Resources, sign: int) -> None:
        self.cpus += sign * _cpus(some)
        self.gpus += sign * some.gpus
        self.processes += sign * some.processes
        if self.memory is not None:
            self.memory += sign * (some.memory or 0)


def _cpus(wanted: Resources) -> int:
    return round(wanted.cpus * 1000)


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"


def too_big(plan: Plan, capacity: Resources) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each task that asks for more than the runner has at all."""
    whole = Free.all_of(capacity)
    return tuple(
        Diagnostic(
            code="FC401",
            message=f"task '{planned.name}' asks for {lacking}",
            source=planned.task.source,
            hint="ask for less, or choose a runner that has it",
        )
        for planned in plan.tasks
        if (lacking := whole.lacks(planned.task.resources))
    )


class Frontier:
    """The tasks of a plan that have not started yet, and what they wait for."""

    def __init__(
        self, tasks: Iterable[PlannedTask], capacity: Resources, done: Collection[str] = frozenset()
    ) -> None:
        """Take in the tasks; those that are `done` are neither started nor waited for."""
        self._tasks = {planned.name: planned for planned in tasks}
        self._order = {name: index for index, name in enumerate(self._tasks)}
        self._missing = {
            name: sum(above not in done for above in planned.upstream)
            for name, planned in self._tasks.items()
            if name not in done
        }
        self._downstream: dict[str, list[str]] = defaultdict(list)
        for name, planned in self._tasks.items():
            for above in planned.upstream:
                self._downstream[above].append(name)
        self._free = Free.all_of(capacity)
        # One heap for each size of task: where the first of a size does not fit, none of that size does.
        self._ready: dict[Resources, list[tuple[int, int, str]]] = {}
        for name, count in self._missing.items():
            if count == 0:
                self.make_ready(name)

    def make_ready(self, name: str) -> None:
        """Let a task start as soon as there is room."""
        planned = self._tasks[name]
        self._missing[name] = 0
        heap = self._ready.setdefault(planned.task.resources, [])
        heapq.heappush(heap, (-planned.priority, self._order[name], name))

    def startable(self) -> Iterator[PlannedTask]:
        """Take each ready task for which there is room, the longest path to an end first; hold its resources.

        A task that does not fit does not hold back smaller ones.
        """
        while fitting := [heap for size, heap in self._ready.items() if heap and not self._free.lacks(size)]:
            _, _, name = heapq.heappop(min(fitting))
            del self._missing[name]
            self._free.take(self._tasks[name].task.resources)
            yield self._tasks[name]

    def release(self, name: str) -> None:
        """Give back what a task held."""
        self._free.give_back(self._tasks[name].task.resources)

    def completed(self, name: str) -> None:
        """Make ready what waited for this task alone."""
        for below in self._downstream[name]:
            if below in self._missing:
                self._missing[below] -= 1
                if self._missing[below] == 0:
                    self.make_ready(below)

    def drop_below(self, name: str) -> list[str]:
        """Drop and return everything downstream of a task that won't complete, in the plan's order."""
        dropped: list[str] = []
        pending = list(self._downstream[name])
        while pending:
            below = pending.pop()
            if self._missing.pop(below, None) is not None:
                dropped.append(below)
                pending += self._downstream[below]
        return sorted(dropped, key=self._order.__getitem__)

    def drop_all(self) -> list[str]:
        """Drop and return all that has not started, in the plan's order."""
        dropped = sorted(self._missing, key=self._order.__getitem__)
        self._missing.clear()
        self._ready.clear()
        return dropped
