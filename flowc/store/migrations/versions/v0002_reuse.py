"""What an execution was made from, so that its results can be used again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS: dict[str, sa.types.TypeEngine[str]] = {
    "fingerprint": sa.String(length=64),
    "recipe": sa.String(length=64),
    "parts": sa.Text(),
    "files": sa.Text(),
    "unrepeatable": sa.Text(),
}
_REFERENCES = (("code_digest", "VARCHAR(64)", "code (digest)"), ("reused_id", "INTEGER", "execution (id)"))


def upgrade() -> None:
    """Add the columns; what ran before has no fingerprint and is never used again."""
    op.create_table(
        "code",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("definitions", sa.Text(), nullable=False),
        sa.Column("distributions", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_code"),
    )
    for name, type_ in _COLUMNS.items():
        op.add_column("execution", sa.Column(name, type_))
    for name, kind, target in _REFERENCES:
        # Alembic would copy the table for this on SQLite, and could not: other tables refer to it.
        constraint = f"CONSTRAINT fk_execution_{name} REFERENCES {target}"
        op.execute(f"ALTER TABLE execution ADD COLUMN {name} {kind} {constraint}")
    op.create_index("ix_execution_fingerprint", "execution", ["fingerprint"])
    op.create_index("ix_execution_recipe", "execution", ["recipe"])
    op.add_column("artifact", sa.Column("code", sa.Text(), nullable=False, server_default="[]"))
