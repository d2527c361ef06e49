"""A small project on disk, edited and run again as a user does, with each run in the same store."""

from __future__ import annotations

import importlib
import sys
import textwrap
from pathlib import Path
from typing import Any

from flowc.engine.outcome import RunResult
from flowc.engine.recorder import RunLabel
from flowc.engine.run import RunOptions, run_plan
from flowc.engine.scheduler import BackOff
from flowc.plan import Plan
from flowc.plan.reuse import Wish
from flowc.store.metadata import Store, open_store
from flowc.testing import RecordingRunner, plan_file
from flowc.types.model import AnyType


class Project:
    """Files in a folder, of which `job.py` holds the pipeline."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pyproject.toml").touch()

    def write(self, name: str, text: str) -> Path:
        """Write a file; Python's text may be indented."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text that stands in the file once."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def plan(self, **arguments: Any) -> Plan:
        """Import the project anew, as another process would, and plan its pipeline."""
        self.forget()
        return plan_file(self.folder / "job.py", **arguments)

    def forget(self) -> None:
        """Let the project's modules be imported anew."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file is not None and Path(file).is_relative_to(self.folder):
                del sys.modules[name]
        importlib.invalidate_caches()

    def store(self) -> Store:
        """Open the project's store."""
        return open_store(self.folder / ".flowc", create=True)

    def result(self, wish: Wish | None = None, **arguments: Any) -> RunResult:
        """Run the pipeline in this process."""
        plan = self.plan(**arguments)
        options = RunOptions(wish=wish or Wish(), back_off=BackOff(first=0.0))
        with self.store() as store:
            return run_plan(
                plan, runner=RecordingRunner(), store=store, label=RunLabel("job.py", "test"), options=options
            )

    def ran(self, wish: Wish | None = None, **arguments: Any) -> list[str]:
        """Run the pipeline; return the tasks that were executed, in the plan's order."""
        result = self.result(wish, **arguments)
        names = [task.name for task in self.plan(**arguments).tasks]
        return [name for name in names if result.tasks[name].state not in ("CACHED", "SKIPPED")]

    def value(self, result: RunResult, task: str) -> Any:
        """Return what a task gave."""
        with self.store() as store:
            return store.artifact_store.load(result.tasks[task].outputs["output"], AnyType())
