"""A database of an older flowc brought to this one's tables, by Alembic; imported only when that is needed."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def configuration(connection: Connection | None = None) -> Config:
    """Return Alembic's configuration for our migrations, with the connection that they are to use."""
    config = Config()
    folder = Path(__file__).with_name("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def is_known(version: str) -> bool:
    """Say whether this flowc knows the version, so that it can migrate from there."""
    scripts = ScriptDirectory.from_config(configuration())
    return version in {script.revision for script in scripts.walk_revisions()}


def upgrade(connection: Connection) -> None:
    """Run the migrations that the database lacks."""
    command.upgrade(configuration(connection), "head")
