"""The project a target belongs to: its root, and paths that mean the same on every machine."""

from __future__ import annotations

from pathlib import Path

_MARKERS = ("pyproject.toml", ".git", ".flowc")


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above `start` that holds a project's marker, else `start`'s own folder."""
    start = start.resolve()
    folder = start if start.is_dir() else start.parent
    for candidate in (folder, *folder.parents):
        if any((candidate / marker).exists() for marker in _MARKERS):
            return candidate
    return folder


def relative_to_root(path: Path, root: Path) -> str:
    """Return the path as the IR writes it: below the root relative to it, with forward slashes, else absolute."""
    path = path.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
