"""What it costs to start the command line, against starting Python."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.table import Row
from benchmarks.timing import best_of_commands

_PIPELINE = """
from flowc import component, pipeline

@component
def nothing() -> None: ...

@pipeline
def small():
    nothing()
"""


def measure() -> list[Row]:
    """Time `--help`, `check` and a whole `run` of one empty task, as processes."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "small_pipeline.py"
        target.write_text(_PIPELINE)
        flowc = [sys.executable, "-m", "flowc"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "flowc --help": [*flowc, "--help"],
            "flowc check": [*flowc, "check", str(target)],
            "flowc run --runner inline": [*flowc, "run", str(target), "--runner", "inline"],
            "flowc run": [*flowc, "run", str(target)],
        }
        times = best_of_commands(list(commands.values()), tries=7)
    yardstick, *others = [
        Row(what, seconds * 1e3, "ms") for what, seconds in zip(commands, times, strict=True)
    ]
    return [
        yardstick,
        *(Row(row.what, row.figure, "ms", row.figure / yardstick.figure, yardstick.what) for row in others),
    ]
