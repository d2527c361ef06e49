"""What walking code needs to be told: where names live, and what becomes of what is found.

`calls`, `expressions` and `interpret` build the walk of Python's syntax on it, one on the other.
"""

from __future__ import annotations

import ast
import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from flowc.notebook.effects import EffectsTable
from flowc.notebook.heap import IMMUTABLE, Code, Heap, Regions, Value, joined
from flowc.notebook.lines import LINE_FUNCTIONS

Event = Literal[
    "once",
    "process",
    "output",
    "waits",
    "reads",
    "writes",
    "draws",
    "seeds",
    "state",
    "star",
    "dynamic",
    "identity",
    "repeats",
]
_BUILTINS = frozenset(dir(builtins)) | {"display"}
# Stands for taking the next of what may be an iterator.
NEXT_TAKEN = "next()"
# What going through an object runs of it.
ITERATED = (NEXT_TAKEN, "__iter__", "__next__", "__aiter__", "__anext__", "__getitem__", "__len__")
CONSUMED = frozenset(("iterator", "generator", "file", "opaque"))
ITEMS = frozenset(("list", "dict", "set", "tuple"))


@dataclass(slots=True)
class Scope:
    """A scope inside the walked one that is entered at once: a class body or a comprehension."""

    kind: Literal["class", "comprehension"]
    names: dict[str, Value]
    globals: set[str]


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments. `loose`: some are spread by `*` or `**`, so any may be any parameter's."""

    positional: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()
    loose: bool = False

    def values(self) -> tuple[Value, ...]:
        return (*self.positional, *(value for _, value in self.named))


class Host(ABC):
    """Holds the state of a walk; subclasses say where its names live and what becomes of what it finds."""

    def __init__(self, heap: Heap, table: EffectsTable, codes: dict[Any, Code]) -> None:
        self.heap = heap
        self.table = table
        self._codes = codes
        self._scopes: list[Scope] = []
        self._exits: list[list[Any]] = []
        self._raises: list[list[Any]] = []

    # -- where names live

    @abstractmethod
    def load(self, name: str, node: ast.AST) -> Value:
        """Return a name's value, which is read at `node`."""

    @abstractmethod
    def store(self, name: str, value: Value, node: ast.AST) -> None:
        """Bind a name."""

    @abstractmethod
    def store_global(self, name: str, value: Value, node: ast.AST) -> None:
        """Let a global be bound by a function that is called here."""

    @abstractmethod
    def unbind(self, name: str, node: ast.AST) -> None:
        """Delete a name."""

    @abstractmethod
    def change(self, regions: Regions, node: ast.AST, why: str, *, buffers: bool = True) -> None:
        """Change the objects of these regions in place; without `buffers`, not the memory that views share."""

    @abstractmethod
    def note(self, event: Event, node: ast.AST, detail: str | None = None) -> None:
        """Take note of something that is neither a name's nor an object's."""

    @abstractmethod
    def snapshot(self) -> Any:
        """Return the state of all names."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Go back to a state of all names."""

    @abstractmethod
    def join(self, states: Sequence[Any]) -> None:
        """Let the state be any of these."""

    @abstractmethod
    def run(self, code: Code, function: Value, arguments: Arguments, node: ast.AST) -> Value:
        """Call a function of the notebook; return what it may return."""

    @abstractmethod
    def captured(self) -> frozenset[str]:
        """Return the names that a function made here takes from functions around it."""

    nested = False

    def known_captures(self, node: ast.AST) -> dict[str, Value]:  # noqa: ARG002
        """Return which names that a function takes from functions around it are known to be functions."""
        return {}

    @abstractmethod
    def capture(self, function: Value, code: Code) -> None:
        """Let a function hold what it takes from the functions around it."""

    @abstractmethod
    def call_later(self, name: str | None, receiver: Value, arguments: Arguments) -> Regions:
        """Take note of a call of something from outside (its method, with a `name`) for when that is known.

        Return those regions of the receiver that this is so for.
        """

    @abstractmethod
    def global_value(self, name: str, node: ast.AST) -> Value:
        """Return a global's value for a function that is called at `node` and reads it."""

    @abstractmethod
    def value(self, node: ast.expr) -> Value:
        """Go through an expression and return what it may give."""

    @abstractmethod
    def attribute(self, whole: Value, node: ast.Attribute) -> Value:
        """Return what an attribute of a value may be."""

    @abstractmethod
    def implied(
        self, names: Iterable[str], receivers: Sequence[Value], others: Sequence[Value], node: ast.AST
    ) -> list[Value]:
        """Run the methods of the notebook's classes that have these names; return what they may give."""

    @abstractmethod
    def _operated(self, left: Value, right: Value) -> Value:
        """Return what an operator gives for two values."""

    def own_instance(self) -> Value:
        """Return what `super()` stands for: the method's own instance."""
        return IMMUTABLE

    # -- scopes inside the walked one

    def bind(self, name: str, value: Value, node: ast.AST) -> None:
        """Bind a name in the innermost scope that takes bindings."""
        scope = self._store_scope(name)
        if scope is None:
            self.store(name, value, node)
        else:
            scope.names[name] = joined((scope.names[name], value)) if name in scope.names else value

    def _store_scope(self, name: str) -> Scope | None:
        for scope in reversed(self._scopes):
            if scope.kind == "class":
                return None if name in scope.globals else scope
        return None

    def _name(self, name: str, node: ast.AST) -> Value:
        inside = False
        for scope in reversed(self._scopes):
            if scope.kind == "class" and inside:
                continue
            if name in scope.names:
                return scope.names[name]
            inside = inside or scope.kind == "comprehension"
        return self.load(name, node)

    # -- iteration

    def _consume(self, source: Value, node: ast.AST | None) -> None:
        if node is None:
            return
        for given in self.implied(ITERATED, [source], [], node):
            self.heap.link(source.top, given)
        if source.kind in CONSUMED and source.top:
            regions = self.heap.deep(source.top) if source.kind == "generator" else source.top
            self.change(regions, node, "is consumed")

    def _next(self, source: Value) -> Value:
        """Return an item of what is iterated over."""
        if not source.top:
            return Value(code=source.code)
        if source.kind in CONSUMED:
            return replace(self.heap.view(source), stuck=None)
        if source.kind in ITEMS or source.callee is not None or source.top <= self.heap.functions:
            return self.heap.element(source)
        return self.heap.view(source)

    def _anything(self, values: Iterable[Value], *, known: bool) -> Value:
        """Return what may be new, or anything that can be got at from these values."""
        parts = list(values)
        everything = joined(parts)
        reach = self.heap.reach(everything.top)
        views = self.heap.view(everything)
        top = self.heap.foreign(*parts).top | views.top | reach
        return Value(top, self.heap.codes(everything), None if known else "opaque", exact=False)


def builtin(name: str) -> Value | None:
    """Return the value of a builtin name, or None for a name that is none."""
    if name in LINE_FUNCTIONS:
        return Value(path=f"flowc.notebook.lines.{name}")
    return Value(path=f"builtins.{name}") if name in _BUILTINS else None
