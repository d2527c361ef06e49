"""The database behind the metadata store: how it is opened, and what to say when it refuses. All that is special
to SQLite is here."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, select
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.pool import ConnectionPoolEntry

from flowc.errors import StoreError
from flowc.store.durable import sync
from flowc.store.tables import SCHEMA_VERSION, alembic_version, metadata

_BUSY_SECONDS = 60.0
_LOG_INDEX_BYTES = 32_768
_HINTS = {
    sqlite3.SQLITE_FULL: ("no space left on the disk", "free some space, then run again"),
    sqlite3.SQLITE_NOTADB: (
        "it is not a database, or damaged",
        "move it away, or bring it back from a backup",
    ),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", "move it away, or bring it back from a backup"),
    sqlite3.SQLITE_BUSY: (
        f"another process held it for more than {_BUSY_SECONDS:.0f} seconds",
        "look for a flowc process that hangs",
    ),
    sqlite3.SQLITE_READONLY: (
        "it can't be written to",
        "make the file and its folder writable for this user",
    ),
    sqlite3.SQLITE_CANTOPEN: ("it can't be opened", "make the file and its folder writable for this user"),
    sqlite3.SQLITE_IOERR: ("the disk reports an error", "look at the disk, then run again"),
}


class Database:
    """A metadata database. Each transaction is one of `reading` or `writing`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = _engine(path)
        self._writer = self._engine.execution_options(writes=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Hold a view of the database that others' writes don't change."""
        with self._explained(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Hold the right to write; what is written is there as a whole at the end, or not at all."""
        with self._explained(), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise refusal(error, self.path) from error


def refusal(error: DBAPIError, path: Path) -> StoreError:
    """Return the error to raise for what the database refused."""
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_IOERR and _is_nearly_full(path):
        code = sqlite3.SQLITE_FULL  # SQLite doesn't say so where it is the index of its log that has no room
    reason, hint = _HINTS.get(code, (str(error.orig), None))
    return StoreError(f"the metadata store {path}: {reason}", hint=hint)


def _is_nearly_full(path: Path) -> bool:
    disk = os.statvfs(path.parent)
    return disk.f_bavail * disk.f_frsize < _LOG_INDEX_BYTES


def create_database(path: Path) -> None:
    """Make a new database with all tables, as a whole; one that another process makes meanwhile is kept."""
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    engine = _engine(draft)
    try:
        with engine.connect() as connection:
            # Kept in the file. Switching needs the file for oneself, so it is done before anyone knows it.
            connection.connection.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]
        with engine.execution_options(writes=True).begin() as connection:
            metadata.create_all(connection, checkfirst=False)
            connection.execute(alembic_version.insert().values(version_num=SCHEMA_VERSION))
        engine.dispose()
        sync(draft)
        with suppress(FileExistsError):
            os.link(draft, path)
        sync(path.parent)
    except DBAPIError as error:
        raise refusal(error, path) from error
    finally:
        engine.dispose()
        for leftover in path.parent.glob(f"{draft.name}*"):
            leftover.unlink()


def schema_version(database: Database) -> str:
    """Return the version of a database's tables; StoreError where it is none of flowc's."""
    try:
        with database.reading() as connection:
            found = connection.scalar(select(alembic_version.c.version_num))
    except StoreError as error:
        if isinstance(error.__cause__, OperationalError | ProgrammingError) and "no such table" in str(error):
            found = None
        else:
            raise
    if found is None:
        raise StoreError(
            f"{database.path} is a database, but not one of flowc's", hint="move it away, then run again"
        )
    return str(found)


def _engine(path: Path) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": _BUSY_SECONDS})
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begun)
    return engine


def _connected(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    # The driver would begin transactions late, and so let two writers collide after both have read.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # A killed process loses nothing that was committed: the pages are with the kernel by then. Only when the
    # machine itself fails can the last commits be lost, never the database; then those tasks run again. FULL
    # would cost a sync of the disk for each commit, which is most of what a small task costs.
    connection.execute("PRAGMA synchronous = NORMAL")


def _begun(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
