"""What it costs to compile a notebook, how that grows, and what running it as a pipeline costs against one kernel."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.table import Row
from benchmarks.timing import best, best_of_commands
from flowc.check import check_pipeline
from flowc.notebook.lower import compile_notebook

CELLS = (20, 50, 1_000)
STEPS = 10
_GROWTH = 30  # at most, from 50 cells to 1,000
SHAPED = 250  # cells of the notebooks that do one thing again and again


def measure() -> list[Row]:
    """Time compiling and checking in this process; then `flowc run` and papermill, each as a whole command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [*_compiling(folder), *_growing(folder), *_running(folder)]


def _compiling(folder: Path) -> Iterator[Row]:
    times = {}
    for count in CELLS:
        path = _written(folder / f"of_{count}.ipynb", _work(count))
        times[count] = best(partial(_compiled, path), tries=3 if count > 100 else 10)
    small, middle, large = CELLS
    yield Row(f"compile {small} cells", times[small] * 1e3, "ms")
    yield Row(f"compile {middle} cells", times[middle] * 1e3, "ms")
    growth = times[large] / times[middle]
    yield Row(
        f"compile {large} cells (at most {_GROWTH} x)", times[large] * 1e3, "ms", growth, f"{middle} cells"
    )


def _growing(folder: Path) -> Iterator[Row]:
    """Time notebooks of one kind of cell each: what grows with the cells shows there most."""
    _, middle, _ = CELLS
    for name, sources in _SHAPES.items():
        paths = [_written(folder / f"{count}.ipynb", _work(count, sources)) for count in (middle, SHAPED)]
        few, many = (best(partial(_compiled, path), tries=3) for path in paths)
        yield Row(f"compile {SHAPED} cells of {name}", many * 1e3, "ms", many / few, f"{middle} cells")


def _running(folder: Path) -> Iterator[Row]:
    trivial = [
        ("step:first", "n = 1\nn"),
        *((f"step:next{i}", "n = n + 1\nprint(n)") for i in range(STEPS - 1)),
    ]
    path = _written(folder / "trivial.ipynb", trivial)
    store = folder / "store"
    commands = {
        "papermill, one kernel": [
            *(sys.executable, "-m", "papermill", "--no-progress-bar", "-k", "python3"),
            *(str(path), str(folder / "out.ipynb")),
        ],
        "flowc run": [sys.executable, "-m", "flowc", "run", str(path), "--store", str(store)],
        "flowc run --runner inline": [
            *(sys.executable, "-m", "flowc", "run", str(path), "--store", str(store), "--runner", "inline")
        ],
    }
    times = best_of_commands(list(commands.values()), tries=5)
    shutil.rmtree(store)
    yardstick = times[0]
    yield Row(f"{STEPS} steps: papermill, one kernel", yardstick, "s")
    for what, seconds in list(zip(commands, times, strict=True))[1:]:
        yield Row(f"{STEPS} steps: {what}, recorded", seconds, "s", seconds / yardstick, "papermill")


def _compiled(path: Path) -> None:
    pipeline, _ = compile_notebook(path, path.parent)
    check_pipeline(pipeline)


def _work(count: int, sources: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return cells as notebooks have them: imports, helpers that read globals, tables that are changed on the way."""
    cells = [
        ("imports", "import numpy as np\nimport pandas as pd"),
        ("parameters", "size: int = 100\nseed = 3"),
        ("functions", "LIMIT = 10\n\ndef scaled(values):\n    return [value / LIMIT for value in values]"),
        ("step:load", "df = pd.DataFrame({'a': np.arange(size)})\nkept = []"),
    ]
    sources = sources or _SOURCES
    for number in range(count - len(cells)):
        tags = f"step:part{number // 4}" if number % 4 == 0 else ""
        cells.append((tags, sources[number % len(sources)].format(n=number)))
    return cells


_SOURCES = (
    "df['c{n}'] = scaled(df['a'])\ndf.head()",
    "total_{n} = df['a'].sum()\nkept.append(total_{n})",
    "for row in range(3):\n    if row > 1:\n        last_{n} = row\nprint(len(kept))",
    "part_{n} = df[df['a'] > {n}].copy()\npart_{n}['b'] = 1",
    "def check_{n}(value):\n    return value > LIMIT\n\nflags_{n} = [check_{n}(value) for value in kept]",
)

_SHAPES = {
    "lists that are kept": ("items_{n} = [{n}]\nkept.append(items_{n})",),
    "tables in a row": (
        "df = df.assign(c{n}=df['a'] * 2)",
        "df['d{n}'] = df['a'].shift({n})",
        "df = df.dropna()",
    ),
    "calls of one helper": ("rows_{n} = scaled(kept)\nmore_{n} = scaled(rows_{n})",),
}


def _written(path: Path, cells: Sequence[tuple[str, str]]) -> Path:
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{index}",
                "metadata": {"tags": tags.split()},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
            for index, (tags, source) in enumerate(cells)
        ],
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
