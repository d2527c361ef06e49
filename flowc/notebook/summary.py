"""What is known of a function of the notebook once it has been walked, and of the functions it is given."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from flowc.notebook.heap import IMMUTABLE, Code, Heap, Value
from flowc.notebook.host import Arguments, Event
from flowc.notebook.syntax import keyword_names, parameter_names

# Where a stand-in comes from, under which name, and whether it is what that holds rather than itself.
Origin = tuple[Literal["parameter", "global", "function"], str, bool]
Peek = Callable[[str], Value | None]
# Parameters that are known functions, without regions.
Known = dict[str, Value]


@dataclass(slots=True)
class Summary:
    """What one function does. Regions are those of `heap`; `origins` says which of them come from outside."""

    heap: Heap
    origins: dict[int, Origin] = field(default_factory=dict)
    reads: dict[str, ast.AST] = field(default_factory=dict)
    binds: dict[str, Value] = field(default_factory=dict)
    deletes: dict[str, ast.AST] = field(default_factory=dict)
    changes: dict[int, tuple[ast.AST, str, bool]] = field(default_factory=dict)
    notes: list[tuple[Event, ast.AST, str | None]] = field(default_factory=list)
    calls: dict[Any, tuple[str | None, Value, Arguments]] = field(default_factory=dict)
    result: Value = IMMUTABLE
    peeked: dict[str, Any] = field(default_factory=dict)
    unfinished: bool = False


def signature(value: Value | None) -> Any:
    """Return what a summary depends on in a global's value."""
    if value is None:
        return None
    return (value.callee, value.instance, value.path, value.kind, bool(value.top), value.code)


def known_arguments(code: Code, arguments: Arguments) -> Known:
    """Return the parameters that are known functions in a call."""
    if arguments.loose:
        return {}
    given = dict(zip(parameter_names(code), arguments.positional, strict=False))
    names = {*parameter_names(code), *keyword_names(code)}
    given.update((name, value) for name, value in arguments.named if name in names)
    return {name: without_regions(value) for name, value in given.items() if is_known(value)}


def is_known(value: Value) -> bool:
    return value.callee is not None or value.path is not None


def without_regions(value: Value) -> Value:
    return Value(code=value.code, path=value.path, callee=value.callee)


def known_as(known: Value | None, stand_in: Value) -> Value:
    if known is None or known.path is not None:
        return known or stand_in
    return replace(known, top=stand_in.top)
