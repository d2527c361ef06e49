"""Where in the user's files a call stands: the place that tasks and diagnostics carry."""

from __future__ import annotations

import ast
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

_Function = ast.FunctionDef | ast.AsyncFunctionDef
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
    """Return the place of a function's `def` line, or None where it has no source file."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None
    node = _functions(code.co_filename).get(code.co_firstlineno)
    file = _project_file(code.co_filename)
    return Source(file=file, line=code.co_firstlineno) if node is None else _place(file, node)


def parameters(function: Callable[..., Any]) -> dict[str, Source]:
    """Return the place of each of a function's parameters, as far as its source can be read."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    node = _functions(code.co_filename).get(code.co_firstlineno) if code else None
    if code is None or node is None:
        return {}
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return {argument.arg: _place(_project_file(code.co_filename), argument) for argument in arguments}


def _place(file: str, node: ast.arg | _Function) -> Source:
    if not isinstance(node, ast.arg):
        return Source(file=file, line=node.lineno, column=node.col_offset + 1)
    return Source(
        file=file,
        line=node.lineno,
        column=node.col_offset + 1,
        end_line=node.end_lineno,
        end_column=None if node.end_col_offset is None else node.end_col_offset + 1,
    )


@lru_cache(maxsize=64)
def _functions(filename: str) -> dict[int, _Function]:
    """Return a file's functions by the line that their code object begins at: that of the first decorator."""
    try:
        tree = ast.parse(Path(filename).read_bytes())
    except (OSError, ValueError, SyntaxError):
        return {}  # made by exec, or edited since it was imported: the place is then the line alone
    functions = (node for node in ast.walk(tree) if isinstance(node, _Function))
    return {min([node.lineno, *(each.lineno for each in node.decorator_list)]): node for node in functions}
