"""Signs of life, mapped tasks, what executions used and told, and what people say of runs and artifacts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_COLUMNS: tuple[tuple[str, sa.Column[object]], ...] = (
    ("run", sa.Column("heartbeat", sa.Double())),
    ("run", sa.Column("pins", sa.Text(), nullable=False, server_default="{}")),
    ("execution", sa.Column("peak_memory", sa.BigInteger())),
    ("execution", sa.Column("cpu_seconds", sa.Double())),
    ("execution", sa.Column("progress", sa.Text())),
)


def upgrade() -> None:
    """Add the columns and tables, all empty."""
    for table, column in _COLUMNS:
        op.add_column(table, column)
    # Alembic would copy the table for this on SQLite, and could not: other tables refer to it.
    op.execute(
        "ALTER TABLE task ADD COLUMN parent_id INTEGER CONSTRAINT fk_task_parent_id REFERENCES task (id)"
    )
    op.create_index("ix_task_parent_id", "task", ["parent_id"])
    op.create_index("ix_run_state", "run", ["state"])
    op.create_table(
        "metric",
        _id(),
        _reference("execution", "metric", nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger()),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_metric"),
    )
    op.create_index("ix_metric_execution_id", "metric", ["execution_id"])
    op.create_table(
        "tag",
        _id(),
        _reference("run", "tag", nullable=True),
        _reference("artifact", "tag", nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tag"),
        sa.UniqueConstraint("run_id", "name", name="uq_tag_run_id_name"),
        sa.UniqueConstraint("artifact_id", "name", name="uq_tag_artifact_id_name"),
    )
    op.create_index("ix_tag_name_value", "tag", ["name", "value"])
    op.create_table(
        "note",
        _id(),
        _reference("run", "note", nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author", sa.Text()),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_note"),
    )
    op.create_index("ix_note_run_id", "note", ["run_id"])


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer(), nullable=False)


def _reference(target: str, table: str, *, nullable: bool) -> sa.Column[int]:
    name = f"fk_{table}_{target}_id"
    return sa.Column(
        f"{target}_id", sa.Integer(), sa.ForeignKey(f"{target}.id", name=name), nullable=nullable
    )
