"""The metadata store: runs, their tasks and executions, the artifacts that these read and made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from flowc.errors import NotFoundError, StoreError
from flowc.store import queries
from flowc.store.artifacts import ArtifactStore
from flowc.store.changes import RunIndex, load_index, write_changes
from flowc.store.database import Database, create_database, schema_version
from flowc.store.durable import refusal
from flowc.store.files import FileDigests
from flowc.store.owner import Owner
from flowc.store.places import file_digests
from flowc.store.records import (
    ArtifactRecord,
    BasisRecord,
    Change,
    NewRun,
    PastExecution,
    RunEnded,
    RunRecord,
    StateChange,
    TaskRecord,
)
from flowc.store.reuse import bases_before, basis_in_run, find_past, find_past_of_run, known_codes
from flowc.store.runs import insert_run
from flowc.store.seen import Key, Seen, outputs_made, outputs_seen
from flowc.store.stored import Stored
from flowc.store.tables import SCHEMA_VERSION

_DATABASE = "metadata.sqlite"
_ARTIFACTS = "artifacts"


class Store:
    """A project's record of its runs. Use it from one thread at a time."""

    def __init__(self, database: Database, artifacts: ArtifactStore) -> None:
        self.artifact_store = artifacts
        self._database = database
        self._indexes: dict[str, RunIndex] = {}

    def begin_run(self, new: NewRun) -> str:
        """Record a run of this process with its planned tasks, and return its id."""
        with self._database.writing() as connection:
            name, index = insert_run(connection, new, Owner.current())
        self._indexes[name] = index
        return name

    def record(self, changes: Sequence[Change]) -> None:
        """Record changes in one transaction: when this returns, a killed process loses none of them.

        Raises NotFoundError for a run, task or output that isn't known, StoreError where the disk refuses; then
        nothing of the call is recorded.
        """
        indexes = dict.fromkeys(change.run for change in changes)
        try:
            with self._database.writing() as connection:
                for name in indexes:
                    if name not in self._indexes:
                        self._indexes[name] = load_index(connection, name)
                write_changes(connection, changes, self._indexes.__getitem__)
        except BaseException:
            # What was undone is to be forgotten here, too.
            for name in indexes:
                self._indexes.pop(name, None)
            raise
        for change in changes:
            if isinstance(change, RunEnded):
                self._indexes.pop(change.run, None)

    def runs(self, limit: int | None = None, pipeline: str | None = None) -> list[RunRecord]:
        """Return runs, the newest first."""
        with self._database.reading() as connection:
            return queries.list_runs(connection, limit, pipeline)

    def run(self, wanted: str) -> RunRecord:
        """Return the run of this id, or the only one whose id begins so, or the newest for "latest"."""
        with self._database.reading() as connection:
            return queries.find_run(connection, wanted)

    def ir(self, run: str) -> str:
        """Return the JSON text of the pipeline that a run executes."""
        with self._database.reading() as connection:
            return queries.run_ir(connection, run)

    def tasks(self, run: str) -> list[TaskRecord]:
        """Return a run's tasks with their attempts, in the order in which they were planned."""
        with self._database.reading() as connection:
            return queries.list_tasks(connection, run)

    def artifacts(self, run: str) -> list[ArtifactRecord]:
        """Return what a run's tasks made or took over, with producers and consumers in this run."""
        with self._database.reading() as connection:
            return queries.list_artifacts(connection, run, self.artifact_store.path)

    def artifact(self, wanted: int | str) -> ArtifactRecord:
        """Return the artifact of this row id, or the newest of those whose digest begins so, with all its uses."""
        with self._database.reading() as connection:
            return queries.find_artifact(connection, wanted, self.artifact_store.path)

    def state_changes(self, run: str) -> list[StateChange]:
        """Return everything that happened in a run, in the order of recording."""
        with self._database.reading() as connection:
            return queries.list_state_changes(connection, run)

    def past(self, fingerprints: Collection[str], recipes: Collection[str]) -> list[PastExecution]:
        """Return the executions that ended well and have one of these fingerprints or recipes, the newest first."""
        with self._database.reading() as connection:
            return find_past(connection, fingerprints, recipes)

    def known_codes(self, digests: Collection[str]) -> set[str]:
        """Return which of these digests of code some execution has stood on."""
        with self._database.reading() as connection:
            return known_codes(connection, digests)

    def past_of_run(self, run: str) -> list[PastExecution]:
        """Return the executions whose results a run has: its own that ended well, and those it took over."""
        with self._database.reading() as connection:
            return find_past_of_run(connection, run)

    def basis(self, run: str, task: str) -> BasisRecord | None:
        """Return what a task stood on in a run; None where the run has no such task, or did not execute it."""
        with self._database.reading() as connection:
            return basis_in_run(connection, run, task)

    def bases_before(
        self, pipeline: str, tasks: Collection[str], run: str | None = None
    ) -> dict[str, BasisRecord]:
        """Return for each of a pipeline's tasks the newest execution with a basis, of the runs before `run`."""
        with self._database.reading() as connection:
            return bases_before(connection, pipeline, tasks, run)

    def outputs_seen(self, pipeline: str, before: str | None = None) -> dict[Key, Seen]:
        """Return what each task of a pipeline made when it was executed last, of the runs before `before`, if given."""
        with self._database.reading() as connection:
            return outputs_seen(connection, pipeline, before)

    def outputs_made(self, run: str) -> dict[Key, Seen]:
        """Return what the tasks that a run executed made."""
        with self._database.reading() as connection:
            return outputs_made(connection, run)

    def has(self, stored: Stored) -> bool:
        """Say whether an artifact is there, unverified."""
        return self.artifact_store.has(stored)

    @cached_property
    def file_digests(self) -> FileDigests:
        """Digests of the user's files, remembered in this store."""
        return FileDigests(file_digests(self.artifact_store.root.parent))

    def close(self) -> None:
        """Close the database."""
        self.file_digests.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(location: Path, *, create: bool) -> Store:
    """Open the store in a project's `.flowc` folder; with `create`, make it where there is none.

    Raises NotFoundError where there is none, StoreError where it can't be used: no permission, a full disk, a
    damaged database, or one of a newer flowc.
    """
    path = location / _DATABASE
    artifacts = ArtifactStore(location / _ARTIFACTS)
    try:
        if create:
            _prepare(location)
            artifacts.remove_leftovers()
        elif not path.exists():
            raise NotFoundError(
                f"nothing has run here yet: no store at {location}", hint="see 'flowc run --help'"
            )
    except OSError as error:
        raise refusal(error, "can't open the store", location) from error
    database = Database(path)
    try:
        _bring_up_to_date(database)
    except BaseException:
        database.close()
        raise
    return Store(database, artifacts)


def has_store(location: Path) -> bool:
    """Say whether there is a store in a project's `.flowc` folder."""
    return (location / _DATABASE).exists()


def _prepare(location: Path) -> None:
    location.mkdir(parents=True, exist_ok=True)
    ignore = location / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    if not (location / _DATABASE).exists():
        create_database(location / _DATABASE)


def _bring_up_to_date(database: Database) -> None:
    version = schema_version(database)
    if version == SCHEMA_VERSION:
        return
    from flowc.store import migrate  # Alembic costs half a second

    if not migrate.is_known(version):
        raise StoreError(
            f"{database.path} was made by a newer flowc (its version is {version})",
            hint="update flowc, or use another .flowc folder",
        )
    with database.writing() as connection:
        migrate.upgrade(connection)
