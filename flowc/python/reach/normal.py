"""A digest of code that its layout doesn't change: over the syntax tree, without places, comments and formatting."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Sequence
from typing import Final

Function = ast.FunctionDef | ast.AsyncFunctionDef

# What a component needs, and how it is treated: it gives the same with other ones. A new option counts until it
# stands here.
POLICY: Final = frozenset(("cpus", "memory", "gpus", "processes", "retries", "timeout", "cache"))

# `kind` is the u of u"text".
_LAYOUT = frozenset(("ctx", "type_comment", "type_ignores", "kind"))


class _Mark(str):
    """A piece of the normal form itself, apart from the texts in the code."""

    __slots__ = ()


_OPEN, _CLOSE, _LIST, _END = (_Mark(each) for each in "()[]")


def code_digest(nodes: Sequence[ast.AST]) -> str:
    """Return the digest of statements. It is the same on every machine whose Python has the same minor version."""
    parts: list[str] = []
    waiting: list[object] = list(reversed(nodes))
    while waiting:  # no recursion: expressions may be nested deeper than Python's stack
        item = waiting.pop()
        if isinstance(item, _Mark):
            parts.append(item)
        elif isinstance(item, ast.AST):
            parts.append(type(item).__name__)
            waiting.append(_CLOSE)
            fields = [getattr(item, field, None) for field in item._fields if field not in _LAYOUT]
            waiting.extend(reversed(fields))
            waiting.append(_OPEN)
        elif isinstance(item, list):
            waiting.append(_END)
            waiting.extend(reversed(item))
            waiting.append(_LIST)
        else:
            parts.append(_constant(item))
    return words_digest(parts)


def _constant(value: object) -> str:
    # An int of thousands of digits has no decimal text in Python.
    written = format(value, "x") if type(value) is int else repr(value)
    return f"{type(value).__name__}:{written}"


def words_digest(words: Iterable[str]) -> str:
    """Return the digest of a sequence of words; no two sequences give the same."""
    whole = hashlib.sha256()
    for word in words:
        data = word.encode("utf-8", "surrogatepass")
        whole.update(len(data).to_bytes(8, "big"))
        whole.update(data)
    return whole.hexdigest()


def python_version() -> str:
    """Return the version of Python that code is counted under: "3.11"."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def without_policy(function: Function, ours: Sequence[ast.expr]) -> Function:
    """Return a function without what only flowc reads of its decorators; `ours` are those of flowc."""
    decorators = [_without_policy(each) if each in ours else each for each in function.decorator_list]
    return _with(function, decorator_list=decorators)


def _without_policy(decorator: ast.expr) -> ast.expr:
    if not isinstance(decorator, ast.Call):
        return decorator
    kept = [keyword for keyword in decorator.keywords if keyword.arg not in POLICY]
    if not kept and not decorator.args:
        return decorator.func
    return ast.Call(func=decorator.func, args=decorator.args, keywords=kept)


def without_docstring(function: Function) -> Function:
    """Return a function without its docstring."""
    if ast.get_docstring(function, clean=False) is None:
        return function
    return _with(function, body=function.body[1:])


def _with(function: Function, **changed: object) -> Function:
    fields = {field: getattr(function, field) for field in function._fields if hasattr(function, field)}
    return type(function)(**{**fields, **changed})
