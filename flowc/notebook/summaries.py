"""What the functions of a notebook do when they are called, in terms of their parameters and globals.

A function is walked once with stand-ins for what comes from outside; a call maps them to what is there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from flowc.notebook.budget import Budget
from flowc.notebook.effects import EffectsTable
from flowc.notebook.heap import IMMUTABLE, Code, Heap, Regions, Value, joined
from flowc.notebook.host import Arguments, Event, builtin
from flowc.notebook.interpret import Walker
from flowc.notebook.syntax import decorator_names, is_cached, is_static, keyword_names, parameter_names

# Where a stand-in comes from, under which name, and whether it is what that holds rather than itself.
Origin = tuple[Literal["parameter", "global", "function"], str, bool]
# What a call does that shows whether it was made once or twice.
_SEEN_AGAIN = frozenset(("once", "output", "writes", "waits", "draws", "seeds", "process", "dynamic"))
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


def signature(value: Value | None) -> Any:
    """Return what a summary depends on in a global's value."""
    if value is None:
        return None
    return (value.callee, value.instance, value.path, value.kind, bool(value.top), value.code)


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
        self._fixed = _fixed_names(code)
        self._globals, self._nonlocals, self._locals = _scope_names(code.node)
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
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_generator(node):
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
            self._names[argument.arg] = _known_as(self._given.get(argument.arg), value)
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
            return _known_as(self._code.bound.get(name), self._stand_in("function", ""))
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
        names = sorted(_names_in(node) & self._fixed)
        values = {name: self._names.get(name) or self._code.bound.get(name) for name in names}
        return {name: _without_regions(value) for name, value in values.items() if value and _is_known(value)}

    def capture(self, function: Value, code: Code) -> None:
        self._inner.append((function, code))
        self._capture_now(function, code)

    def _capture_now(self, function: Value, code: Code) -> None:
        for name in _names_in(code.node):
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


def apply(
    walker: Walker,
    summary: Summary,
    code: Code,
    function: Value,
    arguments: Arguments,
    node: ast.AST,
) -> Value:
    """Do in a walker what a summary says of a call; return the call's value."""
    heap = walker.heap
    given = _bound(code, function, arguments, heap)
    regions: dict[int, Regions] = {}
    heap.budget.spend(20 + 4 * (len(summary.origins) + len(summary.changes) + len(summary.calls)))

    def outside(region: int) -> Regions:
        """Return what a stand-in is here, or the object that stands for one made in the call."""
        if region not in regions:
            origin = summary.origins.get(region)
            heap.budget.spend(10)
            if origin is None:
                made = heap.new()
                regions[region] = frozenset((made,))
                if region in summary.heap.functions:
                    heap.functions.add(made)
                for held in summary.heap.held((region,)):
                    heap.link((made,), Value(outside(held)))
                heap.link((made,), Value(code=summary.heap.own_codes(region)))
            else:
                regions[region] = _origin_regions(origin, given, function, walker, node)
        return regions[region]

    def placed(value: Value) -> Value:
        """Return a value of the summary as it is here."""
        top = frozenset().union(*(outside(region) for region in value.top))
        parts = None if value.parts is None else tuple(map(placed, value.parts))
        return replace(value, top=top, parts=parts)

    for name, receiver, given_later in list(summary.calls.values()):
        here = Arguments(
            tuple(map(placed, given_later.positional)),
            tuple((key, placed(value)) for key, value in given_later.named),
            given_later.loose,
        )
        _call_now(walker, name, placed(receiver), here, node)
    result = placed(summary.result)
    for region, origin in list(summary.origins.items()):
        new = summary.heap.held((region,)) - {region}
        extra = [held for held in new if summary.origins.get(held) != (origin[0], origin[1], True)]
        for held in extra:
            heap.link(outside(region), Value(outside(held)))
        codes = summary.heap.own_codes(region)
        if codes:
            heap.link(outside(region), Value(code=codes))
    _share_buffers(walker, summary, outside, set(regions) | set(summary.origins))
    for region, (_, why, buffers) in list(summary.changes.items()):
        if region in summary.origins:
            held = summary.origins[region][2]
            changed = outside(region) - heap.functions if held else outside(region)
            walker.change(changed, node, why, buffers=buffers)
    for name, value in list(summary.binds.items()):
        walker.store_global(name, placed(value), node)
    return result


def _call_now(walker: Walker, name: str | None, receiver: Value, arguments: Arguments, node: ast.AST) -> None:
    """Do what a summary could not: call what has come from outside, as far as it is the notebook's own."""
    put_off = walker.call_later(name, receiver, arguments)
    for code in walker.heap.codes(receiver):
        method = _method(code, name or "__call__", receiver) if code.is_class else None
        if method is not None:
            own = () if is_static(method) else (receiver,)
            with_self = replace(arguments, positional=(*own, *arguments.positional))
            walker.run(method, receiver, with_self, node)
        elif name is None and not code.is_class and not isinstance(code.node, ast.Call):
            walker.run(code, receiver, arguments, node)
    if name is None:
        walker.call_stranger(receiver, put_off, arguments, node)


def _method(code: Code, name: str, receiver: Value) -> Code | None:
    if receiver.kind == "super":
        return next((found for base in code.bases if (found := base.method(name))), None)
    return code.method(name)


def _share_buffers(
    walker: Walker, summary: Summary, outside: Callable[[int], Regions], known: set[int]
) -> None:
    """Pass on which of the regions that are known outside are views of others."""
    for region in sorted(known):
        bases = summary.heap.buffers(region) - {region}
        if bases:
            walker.heap.see(outside(region), frozenset().union(*map(outside, sorted(bases))))


def _origin_regions(
    origin: Origin,
    given: dict[str, Value],
    function: Value,
    walker: Walker,
    node: ast.AST,
) -> Regions:
    heap = walker.heap
    place, name, inner = origin
    if place == "parameter":
        top = given[name].top if name in given else frozenset()
    elif place == "function":
        top = function.top
        inner = True
    else:
        top = walker.global_value(name, node).top
    return heap.reach(heap.held(top)) | (top if place == "function" else frozenset()) if inner else top


def _bound(code: Code, function: Value, arguments: Arguments, heap: Heap) -> dict[str, Value]:
    """Return the value of each parameter; what is not given comes from the function's defaults."""
    args = getattr(code.node, "args", None)
    if not isinstance(args, ast.arguments):
        return {}
    plain = [argument.arg for argument in (*args.posonlyargs, *args.args)]
    keyword_only = [argument.arg for argument in args.kwonlyargs]
    default = heap.element(function)
    everything = joined(arguments.values())
    with_default = {*plain[len(plain) - len(args.defaults) :]}
    with_default |= {
        name for name, value in zip(keyword_only, args.kw_defaults, strict=True) if value is not None
    }
    if arguments.loose:
        anything = joined((everything, heap.element(everything), default))
        # A function that comes along with what is given is there to be called, not to be changed.
        anything = replace(anything, top=everything.top | (anything.top - heap.functions))
        names = [*plain, *keyword_only, *(each.arg for each in (args.vararg, args.kwarg) if each)]
        return dict.fromkeys(names, anything)
    given = {name: default if name in with_default else IMMUTABLE for name in (*plain, *keyword_only)}
    given.update(zip(plain, arguments.positional, strict=False))
    if args.vararg is not None:
        given[args.vararg.arg] = joined(arguments.positional[len(plain) :])
    named = dict(arguments.named)
    given.update({name: value for name, value in named.items() if name in given})
    if args.kwarg is not None:
        given[args.kwarg.arg] = joined(value for name, value in named.items() if name not in given)
    return given


def known_arguments(code: Code, arguments: Arguments) -> Known:
    """Return the parameters that are known functions in a call."""
    if arguments.loose:
        return {}
    given = dict(zip(parameter_names(code), arguments.positional, strict=False))
    names = {*parameter_names(code), *keyword_names(code)}
    given.update((name, value) for name, value in arguments.named if name in names)
    return {name: _without_regions(value) for name, value in given.items() if _is_known(value)}


def _is_known(value: Value) -> bool:
    return value.callee is not None or value.path is not None


def _without_regions(value: Value) -> Value:
    return Value(code=value.code, path=value.path, callee=value.callee)


def _known_as(known: Value | None, stand_in: Value) -> Value:
    if known is None or known.path is not None:
        return known or stand_in
    return replace(known, top=stand_in.top)


def _fixed_names(code: Code) -> frozenset[str]:
    """Return the parameters of a function that nothing in it sets, and what it itself knows of those around it."""
    every = list(ast.walk(code.node))
    set_inside = {
        each.id for each in every if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    }
    defined = {each.name for each in every if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    return frozenset({*parameter_names(code), *keyword_names(code), *code.bound} - set_inside - defined)


def _scope_names(node: ast.AST) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the names that a function declares global, declares nonlocal, and binds itself."""
    declared_global: set[str] = set()
    declared_nonlocal: set[str] = set()
    bound: set[str] = set()
    args = getattr(node, "args", None)
    if isinstance(args, ast.arguments):
        every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
        bound |= {argument.arg for argument in every if argument is not None}
    for inner in own_nodes(node):
        match inner:
            case ast.Global(names=names):
                declared_global |= set(names)
            case ast.Nonlocal(names=names):
                declared_nonlocal |= set(names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                bound.add(name)
            case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
                bound.add(name)
            case ast.alias(name=name, asname=asname):
                bound.add(asname or name.partition(".")[0])
    bound -= declared_global | declared_nonlocal
    return frozenset(declared_global), frozenset(declared_nonlocal), frozenset(bound)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Go through the nodes of a function's own scope: not the bodies of functions and classes in it."""
    todo = list(ast.iter_child_nodes(node))
    while todo:
        inner = todo.pop()
        yield inner
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            todo += inner.decorator_list
        elif isinstance(inner, ast.Lambda):
            continue
        elif isinstance(inner, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            todo += [part for part in ast.walk(inner) if isinstance(part, ast.NamedExpr)]
        else:
            todo += ast.iter_child_nodes(inner)


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in own_nodes(node))
