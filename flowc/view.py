"""A run as it is shown: what the store recorded of it, joined with the pipeline that it executed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from flowc.errors import TaskError
from flowc.ir import Pipeline
from flowc.ir.json import parse_pipeline
from flowc.store.metadata import Store
from flowc.store.places import executed_notebook
from flowc.store.records import ArtifactRecord, RunRecord, TaskRecord


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with its tasks, as planned, and its artifacts; and the executed notebook, where there is one."""

    run: RunRecord
    pipeline: Pipeline
    tasks: tuple[TaskRecord, ...]
    artifacts: tuple[ArtifactRecord, ...]
    notebook: Path | None = None

    def role_of(self, task: TaskRecord) -> str | None:
        """Return the role of the task's component, such as "train"."""
        return self.pipeline.component_of(self.pipeline.task(task.name)).role

    def outputs(self) -> dict[str, ArtifactRecord]:
        """Return what the pipeline as a whole gave, by name, as far as it was made."""
        made = {(artifact.producer.task, artifact.producer.port): artifact for artifact in self.artifacts}
        origins = {output.name: (output.value.task, output.value.output) for output in self.pipeline.outputs}
        return {name: made[origin] for name, origin in origins.items() if origin in made}

    def failures(self) -> dict[str, TaskError]:
        """Return why tasks failed, by task: the error of the last attempt."""
        failed = (task for task in self.tasks if task.state == "FAILED" and task.executions)
        return {task.name: error for task in failed if (error := task.executions[-1].error)}


def view_run(store: Store, wanted: str) -> RunView:
    """Return the run of this id, or beginning of an id, or the newest for "latest"."""
    run = store.run(wanted)
    pipeline = parse_pipeline(json.loads(store.ir(run.id)), Path(f"the pipeline of run {run.id}"))
    notebook = executed_notebook(store.artifact_store.root.parent, run.id)
    return RunView(
        run,
        pipeline,
        tuple(store.tasks(run.id)),
        tuple(store.artifacts(run.id)),
        notebook if notebook.exists() else None,
    )
