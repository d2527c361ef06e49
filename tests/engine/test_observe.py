"""What is seen of a task's doings outside its inputs."""

from __future__ import annotations

import hashlib
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from flowc.engine.observe import Observer, observing
from flowc.runner import Observed
from flowc.store.files import FileDigests


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / ".flowc").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"a")
    (folder / "data").mkdir()
    monkeypatch.chdir(folder)
    return folder


def observed(
    root: Path, task: Callable[[], object], given: tuple[str, ...] = (), watched: tuple[str, ...] = ()
) -> Observed:
    observer = Observer(str(root), str(root / ".flowc"), given, watched)
    with FileDigests(root / ".flowc/files.sqlite") as digests:
        with observing(observer, digests):
            task()
        return observer.result(digests)


def test_a_file_that_is_read(root: Path) -> None:
    assert observed(root, lambda: Path("a.txt").read_bytes()) == Observed({"a.txt": sha(b"a")})


def test_a_file_that_is_read_by_another_thread(root: Path) -> None:
    def task() -> None:
        thread = threading.Thread(target=lambda: Path("a.txt").read_bytes())
        thread.start()
        thread.join()

    assert observed(root, task) == Observed({"a.txt": sha(b"a")})


def test_a_file_that_is_written_counts_as_it_was_left(root: Path) -> None:
    def task() -> None:
        Path("data/out.txt").write_bytes(b"one")
        assert Path("data/out.txt").read_bytes() == b"one"

    assert observed(root, task) == Observed({"data/out.txt": sha(b"one")})


def test_a_file_that_is_written_and_renamed(root: Path) -> None:
    def task() -> None:
        Path("data/part").write_bytes(b"one")
        Path("data/part").rename("data/whole")

    assert observed(root, task) == Observed({"data/whole": sha(b"one")})


def test_a_temporary_file_is_nobodys_business(root: Path) -> None:
    def task() -> None:
        Path("data/temporary").write_bytes(b"one")
        Path("data/temporary").unlink()

    assert observed(root, task) == Observed()


def test_a_temporary_folder_is_nobodys_business(root: Path) -> None:
    def task() -> None:
        with tempfile.TemporaryDirectory() as folder:
            # As a library in C does it, which no hook sees.
            subprocess.run(["/usr/bin/touch", f"{folder}/x"], check=True)
            Path(folder, "x").read_bytes()
            assert len(list(Path(folder).iterdir())) == 1

    seen = observed(root, task)
    assert seen == Observed(unrepeatable="it ran a program, touch")


@pytest.mark.parametrize("mode", ["r+", "a+"])
def test_a_file_that_is_read_and_changed_can_not_be_told(root: Path, mode: str) -> None:
    def task() -> None:
        with Path("a.txt").open(mode) as file:
            file.read()
            file.write("more")

    assert observed(root, task).unrepeatable == "it read a.txt, which changed while it ran"


def test_a_file_that_is_read_and_removed(root: Path) -> None:
    def task() -> None:
        Path("a.txt").read_bytes()
        Path("a.txt").unlink()

    assert observed(root, task).unrepeatable == "it read a.txt, and removed it"


def test_a_file_that_is_missing_may_come(root: Path) -> None:
    def task() -> None:
        with pytest.raises(FileNotFoundError):
            Path("nothing.txt").read_bytes()

    assert observed(root, task) == Observed({"nothing.txt": "missing"})


def test_a_folder_that_is_listed(root: Path) -> None:
    (root / "data/x").touch()
    seen = observed(root, lambda: list(Path("data").iterdir()))
    assert seen == Observed({"data": "names:" + sha(b"x")})


def test_a_folder_that_is_listed_and_changed(root: Path) -> None:
    def task() -> None:
        count = len(list(Path("data").iterdir()))
        Path(f"data/{count}").touch()

    assert observed(root, task).unrepeatable == "it listed data, and changed it"


def test_a_database_that_is_read(root: Path) -> None:
    connection = sqlite3.connect("data/d.sqlite")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()

    def task() -> None:
        connection = sqlite3.connect("data/d.sqlite")
        connection.execute("SELECT * FROM t").fetchall()
        connection.close()

    assert observed(root, task) == Observed({"data/d.sqlite": sha(Path("data/d.sqlite").read_bytes())})


def test_what_is_named_by_text_is_watched_though_it_is_opened_unseen(root: Path) -> None:
    path = str(root / "a.txt")
    assert observed(root, lambda: None, watched=(path,)) == Observed({"a.txt": sha(b"a")})


def test_what_is_given_is_not_seen_again_but_for_writing(root: Path) -> None:
    given = (str(root / "data"),)
    (root / "data/x").write_bytes(b"x")
    assert observed(root, lambda: Path("data/x").read_bytes(), given) == Observed()
    path = str(root / "data/y")
    assert observed(root, lambda: Path("data/y").write_bytes(b"y"), given) == Observed(wrote=(path,))


def test_a_connection_may_give_anything(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        seen = observed(root, lambda: socket.create_connection(("127.0.0.1", port)).close())
    assert seen.unrepeatable == f"it connected to 127.0.0.1:{port}"


def test_a_program_may_read_anything(root: Path) -> None:
    seen = observed(root, lambda: subprocess.run([sys.executable, "-c", ""], check=True))
    assert seen.unrepeatable == f"it ran a program, {Path(sys.executable).name}"
    assert observed(root, lambda: os.system("true")).unrepeatable == "it ran a program, true"


def test_what_python_and_the_store_read_is_no_input(root: Path) -> None:
    (root / ".flowc/log").touch()
    (root / "some_module_of_mine.py").write_text("x = 1")
    program = "import sys; sys.path.insert(0, '.'); import some_module_of_mine, this_is_missing"

    def task() -> None:
        with pytest.raises(ModuleNotFoundError):
            exec(program)
        (root / ".flowc/log").read_bytes()
        Path("/etc/hostname").read_bytes()

    assert observed(root, task) == Observed()


def test_nothing_is_seen_afterwards(root: Path) -> None:
    observer = Observer(str(root), str(root / ".flowc"))
    with FileDigests(root / ".flowc/files.sqlite") as digests:
        with observing(observer, digests):
            pass
        Path("a.txt").read_bytes()
        assert observer.result(digests) == Observed()
