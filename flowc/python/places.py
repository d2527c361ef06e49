"""Where in the user's files a call stands: the place that tasks and diagnostics carry."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from flowc.diagnostics import Source
from flowc.project import find_root, relative_to_root

_HERE = str(Path(__file__).parent)

Position = tuple[int | None, int | None, int | None, int | None]


def caller() -> Source:
    """Return the place of the innermost call outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    if frame is None:
        raise RuntimeError("called from nowhere")
    line, end_line, column, end_column = _positions(frame.f_code)[frame.f_lasti // 2]
    return Source(
        file=_project_file(frame.f_code.co_filename),
        line=line,
        column=None if column is None else column + 1,
        end_line=end_line,
        end_column=None if end_column is None else end_column + 1,
    )


@lru_cache(maxsize=256)
def _positions(code: CodeType) -> tuple[Position, ...]:
    # Kept, since a pipeline function of ten thousand calls would otherwise be walked ten thousand times.
    return tuple(code.co_positions())


@lru_cache(maxsize=256)
def _project_file(filename: str) -> str:
    path = Path(filename)
    return relative_to_root(path, find_root(path)) if path.is_file() else filename


def definition(function: Callable[..., Any]) -> Source | None:
    """Return the place where a function is defined, or None where it has no source file."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None
    return Source(file=_project_file(code.co_filename), line=code.co_firstlineno)
