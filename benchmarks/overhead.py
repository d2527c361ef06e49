"""What flowc adds to a task that does nothing, everything recorded, against the floor of one row and one file."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.pipelines import chain, fan
from benchmarks.table import Row
from benchmarks.timing import best
from flowc.check import check_pipeline
from flowc.engine.recorder import RunLabel
from flowc.engine.run import run_plan
from flowc.ir import Pipeline
from flowc.plan import make_plan
from flowc.runner import Runner
from flowc.store.metadata import open_store
from flowc_runners.inline import InlineRunner
from flowc_runners.local import LocalRunner

TASKS = 500
_TRIES = 3


def measure() -> list[Row]:
    """Time chains and fans of empty tasks under both local runners; workers are warm when the clock starts."""
    floor = best(_rows_and_files, _TRIES) / TASKS * 1e3
    rows = [Row("floor: a row and a file", floor, "ms/task")]
    for name, shape in (("chain", chain), ("fan", fan)):
        for runner, make in (("inline", InlineRunner), ("local", lambda: LocalRunner(workers=2))):
            cost = _per_task(shape(TASKS), make)
            rows.append(Row(f"{name} of {TASKS}, {runner}", cost, "ms/task", cost / floor, "the floor"))
        cost = _per_cached_task(shape(TASKS))
        rows.append(Row(f"{name} of {TASKS}, all taken over", cost, "ms/task", cost / floor, "the floor"))
    return rows


def _per_task(pipeline: Pipeline, make_runner: Callable[[], Runner]) -> float:
    with tempfile.TemporaryDirectory() as folder, closing(make_runner()) as runner:
        # Each run has a store of its own, in which nothing has run yet.
        stores = (Path(folder, str(number)) for number in itertools.count())
        _run(chain(4), runner, next(stores))
        seconds = best(lambda: _run(pipeline, runner, next(stores)), _TRIES)
    return seconds / TASKS * 1e3


def _per_cached_task(pipeline: Pipeline) -> float:
    with tempfile.TemporaryDirectory() as folder, closing(InlineRunner()) as runner:
        _run(pipeline, runner, Path(folder))
        seconds = best(lambda: _run(pipeline, runner, Path(folder)), _TRIES)
    return seconds / TASKS * 1e3


def _run(pipeline: Pipeline, runner: Runner, folder: Path) -> None:
    plan = make_plan(check_pipeline(pipeline), {}, Path.cwd())
    with closing(open_store(folder, create=True)) as store:
        result = run_plan(plan, runner=runner, store=store, label=RunLabel("benchmark", "benchmark"))
    if result.state != "COMPLETE":
        raise RuntimeError(f"the benchmark's pipeline ended {result.state}")


def _rows_and_files() -> None:
    """Do for each task what no recorded engine can do without: commit a row, write a file and rename it."""
    with tempfile.TemporaryDirectory() as folder, closing(sqlite3.connect(f"{folder}/floor.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("CREATE TABLE task (id INTEGER PRIMARY KEY, name TEXT, digest TEXT)")
        for number in range(TASKS):
            temporary = Path(folder) / f"{number}.part"
            temporary.write_bytes(b"0")
            temporary.replace(temporary.with_suffix(""))
            database.execute("INSERT INTO task (name, digest) VALUES (?, ?)", (f"task-{number}", "0" * 64))
            database.commit()
