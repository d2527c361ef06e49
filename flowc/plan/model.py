"""What a run will do, decided before anything runs: each task with its inputs resolved, in an order that works."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowc.ir import Component, FromTask, Pipeline, Task
from flowc.plan.values import paths_in
from flowc.runner import CodeBase, Literal, Reference

PlannedInput = Literal | Reference | FromTask


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task to run. `priority` is the number of tasks on the longest path from it to an end, itself included."""

    task: Task
    component: Component
    inputs: dict[str, PlannedInput]
    upstream: tuple[str, ...]
    priority: int

    @property
    def name(self) -> str:
        return self.task.name

    def paths(self) -> tuple[Path, ...]:
        """Return the paths in its argument values."""
        values = (given.value for given in self.inputs.values() if isinstance(given, Literal))
        return tuple(path for value in values for path in paths_in(value))


@dataclass(frozen=True, slots=True)
class Plan:
    """A pipeline with its arguments. `tasks` stand in topological order; `shown` are the arguments as JSON for
    records and pages, with secrets masked."""

    pipeline: Pipeline
    tasks: tuple[PlannedTask, ...]
    arguments: dict[str, Any]
    shown: dict[str, Any]
    code_base: CodeBase
