"""A metadata store that is missing, damaged, refused by the disk, left by a killed process, or held by many."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flowc.errors import NotFoundError, StoreError
from flowc.store.metadata import Store, open_store
from flowc.store.records import Made, NewRun, PlannedTask, RunEnded, TaskEnded, TaskStarted
from flowc.store.stored import Stored

SPAWN = multiprocessing.get_context("spawn")
NOON = 1_796_126_400.0


def begin(store: Store, name: str = "taxi") -> str:
    return store.begin_run(NewRun(name, "taxi.py", "local", NOON, "{}", (PlannedTask("ingest", "read"),)))


def test_reading_where_nothing_has_run_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nothing has run here yet"):
        open_store(tmp_path / ".flowc", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_new_store_is_whole_and_ignored_by_git(tmp_path: Path) -> None:
    open_store(tmp_path / "deep" / ".flowc", create=True).close()
    folder = tmp_path / "deep" / ".flowc"
    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "metadata.sqlite"]
    assert (folder / ".gitignore").read_text() == "*\n"
    with sqlite3.connect(folder / "metadata.sqlite") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_folder_that_cannot_be_made(tmp_path: Path, read_only_disk: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="can't open the store: Not a directory"):
        open_store(tmp_path / "file" / ".flowc", create=True)
    with pytest.raises(StoreError, match="can't open the store: no permission for"):
        open_store(read_only_disk / ".flowc", create=True)


@pytest.mark.parametrize(
    "content", [b"this is no database at all" * 100, b"SQLite format 3\0" + b"\7" * 5000]
)
def test_a_damaged_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "metadata.sqlite").write_bytes(content)
    for create in (True, False):
        with pytest.raises(StoreError, match=r"it is not a database, or damaged|it is damaged") as caught:
            open_store(tmp_path, create=create)
        assert caught.value.hint == "move it away, or bring it back from a backup"
    assert (tmp_path / "metadata.sqlite").read_bytes() == content


def test_a_truncated_database(tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store:
        begin(store)
    path = tmp_path / "metadata.sqlite"
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreError, match="it is damaged"), open_store(tmp_path, create=False) as store:
        store.run("latest")


def test_a_database_of_a_newer_flowc_and_one_of_somebody_else(tmp_path: Path) -> None:
    open_store(tmp_path, create=True).close()
    with sqlite3.connect(tmp_path / "metadata.sqlite") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreError, match=r"was made by a newer flowc \(its version is 9999\)"):
        open_store(tmp_path, create=True)
    other = tmp_path / "other"
    other.mkdir()
    with sqlite3.connect(other / "metadata.sqlite") as connection:
        connection.execute("CREATE TABLE album (title TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="is a database, but not one of flowc's"):
        open_store(other, create=False)


def test_a_full_disk_is_said_records_nothing_and_can_be_mended(small_disk: Path) -> None:
    with open_store(small_disk, create=True) as store:
        run = begin(store)
        free = os.statvfs(small_disk)
        (small_disk / "ballast").write_bytes(b"\0" * (free.f_bavail * free.f_frsize))
        large = Stored("0" * 64, "json", "builtins:str", 1, summary={"value": "x" * 100_000})
        with pytest.raises(StoreError, match="no space left on the disk") as caught:
            store.record([TaskEnded(run, "ingest", 1, NOON, "COMPLETE", {"output": Made(large, "str")})])
        assert "free some space" in str(caught.value.hint)
        assert store.tasks(run)[0].executions == ()
        (small_disk / "ballast").unlink()
        store.record([TaskEnded(run, "ingest", 1, NOON, "COMPLETE", {"output": Made(large, "str")})])
        assert store.artifacts(run)[0].stored == large


def test_no_room_for_a_new_store(small_disk: Path) -> None:
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(b"\0" * (free.f_bavail * free.f_frsize - 20_000))
    with pytest.raises(StoreError, match="no space left on the disk"):
        open_store(small_disk / ".flowc", create=True)
    assert [path.name for path in (small_disk / ".flowc").iterdir()] == [".gitignore"]


_KILLED_BEFORE_RECORDING = """
import os, signal, sys
from pathlib import Path
import numpy as np
from flowc.store.metadata import open_store
from flowc.store.records import NewRun, PlannedTask, TaskStarted
from flowc.types.model import AnyType
store = open_store(Path(sys.argv[1]), create=True)
run = store.begin_run(NewRun("taxi", "taxi.py", "local", 0.0, "{}", (PlannedTask("ingest", "read"),)))
store.record([TaskStarted(run, "ingest", 1, 0.0)])
store.artifact_store.save(np.arange(1000), AnyType())
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_killed_between_artifact_and_record(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", _KILLED_BEFORE_RECORDING, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    with open_store(tmp_path, create=False) as store:
        run = store.run("latest")
        assert (run.state, run.alive) == ("RUNNING", False)
        (task,) = store.tasks(run.id)
        assert (task.state, task.executions[0].ended) == ("RUNNING", None)  # what was reported is there
        assert store.artifacts(run.id) == []
        (file,) = (path for path in (tmp_path / "artifacts").rglob("*") if path.is_file())
        digest = file.parent.parent.name + file.parent.name
        store.artifact_store.verify(Stored(digest, "numpy", "numpy:ndarray", 0))
        store.record([RunEnded(run.id, NOON, "FAILED", "its process was killed")])
        assert (store.run("latest").state, store.run("latest").alive) == ("FAILED", None)


def test_a_run_of_a_process_that_is_gone_and_of_another_host(tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store:
        here = begin(store)
        again, elsewhere = begin(store), begin(store)
    with sqlite3.connect(tmp_path / "metadata.sqlite") as connection:
        # Another process that got the same number: it started at another time.
        connection.execute("UPDATE run SET pid_started = '1' WHERE name = ?", (again,))
        connection.execute("UPDATE run SET host = 'elsewhere' WHERE name = ?", (elsewhere,))
    connection.close()
    with open_store(tmp_path, create=False) as store:
        assert [store.run(name).alive for name in (here, again, elsewhere)] == [True, False, None]


def _record_run(location: Path, number: int, barrier: Any) -> None:
    barrier.wait()  # so that all make the store at once
    with open_store(location, create=True) as store:
        tasks = tuple(PlannedTask(f"t{task}", "noop") for task in range(30))
        run = store.begin_run(NewRun(f"p{number}", "p.py", "local", NOON, "{}", tasks))
        for task in range(30):
            store.record([TaskStarted(run, f"t{task}", 1, NOON)])
            output = Made(Stored(f"{task:064d}", "json", "builtins:int", 1, inline=b"1"), "int")
            store.record([TaskEnded(run, f"t{task}", 1, NOON, "COMPLETE", {"output": output})])
        store.record([RunEnded(run, NOON, "COMPLETE")])


def test_many_processes_make_and_write_one_store(tmp_path: Path) -> None:
    barrier = SPAWN.Barrier(4)
    processes = [SPAWN.Process(target=_record_run, args=(tmp_path, number, barrier)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    with open_store(tmp_path, create=False) as store:
        runs = store.runs()
        assert sorted(run.pipeline for run in runs) == ["p0", "p1", "p2", "p3"]
        for run in runs:
            assert (run.state, run.counts) == ("COMPLETE", {"COMPLETE": 30})
            assert len(store.artifacts(run.id)) == 30
            assert len(store.state_changes(run.id)) == 62
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "metadata.sqlite"]
