"""Alembic's way in: it executes this file to run migrations on the connection that `flowc.store.migrate` gives."""

from alembic import context

from flowc.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
