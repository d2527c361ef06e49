"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables."""
    _contexts()
    _executions()
    _artifacts()


def _contexts() -> None:
    op.create_table(
        "context",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_context"),
        sa.UniqueConstraint("type", "name", name="uq_context_type_name"),
    )
    op.create_table(
        "parent_context",
        sa.Column("context_id", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["context_id"], ["context.id"], name="fk_parent_context_context_id"),
        sa.ForeignKeyConstraint(["parent_id"], ["context.id"], name="fk_parent_context_parent_id"),
        sa.PrimaryKeyConstraint("context_id", "parent_id", name="pk_parent_context"),
    )
    op.create_index("ix_parent_context_parent_id", "parent_context", ["parent_id"])
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("pipeline", sa.Text(), nullable=False),
        sa.Column("experiment", sa.Text(), nullable=True),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("runner", sa.Text(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("ir", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("started", sa.Double(), nullable=False),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("user", sa.Text(), nullable=True),
        sa.Column("commit", sa.Text(), nullable=True),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("pid_started", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["context.id"], name="fk_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
        sa.UniqueConstraint("name", name="uq_run_name"),
    )
    op.create_index("ix_run_pipeline_started", "run", ["pipeline", "started"])
    op.create_index("ix_run_started", "run", ["started"])


def _executions() -> None:
    op.create_table(
        "task",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("component", sa.Text(), nullable=False),
        sa.Column("upstream", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_task_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_task"),
        sa.UniqueConstraint("run_id", "name", name="uq_task_run_id_name"),
    )
    op.create_table(
        "execution",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("started", sa.Double(), nullable=False),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("log", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_execution_run_id"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name="fk_execution_task_id"),
        sa.PrimaryKeyConstraint("id", name="pk_execution"),
        sa.UniqueConstraint("task_id", "attempt", name="uq_execution_task_id_attempt"),
    )
    op.create_index("ix_execution_run_id", "execution", ["run_id"])
    op.create_table(
        "state_change",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_state_change_run_id"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name="fk_state_change_task_id"),
        sa.PrimaryKeyConstraint("id", name="pk_state_change"),
    )
    op.create_index("ix_state_change_run_id", "state_change", ["run_id"])


def _artifacts() -> None:
    op.create_table(
        "artifact",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("codec", sa.Text(), nullable=False),
        sa.Column("python_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("inline", sa.LargeBinary(), nullable=True),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_artifact"),
    )
    op.create_index("ix_artifact_digest", "artifact", ["digest"])
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("execution_id", sa.Integer(), nullable=False),
        sa.Column("artifact_id", sa.Integer(), nullable=False),
        sa.Column("is_output", sa.Boolean(), nullable=False),
        sa.Column("port", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["artifact_id"], ["artifact.id"], name="fk_event_artifact_id"),
        sa.ForeignKeyConstraint(["execution_id"], ["execution.id"], name="fk_event_execution_id"),
        sa.PrimaryKeyConstraint("id", name="pk_event"),
    )
    op.create_index("ix_event_artifact_id", "event", ["artifact_id"])
    op.create_index("ix_event_execution_id", "event", ["execution_id"])
