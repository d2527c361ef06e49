"""The metadata tables: ML Metadata's notions, as far as flowc has use for them.

    context ─┬─ parent_context      pipelines, experiments and runs, and which run belongs to which
             └─ run                 what a run has beside its name
                 ├─ task            what the run means to execute, in order
                 │   └─ execution   one attempt of a task ──┤   code: what of the project an execution reached
                 │       └─ metric  a number that it told   ├─ event   an execution read or made an artifact
                 └─ state_change    everything that happened │
                                                artifact ────┘
    tag, note    what people say of runs and artifacts

ML Metadata's associations and attributions, which tie executions and artifacts to their run, are foreign keys
here: an execution has one run, and an artifact is of those runs whose executions have events with it. A change
of these tables needs a migration (migrations/versions) and its revision as SCHEMA_VERSION.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

SCHEMA_VERSION = "0003"

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


class JsonText(TypeDecorator[Any]):
    """JSON as text: databases' own JSON types refuse NaN, which metrics may hold."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002  # SQLAlchemy's
        return None if value is None else json.loads(value)


# As Alembic itself would make it.
alembic_version = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

context = Table(
    "context",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("type", String(16), nullable=False),
    Column("name", Text, nullable=False),
    Column("created", Double, nullable=False),
    UniqueConstraint("type", "name"),
)

parent_context = Table(
    "parent_context",
    metadata,
    Column("context_id", ForeignKey("context.id"), primary_key=True),
    Column("parent_id", ForeignKey("context.id"), primary_key=True),
    Index(None, "parent_id"),
)

run = Table(
    "run",
    metadata,
    Column("id", ForeignKey("context.id"), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("pipeline", Text, nullable=False),
    Column("experiment", Text),
    Column("target", Text, nullable=False),
    Column("runner", Text, nullable=False),
    Column("parameters", JsonText, nullable=False),
    Column("ir", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("started", Double, nullable=False),
    Column("ended", Double),
    Column("error", Text),
    Column("user", Text),
    Column("commit", Text),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("pid_started", Text, nullable=False),
    # The driver's last sign of life, and what "the latest run" and its like meant when the run began.
    Column("heartbeat", Double),
    Column("pins", JsonText, nullable=False, server_default="{}"),
    Index(None, "pipeline", "started"),
    Index(None, "started"),
    Index(None, "state"),
)

task = Table(
    "task",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("component", Text, nullable=False),
    Column("upstream", JsonText, nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", Text),
    Column("parent_id", ForeignKey("task.id")),  # the mapped task that this is an item of
    UniqueConstraint("run_id", "name"),
    Index(None, "parent_id"),
)

execution = Table(
    "execution",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.id"), nullable=False),
    Column("task_id", ForeignKey("task.id"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("started", Double, nullable=False),
    Column("ended", Double),
    Column("worker", Text),
    Column("log", Text),
    Column("error", JsonText),
    # What its results stand on, for reuse (records.Basis), and the execution whose results it took over.
    Column("fingerprint", String(64)),
    Column("recipe", String(64)),
    Column("parts", JsonText),
    Column("files", JsonText),
    Column("unrepeatable", Text),
    Column("code_digest", ForeignKey("code.digest")),
    Column("reused_id", ForeignKey("execution.id")),
    # What it used: bytes at the most, seconds of CPU; and how far it says it is.
    Column("peak_memory", BigInteger),
    Column("cpu_seconds", Double),
    Column("progress", JsonText),
    UniqueConstraint("task_id", "attempt"),
    Index(None, "run_id"),
    Index(None, "fingerprint"),
    Index(None, "recipe"),
)

code = Table(
    "code",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("definitions", JsonText, nullable=False),
    Column("distributions", JsonText, nullable=False),
)

artifact = Table(
    "artifact",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("type", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("codec", Text, nullable=False),
    Column("python_type", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("inline", LargeBinary),
    Column("summary", JsonText, nullable=False),
    Column("created", Double, nullable=False),
    Column("code", JsonText, nullable=False, server_default="[]"),
    Index(None, "digest"),
)

event = Table(
    "event",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("execution_id", ForeignKey("execution.id"), nullable=False),
    Column("artifact_id", ForeignKey("artifact.id"), nullable=False),
    Column("is_output", Boolean, nullable=False),
    Column("port", Text, nullable=False),
    Index(None, "execution_id"),
    Index(None, "artifact_id"),
)

metric = Table(
    "metric",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("execution_id", ForeignKey("execution.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("step", BigInteger),
    Column("value", Double, nullable=False),
    Column("at", Double, nullable=False),
    Index(None, "execution_id"),
)

tag = Table(
    "tag",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.id")),
    Column("artifact_id", ForeignKey("artifact.id")),
    Column("name", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("at", Double, nullable=False),
    UniqueConstraint("run_id", "name"),
    UniqueConstraint("artifact_id", "name"),
    Index(None, "name", "value"),
)

note = Table(
    "note",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.id"), nullable=False),
    Column("text", Text, nullable=False),
    Column("author", Text),
    Column("at", Double, nullable=False),
    Index(None, "run_id"),
)

state_change = Table(
    "state_change",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.id"), nullable=False),
    Column("task_id", ForeignKey("task.id")),
    Column("attempt", Integer),
    Column("state", String(16), nullable=False),
    Column("at", Double, nullable=False),
    Column("reason", Text),
    Index(None, "run_id"),
)
