"""What it costs to compile, check, plan and write a pipeline, and how that grows with its size."""

from __future__ import annotations

from pathlib import Path

from benchmarks.pipelines import chain
from benchmarks.table import Row
from benchmarks.timing import best
from flowc.check import check_pipeline
from flowc.ir.json import dump_pipeline
from flowc.plan import make_plan

SIZES = (100, 1_000, 10_000)


def measure() -> list[Row]:
    """Time all stages up to the plan, per task; the yardstick is the cost per task at the smallest size."""
    per_task = [
        best(lambda size=size: _all_stages(size), tries=5 if size < 10_000 else 3) / size for size in SIZES
    ]
    return [
        Row(f"{size} tasks, per task", cost * 1e6, "us", cost / per_task[0], f"at {SIZES[0]} tasks")
        for size, cost in zip(SIZES, per_task, strict=True)
    ]


def _all_stages(size: int) -> None:
    pipeline = chain(size)
    make_plan(check_pipeline(pipeline), {}, Path.cwd())
    dump_pipeline(pipeline)
