"""From a run's events to the store's records: all that the engine knows of how the store wants to be told."""

from __future__ import annotations

from dataclasses import dataclass

from flowc.engine.events import Event, RunEnded, RunStarted, TaskEnded, TaskReused, TaskSkipped, TaskStarted
from flowc.ir import FromTask
from flowc.ir.json import dump_pipeline
from flowc.plan.model import Plan
from flowc.store import records
from flowc.store.metadata import Store


@dataclass(frozen=True, slots=True)
class RunLabel:
    """What a run is recorded with, besides its plan. `target` and `runner` are what the user asked for, in words."""

    target: str
    runner: str
    experiment: str | None = None
    user: str | None = None
    commit: str | None = None


class Recorder:
    """Makes the events of one run durable."""

    def __init__(self, store: Store, plan: Plan) -> None:
        self._store = store
        self._plan = plan
        self._tasks = {planned.name: planned for planned in plan.tasks}

    def begin_run(self, label: RunLabel, started: float) -> str:
        """Record that a run of the plan begins; return its id."""
        return self._store.begin_run(
            records.NewRun(
                pipeline=self._plan.pipeline.name,
                target=label.target,
                runner=label.runner,
                started=started,
                ir=dump_pipeline(self._plan.pipeline),
                tasks=tuple(
                    records.PlannedTask(planned.name, planned.component.name, planned.upstream)
                    for planned in self._plan.tasks
                ),
                parameters=self._plan.shown,
                experiment=label.experiment,
                user=label.user,
                commit=label.commit,
            )
        )

    def commit(self, events: list[Event]) -> None:
        """Write what the events say in one go: all of it is in the store afterwards, or nothing."""
        changes = [change for event in events if (change := self._change(event)) is not None]
        if changes:
            self._store.record(changes)

    def _change(self, event: Event) -> records.Change | None:
        match event:
            case RunStarted():
                return None  # `begin_run` recorded it
            case TaskStarted():
                return records.TaskStarted(
                    event.run,
                    event.task,
                    event.attempt,
                    event.at,
                    log=event.log,
                    inputs=self._origins(event.task),
                )
            case TaskEnded():
                return self._task_ended(event)
            case TaskReused():
                return records.TaskReused(
                    event.run, event.task, event.at, event.past, self._origins(event.task)
                )
            case TaskSkipped():
                return records.TaskSkipped(event.run, event.task, event.at, event.reason)
            case RunEnded():
                return records.RunEnded(event.run, event.at, event.state)

    def _origins(self, task: str) -> dict[str, records.Origin]:
        return {
            name: records.FromOutput(given.task, given.output)
            for name, given in self._tasks[task].inputs.items()
            if isinstance(given, FromTask)
        }

    def _task_ended(self, event: TaskEnded) -> records.TaskEnded:
        types = {port.name: str(port.type) for port in self._tasks[event.task].component.outputs}
        return records.TaskEnded(
            run=event.run,
            task=event.task,
            attempt=event.attempt,
            at=event.at,
            state=event.state,
            outputs={name: records.Made(stored, types[name]) for name, stored in event.outputs.items()},
            error=event.error,
            worker=event.worker,
            basis=event.basis,
        )
