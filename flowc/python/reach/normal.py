"""A digest of code that its layout doesn't change: over the syntax tree, without places, comments and formatting."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

Function = ast.FunctionDef | ast.AsyncFunctionDef

# What a component needs, and how it is treated: it gives the same with other ones. (The version of its results counts
# for the fingerprint by itself.) A new option counts until it stands here.
POLICY: Final = frozenset(
    ("cpus", "memory", "gpus", "processes", "retries", "timeout", "cache", "cache_version")
)

# `kind` is the u of u"text".
_LAYOUT = frozenset(("ctx", "type_comment", "type_ignores", "kind"))


def code_digest(nodes: Sequence[ast.AST]) -> str:
    """Return the digest of statements. It is the same on every machine whose Python has the same minor version."""
    # Each kind of node has its fields and each list its length, so the words in this order can mean one tree only.
    parts: list[str] = []
    waiting: list[object] = [*reversed(nodes)]
    while waiting:  # no recursion: expressions may be nested deeper than Python's stack
        item = waiting.pop()
        if isinstance(item, ast.AST):
            kind = type(item)
            parts.append(kind.__name__)
            waiting.extend([getattr(item, name, None) for name in _counted_fields(kind)])  # type: ignore[arg-type]  # typeshed: a class is not hashable
        elif isinstance(item, list):
            parts.append(f"[{len(item)}")
            waiting.extend(reversed(item))
        else:
            parts.append(_constant(item))
    return hashlib.sha256("\n".join(parts).encode("ascii")).hexdigest()


@cache
def _counted_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(name for name in reversed(kind._fields) if name not in _LAYOUT)


def _constant(value: object) -> str:
    # In ASCII, so that no text has a line's end in it. An int of thousands of digits has no decimal text in Python.
    written = format(value, "x") if type(value) is int else ascii(value)
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
