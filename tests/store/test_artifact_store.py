"""Artifacts on the disk: whole or not there at all, whatever happens to their writers and to the disk."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flowc.errors import CodecError, StoreError
from flowc.store.artifacts import ArtifactStore
from flowc.store.stored import Stored
from flowc.types.artifacts import FileArtifact
from flowc.types.describe import describe
from flowc.types.model import AnyType

ANY = AnyType()
SPAWN = multiprocessing.get_context("spawn")


def files_under(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_an_unused_store_touches_nothing_and_imports_no_heavy_library(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from flowc.store.artifacts import ArtifactStore;"
        "from flowc.types.model import AnyType; s = ArtifactStore(Path(sys.argv[1]));"
        "assert s.load(s.save([1], AnyType()), AnyType()) == [1];"
        "print({'pandas', 'numpy', 'pyarrow', 'keras', 'sqlalchemy', 'alembic'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "artifacts")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"
    assert not (tmp_path / "artifacts").exists()


def test_the_layout(store: ArtifactStore) -> None:
    stored = store.save(np.arange(3), ANY)
    digest = stored.digest
    assert len(digest) == 64
    assert store.path(digest) == store.root / digest[:2] / digest[2:]
    assert files_under(store.root) == [store.path(digest) / "array.npy"]
    assert stored.size == (store.path(digest) / "array.npy").stat().st_size
    assert list((store.root / "tmp").iterdir()) == []


def test_a_missing_a_damaged_and_an_enlarged_artifact_are_refused(store: ArtifactStore) -> None:
    stored = store.save(np.arange(3), ANY)
    store.verify(stored)
    folder = store.path(stored.digest)
    (folder / "array.npy").chmod(0o644)
    with (folder / "array.npy").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x07")
    with pytest.raises(StoreError, match="is damaged"):
        ArtifactStore(store.root).load(stored, ANY)
    assert not store.has(stored)  # it was put away
    with pytest.raises(StoreError, match="is missing"):
        ArtifactStore(store.root).load(stored, ANY)
    store.save(np.arange(3), ANY)
    (folder / "more").write_text("")
    with pytest.raises(StoreError, match="is damaged"):
        store.verify(stored)


def test_a_damaged_inline_value_is_refused(store: ArtifactStore) -> None:
    stored = store.save((1, 2), ANY)
    assert stored.codec == "pickle"
    other = Stored(stored.digest, stored.codec, stored.python_type, stored.size, inline=b"cos\nsystem\n")
    assert store.load(stored, ANY) == (1, 2)
    with pytest.raises(StoreError, match="is damaged"):
        store.load(other, ANY)


def test_saving_again_mends_a_damaged_artifact(store: ArtifactStore) -> None:
    stored = store.save(np.arange(3), ANY)
    (store.path(stored.digest) / "array.npy").unlink()
    fresh = ArtifactStore(store.root)
    assert fresh.save(np.arange(3), ANY) == stored
    assert ArtifactStore(store.root).load(stored, ANY).tolist() == [0, 1, 2]
    assert list((store.root / "tmp").iterdir()) == []


def test_an_unknown_codec_names_what_to_do(store: ArtifactStore) -> None:
    with pytest.raises(CodecError, match="no codec 'jsen' is installed here") as caught:
        store.load(Stored("0" * 64, "jsen", "builtins:int", 1, inline=b"1"), ANY)
    assert caught.value.hint == "did you mean 'json'?"


def test_a_codec_of_another_distribution_is_found(tmp_path: Path) -> None:
    """A distribution with an entry point, as pip would install it: its folder and its dist-info."""
    (tmp_path / "site" / "colours-1.0.dist-info").mkdir(parents=True)
    (tmp_path / "site" / "colours-1.0.dist-info" / "METADATA").write_text("Name: colours\nVersion: 1.0\n")
    (tmp_path / "site" / "colours-1.0.dist-info" / "entry_points.txt").write_text(
        "[flowc.codecs]\ncolour = colours:ColourCodec\n"
    )
    (tmp_path / "site" / "colours.py").write_text(
        "class Colour:\n"
        "    def __init__(self, name): self.name = name\n"
        "class ColourCodec:\n"
        "    name = 'colour'\n"
        "    def write(self, value, draft):\n"
        "        if not isinstance(value, Colour): return None\n"
        "        draft.document = value.name.encode()\n"
        "        return {'colour': value.name}\n"
        "    def read(self, content): return Colour(content.document.decode())\n"
    )
    program = (
        "import sys; from pathlib import Path; from flowc.store.artifacts import ArtifactStore; import colours;"
        "from flowc.types.model import AnyType; s = ArtifactStore(Path(sys.argv[1]));"
        "stored = s.save(colours.Colour('red'), AnyType());"
        "print(stored.codec, stored.inline, s.load(stored, AnyType()).name)"
    )
    paths = os.pathsep.join((str(tmp_path / "site"), *filter(None, sys.path)))
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "artifacts")],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "colour b'red' red\n"


def _save_many(root: Path, own: int, barrier: Any, results: Any) -> None:
    store = ArtifactStore(root)
    barrier.wait()
    shared = [store.save(np.full(1000, number), ANY).digest for number in range(30)]
    single = store.save(np.full(1000, -own), ANY).digest
    results.put((shared, single))


def test_processes_that_write_the_same_and_other_artifacts_at_once(store: ArtifactStore) -> None:
    barrier, results = SPAWN.Barrier(4), SPAWN.Queue()
    processes = [
        SPAWN.Process(target=_save_many, args=(store.root, own, barrier, results)) for own in range(1, 5)
    ]
    for process in processes:
        process.start()
    found = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    assert {tuple(shared) for shared, _ in found} == {tuple(found[0][0])}
    digests = {*found[0][0], *(single for _, single in found)}
    assert len(digests) == 34
    assert {path.parent.parent.name + path.parent.name for path in files_under(store.root)} == digests
    assert list((store.root / "tmp").iterdir()) == []
    assert sorted(int(store.load(_array(digest), ANY)[0]) for digest in digests) == list(range(-4, 30))


def _array(digest: str) -> Stored:
    return Stored(digest, "numpy", "numpy:ndarray", 0)


def test_a_killed_writer_leaves_nothing_that_is_seen_and_its_leftovers_go(store: ArtifactStore) -> None:
    """The writer stops itself between two files of an artifact, and is killed there."""
    program = (
        "import os, signal, sys; from pathlib import Path; from flowc.store.artifacts import ArtifactStore\n"
        "from flowc import FileArtifact; from flowc.types.describe import describe\n"
        "def stop_at_second(event, args):\n"
        "    if event == 'shutil.copyfile' and sum(f.is_file() for f in Path(sys.argv[1]).rglob('*')):\n"
        "        os.kill(os.getpid(), signal.SIGSTOP)\n"
        "sys.addaudithook(stop_at_second)\n"
        "ArtifactStore(Path(sys.argv[1])).save(FileArtifact(sys.argv[2]), describe(FileArtifact))\n"
    )
    source = store.root.parent / "source"
    source.mkdir()
    for name in "ab":
        (source / name).write_text("content")
    with subprocess.Popen([sys.executable, "-c", program, str(store.root), str(source)]) as writer:
        _, status = os.waitpid(writer.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        store.remove_leftovers()
        assert len(files_under(store.root)) == 1  # half written, and its writer lives
        writer.kill()
    assert [path.name for path in store.root.iterdir()] == ["tmp"]
    store.remove_leftovers()
    assert list((store.root / "tmp").iterdir()) == []


@pytest.mark.parametrize("value", [np.zeros(1_000_000), "x" * 8_000_000], ids=["array", "text"])
def test_a_full_disk_is_said_and_leaves_nothing(small_disk: Path, value: Any) -> None:
    store = ArtifactStore(small_disk / "artifacts")
    (small_disk / "ballast").write_bytes(b"\0" * 1_000_000)
    with pytest.raises(StoreError, match="no space left on the disk that holds") as caught:
        store.save(value, ANY)
    assert "free some space" in str(caught.value.hint)
    assert files_under(store.root) == []
    (small_disk / "ballast").unlink()
    small = np.zeros(10_000)
    assert store.load(store.save(small, ANY), ANY).tolist() == small.tolist()


def test_a_full_disk_while_a_table_is_written(small_disk: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    store = ArtifactStore(small_disk / "artifacts")
    with pytest.raises(StoreError, match="no space left on the disk that holds"):
        store.save(pa.table({"a": np.arange(1_000_000)}), ANY)
    assert files_under(store.root) == []


def test_a_full_disk_while_files_are_copied(small_disk: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "large").write_bytes(b"\0" * 4_000_000)
    store = ArtifactStore(small_disk / "artifacts")
    with pytest.raises(StoreError, match="no space left on the disk that holds"):
        store.save(FileArtifact(tmp_path / "folder"), describe(FileArtifact))
    assert files_under(store.root) == []


def test_a_read_only_disk_and_a_file_in_the_way(read_only_disk: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no permission for"):
        ArtifactStore(read_only_disk / "artifacts").save(np.arange(3), ANY)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="can't save a ndarray: Not a directory"):
        ArtifactStore(tmp_path / "file" / "artifacts").save(np.arange(3), ANY)
