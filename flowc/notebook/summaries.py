"""What the functions of a notebook do when they are called, in terms of their parameters and globals.

A function is walked once with stand-ins for what comes from outside; a call maps them to what is there.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from flowc.notebook.applying import apply
from flowc.notebook.budget import Budget
from flowc.notebook.effects import EffectsTable
from flowc.notebook.function_scopes import fixed_names, is_generator, names_in, scope_names
from flowc.notebook.heap import IMMUTABLE, Code, Heap, Regions, Value, joined
from flowc.notebook.host import Arguments, Event, builtin
from flowc.notebook.interpret import Walker
from flowc.notebook.summary import (
    Known,
    Peek,
    Summary,
    is_known,
    known_arguments,
    known_as,
    signature,
    without_regions,
)
from flowc.notebook.syntax import decorator_names, is_cached

# What a call does that shows whether it was made once or twice.
_SEEN_AGAIN = frozenset(("once", "output", "writes", "waits", "draws", "seeds", "process", "dynamic"))


class Summaries:
    """The summaries made so far. One is good as long as the globals that it looked at mean the same code."""

    def __init__(self, table: EffectsTable, codes: dict[Any, Code], budget: Budget) -> None:
        self.table = table
        self.codes = codes
        self.budget = budget
        self._made: dict[Any, Summary] = {}
        self._active: dict[Any, Summary] = {}

    def of(self, code: Code, peek: Peek, given: Known | None = None) -> Summary:
        """Return what a function does, with `peek` to look up globals, and functions that it is `given`."""
        # What calls itself with ever new functions is seen without knowing them.
        known = {} if given is None or any(each[0].node is code.node for each in self._active) else given
        key = (code, frozenset((name, value.callee or value.path) for name, value in known.items()))
        if key in self._active:
            self._active[key].unfinished = True
            return self._active[key]
        made = self._made.get(key)
        self.budget.spend(1 + len(made.peeked) if made is not None else 10)
        if made is not None and all(signature(peek(name)) == seen for name, seen in made.peeked.items()):
            return made
        walker = FunctionWalker(self, code, peek, known)
        self._active[key] = walker.summary
        try:
            walker.walk_function()
        finally:
            del self._active[key]
        self._made[key] = walker.summary
        return walker.summary


class FunctionWalker(Walker):
    """Walks one function's body."""

    nested = True

    def __init__(self, summaries: Summaries, code: Code, peek: Peek, given: Known) -> None:
        super().__init__(Heap(budget=summaries.budget), summaries.table, summaries.codes)
        self.summary = Summary(self.heap)
        self._summaries = summaries
        self._code = code
        self._peek = peek
        self._given = given
        self._fixed = fixed_names(code)
        self._globals, self._nonlocals, self._locals = scope_names(code.node)
        self._names: dict[str, Value] = {}
        self._stand_ins: dict[tuple[str, str], Value] = {}
        self._inner: list[tuple[Value, Code]] = []
        self._results: list[Value] = []
        self._first: Value = IMMUTABLE
        self._calling: set[Code] = set()

    def walk_function(self) -> None:
        """Go through the parameters and the body, and finish the summary."""
        node = self._code.node
        if isinstance(node, ast.ClassDef | ast.Call):
            return
        if isinstance(node, ast.GeneratorExp):
            self._results += self._comprehended(node, [node.elt])
        else:
            self._bind_parameters(node.args)
            if isinstance(node, ast.Lambda):
                self._results.append(self.value(node.body))
            else:
                self.walk(node.body)
        for function, code in self._inner:
            self._capture_now(function, code)
        self.summary.result = self._returned(node)
        self._remember(node)
        origins = self.summary.origins
        if self.summary.unfinished and any(
            region in origins and origins[region][0] == "parameter" for region in self.summary.changes
        ):
            self._change_all_parameters(node)

    def _remember(self, node: ast.AST) -> None:
        """Let what has a cache hold what it gave; it is changed by a call where not calling it again can be seen."""
        if is_cached(self._code):
            owner = self._stand_in("function", "")
        elif "cached_property" in decorator_names(self._code):
            owner = self._first
        else:
            return
        summary = self.summary
        seen = {event for event, *_ in summary.notes} & _SEEN_AGAIN
        asked = any(name in self.table.own for name in ("cache_info", "cache_clear"))
        changes = any(region in summary.origins for region in summary.changes)
        self.heap.link(owner.top, summary.result)
        summary.result = joined((summary.result, self.heap.element(owner)))
        if seen or asked or changes or summary.binds or not is_cached(self._code):
            self.change(owner.top, node, "remembers what it gave")

    def _returned(self, node: ast.AST) -> Value:
        result = joined(self._results)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_generator(node):
            held = list(self._stand_ins.values())
            context = "contextmanager" in decorator_names(self._code)
            return replace(
                self.heap.fresh(result, *held),
                kind="context" if context else "generator",
                stuck="a context manager" if context else "a generator",
                code=result.code | {self._code},
            )
        return result

    def _change_all_parameters(self, node: Any) -> None:
        for region, origin in self.summary.origins.items():
            if origin[0] == "parameter":
                self.summary.changes.setdefault(region, (node, "may be changed by a recursive call", True))

    def _bind_parameters(self, args: ast.arguments) -> None:
        plain = [*args.posonlyargs, *args.args]
        for argument in (*plain, *args.kwonlyargs):
            value = self._stand_in("parameter", argument.arg)
            self._names[argument.arg] = known_as(self._given.get(argument.arg), value)
        if plain:
            self._first = self._names[plain[0].arg]
        if args.vararg is not None:
            self._names[args.vararg.arg] = self.heap.fresh(
                self._stand_in("parameter", args.vararg.arg), kind="tuple"
            )
        if args.kwarg is not None:
            self._names[args.kwarg.arg] = self.heap.fresh(
                self._stand_in("parameter", args.kwarg.arg), kind="dict"
            )

    def _stand_in(self, place: Literal["parameter", "global", "function"], name: str) -> Value:
        if (place, name) not in self._stand_ins:
            inner = self.heap.new()
            outer = self.heap.new((inner,))
            self.summary.origins[inner] = (place, name, True)
            self.summary.origins[outer] = (place, name, False)
            # What a thing holds may hold anything that it holds, and be a view of it.
            self.heap.link((inner,), Value(frozenset((inner,))))
            self._stand_ins[place, name] = Value(frozenset((outer,)))
        return self._stand_ins[place, name]

    # -- where names live

    def load(self, name: str, node: ast.AST) -> Value:
        if name in self._globals:
            return self.global_value(name, node)
        if name in self._names:
            return self._names[name]
        if name in self._code.captured or name in self._nonlocals:
            return known_as(self._code.bound.get(name), self._stand_in("function", ""))
        if name in self._locals:
            return IMMUTABLE
        return self.global_value(name, node)

    def global_value(self, name: str, node: ast.AST) -> Value:
        value = self._peek(name)
        self.summary.peeked[name] = signature(value)
        if value is None and (known := builtin(name)) is not None:
            return known
        self.summary.reads.setdefault(name, node)
        if name in self.summary.binds:
            return joined((self._stand_in("global", name), self.summary.binds[name]))
        if value is None:
            return self._stand_in("global", name)
        if not value.top:
            return value
        stand_in = self._stand_in("global", name)
        if value.callee is not None:
            self.heap.functions |= stand_in.top
        return replace(value, top=stand_in.top)

    def store(self, name: str, value: Value, node: ast.AST) -> None:
        if name in self._globals:
            self.store_global(name, value, node)
        elif name in self._nonlocals:
            function = self._stand_in("function", "")
            self.heap.link(function.top, value)
            self.change(function.top, node, f"has its variable '{name}' set")
        else:
            self._names[name] = value

    def store_global(self, name: str, value: Value, _node: ast.AST) -> None:
        known = self.summary.binds.get(name)
        self.summary.binds[name] = value if known is None else joined((known, value))

    def unbind(self, name: str, node: ast.AST) -> None:
        if name in self._globals:
            self.summary.deletes.setdefault(name, node)
        self._names.pop(name, None)

    def change(self, regions: Regions, node: ast.AST, why: str, *, buffers: bool = True) -> None:
        for region in self.heap.buffer_mates(regions) if buffers else regions:
            known = self.summary.changes.get(region)
            self.summary.changes[region] = (
                (node, why, buffers) if known is None else (*known[:2], buffers or known[2])
            )

    def note(self, event: Event, node: ast.AST, detail: str | None = None) -> None:
        self.summary.notes.append((event, node, detail))

    def snapshot(self) -> dict[str, Value]:
        return dict(self._names)

    def restore(self, state: Any) -> None:
        self._names = dict(state)

    def join(self, states: Sequence[Any]) -> None:
        merged: dict[str, Value] = {}
        self.heap.budget.spend(sum(map(len, states)))
        for state in states:
            for name, value in state.items():
                merged[name] = joined((merged[name], value)) if name in merged else value
        self._names = merged

    def captured(self) -> frozenset[str]:
        return self._locals | self._code.captured | frozenset(self._names)

    def known_captures(self, node: ast.AST) -> dict[str, Value]:
        names = sorted(names_in(node) & self._fixed)
        values = {name: self._names.get(name) or self._code.bound.get(name) for name in names}
        return {name: without_regions(value) for name, value in values.items() if value and is_known(value)}

    def capture(self, function: Value, code: Code) -> None:
        self._inner.append((function, code))
        self._capture_now(function, code)

    def _capture_now(self, function: Value, code: Code) -> None:
        for name in sorted(names_in(code.node)):
            if name in self._names:
                self.heap.link(function.top, self._names[name])
            elif name in self._code.captured:
                self.heap.link(function.top, self._stand_in("function", ""))

    def call_later(self, name: str | None, receiver: Value, arguments: Arguments) -> Regions:
        outside = frozenset(self.summary.origins)
        put_off = receiver.top & outside
        if put_off:
            key = (name, put_off, tuple(value.top & outside for value in arguments.values()))
            self.summary.calls.setdefault(key, (name, receiver, arguments))
        return put_off

    def own_instance(self) -> Value:
        return replace(self._first, kind="super")

    def _do_Return(self, node: ast.Return) -> None:
        self._results.append(self.value(node.value) if node.value is not None else IMMUTABLE)

    def _of_Yield(self, node: ast.Yield) -> Value:
        if node.value is not None:
            self._results.append(self.value(node.value))
        return self.heap.fresh(*self._stand_ins.values())

    def _of_YieldFrom(self, node: ast.YieldFrom) -> Value:
        self._results.append(self._anything((self.value(node.value),), known=True))
        return self.heap.fresh()

    def run(self, code: Code, function: Value, arguments: Arguments, node: ast.AST) -> Value:
        summary = self._summaries.of(code, self._peek, known_arguments(code, arguments))
        if code in self._calling:
            return self._anything((function, *arguments.values()), known=True)
        known = set(self.summary.notes)
        self.summary.notes += [note for note in summary.notes if note not in known]
        self._calling.add(code)
        result = apply(self, summary, code, function, arguments, node)
        self._calling.discard(code)
        return result
