"""Keeps a run's executed notebook: a listener that writes it anew as each step ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flowc.engine.events import Event, Listener, TaskEnded, TaskReused, TaskStarted
from flowc.notebook.executed import ExecutedNotebook
from flowc.notebook.outputs import outputs_of, read_outputs
from flowc.plan.model import Plan
from flowc.store.durable import refusal
from flowc.types.paths import anchored
from flowc.types.validate import to_json, validated_json


class NotebookKeeper:
    """Writes the executed notebook of one run before each event goes on to its listener."""

    def __init__(self, plan: Plan, run: str, path: Path, listener: Listener) -> None:
        self._notebook = ExecutedNotebook(plan.pipeline, plan.code_base.root, run, _given(plan))
        self._path = path
        self._listener = listener
        self._logs: dict[str, Path] = {}

    def __call__(self, event: Event) -> None:
        match event:
            case TaskStarted():
                self._logs[event.task] = event.log
                if len(self._logs) == 1:
                    self._write()  # however we end, it says which steps had not ended
            case TaskEnded() if event.retry_in is None:
                self._notebook.take_in(
                    event.task, read_outputs(outputs_of(self._logs[event.task])), event.error
                )
                self._write()
            case TaskReused(past=past):
                if past.log is not None:
                    self._notebook.take_over(event.task, read_outputs(outputs_of(past.log)))
                    self._write()
        self._listener(event)

    def _write(self) -> None:
        draft = self._path.with_suffix(".part")
        try:
            self._path.parent.mkdir(exist_ok=True)
            draft.write_text(self._notebook.text(), encoding="utf-8")
            draft.replace(self._path)
        except OSError as error:
            raise refusal(error, "can't write the executed notebook", self._path) from error


def _given(plan: Plan) -> dict[str, Any]:
    """Return the parameters whose values are not the notebook's own, as JSON data with secrets masked."""
    given = {}
    for parameter in plan.pipeline.parameters:
        shown = plan.shown[parameter.name]
        if not parameter.required:
            default = validated_json(parameter.type, parameter.default)
            folder = (plan.code_base.root / parameter.source.file).parent if parameter.source else Path()
            if to_json(parameter.type, anchored(parameter.type, default, folder)) == shown:
                continue
        given[parameter.name] = shown
    return given
