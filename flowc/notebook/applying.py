"""What a call does where it is made: the function's summary, with what is there in place of the stand-ins."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace

from flowc.notebook.heap import IMMUTABLE, Code, Heap, Regions, Value, joined
from flowc.notebook.host import Arguments
from flowc.notebook.interpret import Walker
from flowc.notebook.specials import is_special
from flowc.notebook.summary import Origin, Summary
from flowc.notebook.syntax import is_static


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
                if (mark := summary.heap.mark_of(region)) is not None:
                    heap.mark((made,), mark)
                heap.link((made,), inside(region, summary.heap.held((region,))))
            else:
                regions[region] = _origin_regions(origin, given, function, walker, node)
        return regions[region]

    def inside(region: int, held: Iterable[int]) -> Value:
        """Return what a region is to hold here, with its code."""
        return Value(frozenset().union(*map(outside, held)), summary.heap.own_codes(region))

    def placed(value: Value) -> Value:
        """Return a value of the summary as it is here."""
        top = frozenset().union(*map(outside, value.top))
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
        if extra or summary.heap.own_codes(region):
            heap.link(outside(region), inside(region, extra))
    _share_buffers(walker, summary, outside, set(regions) | set(summary.origins))
    changes: dict[tuple[Regions, str, bool], None] = {}
    for region, (_, why, buffers) in list(summary.changes.items()):
        if region in summary.origins:
            held = summary.origins[region][2]
            changes[outside(region) - heap.functions if held else outside(region), why, buffers] = None
    for changed, why, buffers in changes:
        walker.change(changed, node, why, buffers=buffers)
    for name, value in list(summary.binds.items()):
        walker.store_global(name, placed(value), node)
    return result


def _call_now(walker: Walker, name: str | None, receiver: Value, arguments: Arguments, node: ast.AST) -> None:
    """Do what a summary could not: call what has come from outside, as far as it is the notebook's own."""
    put_off = walker.call_later(name, receiver, arguments)
    if name is not None and is_special(name) and receiver.kind != "super":
        walker.run_special(name, receiver, arguments, node)
        return
    if name is not None:
        walker.disturb(name, receiver, arguments, node)
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
