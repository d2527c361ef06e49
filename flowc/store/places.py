"""Where a store's folder has what is neither row nor artifact: the logs of a run, its executed notebook."""

from __future__ import annotations

from pathlib import Path


def logs_folder(store: Path, run: str) -> Path:
    """Return the folder of a run's logs."""
    return store / "logs" / run


def executed_notebook(store: Path, run: str) -> Path:
    """Return the file of a run's executed notebook, there or not."""
    return store / "notebooks" / f"{run}.ipynb"


def file_digests(store: Path) -> Path:
    """Return the database of the digests of the user's files."""
    return store / "files.sqlite"
