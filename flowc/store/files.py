"""Digests of the user's own files and folders, remembered so that a large file is read once and not in every run.

A digest is taken for that of a file as long as size, time of change and inode are what they were. A file that was
changed a moment ago is not remembered: it may change again within the clock's tick and look the same (as git's index
has it, "racy git").
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from flowc.errors import StoreError

MISSING = "missing"
"""The digest of what is not there."""
NAMES = "names:"
"""What a folder's digest begins with where only the names in it count."""
_LEFT_OUT = frozenset((".flowc", ".git", "__pycache__", ".ipynb_checkpoints"))
_MOST_FILES = 100_000
_SETTLED_NS = 2_000_000_000
_BUSY_SECONDS = 10.0
_SCHEMA = "CREATE TABLE IF NOT EXISTS file (path BLOB PRIMARY KEY, state TEXT NOT NULL, digest TEXT NOT NULL)"


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells whether a file is still what it was, without reading it."""

    size: int
    changed: int
    inode: int

    @classmethod
    def of(cls, path: str | Path) -> Self | None:
        """Return a file's or folder's state; None where there is none, or it can't be looked at."""
        try:
            found = Path(path).stat()
        except (OSError, ValueError):
            return None
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)

    def __str__(self) -> str:
        return f"{self.size}:{self.changed}:{self.inode}"


class FileDigests:
    """Digests of files by path, kept in a small database beside the store's. It may be deleted at any time.

    It is closed when nobody refers to it any more, at the latest.
    """

    def __init__(self, memory: Path) -> None:
        self._path = memory
        self._connection: sqlite3.Connection | None = None
        self._closing: weakref.finalize[..., FileDigests] | None = None

    def of(self, path: Path) -> str:
        """Return the digest of what a path points at: a file's content, a folder's tree, or that nothing is there.

        Raises StoreError where it can't be read, or a folder holds more than 100,000 files.
        """
        try:
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                return self._folder(path)
            return self._file(path) if stat.S_ISREG(mode) else "special"
        except FileNotFoundError:
            return MISSING
        except OSError as error:
            raise StoreError(f"can't read {path}: {error.strerror}") from error

    def names_in(self, folder: Path) -> str:
        """Return the digest of the names in a folder alone."""
        try:
            names = sorted(os.fsencode(path.name) for path in folder.iterdir() if path.name not in _LEFT_OUT)
        except OSError:
            return NAMES + MISSING
        return NAMES + hashlib.sha256(b"\0".join(names)).hexdigest()

    def again(self, path: Path, recorded: str) -> str:
        """Return the digest of a path now, of the kind that was recorded."""
        return self.names_in(path) if recorded.startswith(NAMES) else self.of(path)

    def close(self) -> None:
        """Close the database."""
        if self._closing is not None:
            self._closing()
        self._connection = self._closing = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _folder(self, folder: Path) -> str:
        whole = hashlib.sha256(b"folder")
        for number, (name, path) in enumerate(_tree(folder, b"")):
            if number == _MOST_FILES:
                message = (
                    f"{folder} holds more than {_MOST_FILES:,} files, too many to tell whether one changed"
                )
                raise StoreError(
                    message, hint="name a smaller folder, or say how long results hold: cache='1d'"
                )
            whole.update(len(name).to_bytes(8, "big") + name + (self._file(path) if path else "").encode())
        return whole.hexdigest()

    def _file(self, path: Path) -> str:
        before = FileState.of(path)
        key = os.fsencode(path.resolve())
        known = self._remembered(key, before)
        if known is not None:
            return known
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        settled = before is not None and time.time_ns() - before.changed > _SETTLED_NS
        if before is not None and settled and before == FileState.of(path):
            self._remember(key, before, digest)
        return digest

    def _remembered(self, key: bytes, state: FileState | None) -> str | None:
        with suppress(sqlite3.Error):  # a memory that fails only costs reading the file
            found = (
                self._database().execute("SELECT state, digest FROM file WHERE path = ?", (key,)).fetchone()
            )
            if found is not None and found[0] == str(state):
                return str(found[1])
        return None

    def _remember(self, key: bytes, state: FileState, digest: str) -> None:
        with suppress(sqlite3.Error):  # as above
            self._database().execute(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?)", (key, str(state), digest)
            )

    def _database(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(
                self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._closing = weakref.finalize(self, self._connection.close)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = OFF")
            self._connection.execute(_SCHEMA)
        return self._connection


def _tree(
    folder: Path, prefix: bytes, above: frozenset[str] = frozenset()
) -> Iterator[tuple[bytes, Path | None]]:
    """Return what is in a folder, in an order that depends on names only; folders have no path."""
    above |= {os.path.realpath(folder)}
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
    for entry in entries:
        name = prefix + os.fsencode(entry.name)
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir():
            yield name + b"/", None
            if os.path.realpath(entry.path) not in above:  # a link may lead back
                yield from _tree(Path(entry.path), name + b"/", above)
        elif entry.is_file():
            yield name, Path(entry.path)
