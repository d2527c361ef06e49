"""Where in the user's files a call stands: the place that tasks and diagnostics carry."""

from __future__ import annotations

import ast
import inspect
import linecache
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
    return _instruction(frame.f_code, frame.f_lasti)


def raised(error: BaseException, is_own: Callable[[Path], bool]) -> Source | None:
    """Return the innermost place in the user's own files at which an error was raised.

    None where there is none, or where it comes from this package: then it is no error of the user's. Of functions that
    call each other for ever it is the first call, since they may come to their end anywhere.
    """
    place: Source | None = None
    at = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if is_own(Path(code.co_filename)):
            place = _instruction(code, at.tb_lasti)
            if isinstance(error, RecursionError):
                break
        elif code.co_filename.startswith(_HERE):
            place = None
        at = at.tb_next
    return place


def _instruction(code: CodeType, offset: int) -> Source:
    file, position = code.co_filename, _positions(code)[offset // 2]
    line, end_line, column, end_column = _heads(file).get(position, position)
    return Source(
        file=_project_file(file),
        line=line,
        column=_column(file, line, column),
        end_line=end_line,
        end_column=_column(file, end_line, end_column),
    )


def _column(filename: str, line: int | None, offset: int | None) -> int | None:
    """Return the column, in characters from 1, of what Python counts in bytes from 0."""
    if line is None or offset is None:
        return None
    text = linecache.getline(filename, line)
    return offset + 1 if text.isascii() else len(text.encode()[:offset].decode(errors="replace")) + 1


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
    if node is None:
        return Source(file=_project_file(code.co_filename), line=code.co_firstlineno)
    return _place(code.co_filename, node)


def parameters(function: Callable[..., Any]) -> dict[str, Source]:
    """Return the place of each of a function's parameters, as far as its source can be read."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    node = _functions(code.co_filename).get(code.co_firstlineno) if code else None
    if code is None or node is None:
        return {}
    args = node.args
    named = (*args.posonlyargs, *args.args, *args.kwonlyargs)
    starred = (argument for argument in (args.vararg, args.kwarg) if argument is not None)
    return {argument.arg: _place(code.co_filename, argument) for argument in (*named, *starred)}


def returned(function: Callable[..., Any]) -> Source | None:
    """Return the place of what a function returns where it says so once, else that of the function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    node = _functions(code.co_filename).get(code.co_firstlineno) if code else None
    if code is None or node is None:
        return definition(function)
    values = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
    return _place(code.co_filename, values[0]) if len(values) == 1 else definition(function)


def _place(filename: str, node: ast.arg | ast.expr | _Function) -> Source:
    file, column = _project_file(filename), _column(filename, node.lineno, node.col_offset)
    if isinstance(node, _Function):
        return Source(file=file, line=node.lineno, column=column)
    end = _column(filename, node.end_lineno, node.end_col_offset)
    return Source(file=file, line=node.lineno, column=column, end_line=node.end_lineno, end_column=end)


@lru_cache(maxsize=64)
def _functions(filename: str) -> dict[int, _Function]:
    """Return a file's functions by the line that their code object begins at: that of the first decorator."""
    functions = (node for node in _nodes(filename) if isinstance(node, _Function))
    return {min([node.lineno, *(each.lineno for each in node.decorator_list)]): node for node in functions}


@lru_cache(maxsize=64)
def _heads(filename: str) -> dict[Position, Position]:
    """Return, by the place of each compound statement, that of what it asks for its truth or its items.

    An instruction that asks has the place of the whole statement before Python 3.12.
    """
    heads: dict[Position, Position] = {}
    for node in _nodes(filename):
        match node:
            case ast.If(test=head) | ast.While(test=head) | ast.For(iter=head):
                heads[_position(node)] = _position(head)
    return heads


def _position(node: ast.stmt | ast.expr) -> Position:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _nodes(filename: str) -> tuple[ast.AST, ...]:
    try:
        return tuple(ast.walk(ast.parse(Path(filename).read_bytes())))
    except (OSError, ValueError, SyntaxError):
        return ()  # made by exec, or edited since it was imported: the place is then the line alone
