"""Migrations of the metadata tables, by Alembic."""
