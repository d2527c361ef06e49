"""What typed tables cost: checking a pipeline of them against building its IR, holding one against reading it."""

from __future__ import annotations

import datetime
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, Field

from benchmarks.table import Row
from benchmarks.timing import best
from flowc import Dataset, component, pipeline
from flowc.check import check_pipeline
from flowc.ir import Pipeline
from flowc.types.columns import columns_of
from flowc.types.hold import hold_table

TASKS = (1_000, 10_000)
COLUMNS = 50
ROWS = 10_000_000

Wide: Any = TypedDict("Wide", {f"c{number}": Annotated[float, Field(ge=0)] for number in range(COLUMNS)})  # type: ignore[misc]
_Float = Annotated[float, Field(ge=0)]


class Reading(BaseModel):
    """Ten columns of the kinds that tables have, most of them with something to hold."""

    id: Annotated[int, Field(ge=0)]
    station: int
    fare: Annotated[float, Field(ge=0, le=1000)]
    tip: _Float | None
    miles: _Float
    latitude: Annotated[float, Field(ge=-90, le=90)]
    longitude: Annotated[float, Field(ge=-180, le=180)]
    at: datetime.datetime
    kind: Literal["bus", "tram", "taxi"]
    company: Annotated[str, Field(min_length=1)]


def measure() -> list[Row]:
    """Time each beside its yardstick, in this process."""
    return [*_checking(), *_holding()]


def _checking() -> list[Row]:
    rows, per_task = [], []
    for count in TASKS:
        building = best(partial(_chain, count), tries=2)
        made = _chain(count)
        checking = best(partial(check_pipeline, made), tries=3)
        per_task.append(checking / count)
        what = f"check {count} tasks, tables of {COLUMNS} columns"
        rows.append(Row(what, checking * 1e3, "ms", checking / building, "building the IR"))
    growth = per_task[1] / per_task[0]
    rows.append(Row("the same, per task", per_task[1] * 1e6, "us", growth, f"{TASKS[0]} tasks"))
    return rows


def _chain(count: int) -> Pipeline:
    """Return a chain in which every second task has a component of its own: types are compared, not recognised."""
    steps = [_step(number) for number in range(count // 2)]

    @pipeline(name=f"tables-{count}")
    def made() -> object:
        last = _start()
        for number in range(count - 1):
            last = steps[number // 2](last)
        return last

    return made.compile()


@component
def _start() -> Dataset[Wide]:
    raise NotImplementedError("this benchmark compiles, and runs nothing")


def _step(number: int) -> Any:
    def step(table: Any) -> Any:
        return table

    step.__annotations__ = {"table": Dataset[Wide], "return": Dataset[Wide]}
    step.__qualname__ = f"step_{number}"
    return component(name=f"step_{number}")(step)


def _holding() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "readings.parquet"
        pq.write_table(_readings(), path)
        reading = best(lambda: pq.read_table(path), tries=3)
        table = pq.read_table(path)
    holding = best(lambda: hold_table(table, columns_of(Reading), "the table"), tries=3)
    return [
        Row(f"read {ROWS:,} rows, 10 columns of Parquet", reading, "s"),
        Row("hold them to their row class", holding, "s", holding / reading, "reading"),
    ]


def _readings() -> pa.Table:
    random = np.random.default_rng(0)

    def some(low: float, high: float) -> Any:
        return random.uniform(low, high, ROWS)

    names = pa.array(["Yellow Cab", "Blue Diamond", "Sun Taxi"])
    return pa.table(
        {
            "id": np.arange(ROWS),
            "station": random.integers(0, 500, ROWS),
            "fare": some(0, 100),
            "tip": pa.array(some(0, 20), mask=random.random(ROWS) < 0.1),
            "miles": some(0, 50),
            "latitude": some(-90, 90),
            "longitude": some(-180, 180),
            "at": pa.array(random.integers(0, 2**50, ROWS), pa.timestamp("us")),
            "kind": pa.array(["bus", "tram", "taxi"]).take(pa.array(random.integers(0, 3, ROWS))),
            "company": names.take(pa.array(random.integers(0, 3, ROWS))),
        }
    )
