"""Alembic from nothing makes the tables that a new store has, and these are tables that PostgreSQL takes too."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from flowc.store import migrate
from flowc.store.metadata import open_store
from flowc.store.tables import SCHEMA_VERSION, metadata


def test_the_newest_migration_is_the_tables_version() -> None:
    scripts = ScriptDirectory.from_config(migrate.configuration())
    assert scripts.get_current_head() == SCHEMA_VERSION
    assert migrate.is_known(SCHEMA_VERSION)
    assert not migrate.is_known("9999")


def test_upgrading_from_nothing_gives_the_schema_of_a_new_store(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'migrated.sqlite'}")
    with engine.begin() as connection:
        migrate.upgrade(connection)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()
    open_store(tmp_path, create=True).close()
    assert _schema(tmp_path / "migrated.sqlite") == _schema(tmp_path / "metadata.sqlite")


def _schema(path: Path) -> dict[str, list[object]]:
    connection = sqlite3.connect(path)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master ORDER BY name")]
    # Without the numbers that tell the order of creation.
    columns = {"table_info": "*", "foreign_key_list": '"table", "from", "to"', "index_xinfo": "name, desc"}
    schema: dict[str, list[object]] = {
        f"{pragma} {name}": sorted(
            connection.execute(f"SELECT {chosen} FROM pragma_{pragma}('{name}')"), key=repr
        )
        for name in names
        for pragma, chosen in columns.items()
    }
    connection.close()
    return schema


def test_a_store_of_this_version_is_opened_without_alembic(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from flowc.store.metadata import open_store;"
        "open_store(Path(sys.argv[1]), create=True).close(); print('alembic' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "False\n"  # its import takes half a second


def test_postgresql_takes_the_tables() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    for table in metadata.sorted_tables:
        assert str(CreateTable(table).compile(dialect=dialect))
        for index in table.indexes:
            assert str(CreateIndex(index).compile(dialect=dialect))


def test_a_store_of_the_first_version_keeps_its_rows(tmp_path: Path) -> None:
    open_store(tmp_path / "new", create=True).close()
    path = tmp_path / "old" / "metadata.sqlite"
    path.parent.mkdir()
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        command.upgrade(migrate.configuration(connection), "0001")
    engine.dispose()
    old = sqlite3.connect(path)
    old.executescript(_OLD_ROWS)
    old.close()
    with open_store(tmp_path / "old", create=False) as store:
        (task,) = store.tasks("r1")
        assert [execution.state for execution in task.executions] == ["COMPLETE"]
        assert [made.type for made in store.artifacts("r1")] == ["int"]
    assert _schema(path) == _schema(tmp_path / "new" / "metadata.sqlite")


_OLD_ROWS = """
INSERT INTO context VALUES (1, 'run', 'r1', 0.0);
INSERT INTO run (id, name, pipeline, target, runner, parameters, ir, state, started, host, pid, pid_started)
    VALUES (1, 'r1', 'p', 'p.py', 'local', '{}', '{}', 'COMPLETE', 0.0, 'h', 1, '');
INSERT INTO task VALUES (1, 1, 'a', 'a', '[]', 'COMPLETE', NULL);
INSERT INTO execution VALUES (1, 1, 1, 1, 'COMPLETE', 0.0, 1.0, NULL, NULL, NULL);
INSERT INTO artifact VALUES (1, 'int', 'ab', 'json', 'builtins:int', 1, x'31', '{}', 1.0);
INSERT INTO event VALUES (1, 1, 1, 1, 'output');
"""
