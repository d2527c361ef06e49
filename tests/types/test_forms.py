"""Tables of other packages: found by an entry point, turned into ours and back, and held to columns on the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FRAMES = """
import pyarrow as pa

class Frame:
    def __init__(self, columns): self.columns = columns

class Form:
    def to_table(self, value): return pa.table(value.columns)
    def from_table(self, table): return Frame(table.to_pydict())
"""
PROGRAM = """
from typing import TypedDict
import frames, pyarrow as pa
from flowc import ComponentError, Dataset, Model
from flowc.store.codecs.tables import in_declared_form
from flowc.types.describe import describe
from flowc.types.flow import mismatch

class Trip(TypedDict):
    fare: float

frame, trips, table, model = map(describe, (frames.Frame, Dataset[Trip], pa.Table, Model))
print(mismatch(frame, trips), mismatch(trips, frame), mismatch(table, frame), mismatch(frame, model))
print(in_declared_form(frames.Frame({"fare": [1.5]}), trips).table.to_pydict())
print(in_declared_form(Dataset(pa.table({"fare": [2.5]})), frame).columns)
try:
    in_declared_form(frames.Frame({"fare": [1]}), trips)
except ComponentError as error:
    print(error.message.splitlines()[1].strip())
"""


def test_another_packages_tables_are_tables(tmp_path: Path) -> None:
    (tmp_path / "frames-1.0.dist-info").mkdir()
    (tmp_path / "frames-1.0.dist-info" / "METADATA").write_text("Name: frames\nVersion: 1.0\n")
    entry = "[flowc.tables]\nframes:Frame = frames:Form\n"
    (tmp_path / "frames-1.0.dist-info" / "entry_points.txt").write_text(entry)
    (tmp_path / "frames.py").write_text(FRAMES)
    paths = os.pathsep.join((str(tmp_path), *filter(None, sys.path)))
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [
        "None None None Frame is not a Model",
        "{'fare': [1.5]}",
        "{'fare': [2.5]}",
        "column 'fare': expected double, found int64",
    ]
