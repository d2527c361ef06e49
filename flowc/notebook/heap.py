"""Objects as analysis sees them: regions of memory that names may share, and what holds what.

A *region* stands for the objects that one place in the code makes. A value that is surely immutable has none.
Two regions that have a *buffer* in common may be views of the same memory (numpy, pandas): a change of one is a
change of the other, which pickling them does not keep.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flowc.notebook.budget import Budget

Regions = frozenset[int]
_FEW = 8
_CACHED = 128
# Kinds of objects that some uses change which leave others as they are. They are known as what they are when nobody
# knows any more by which name.
MARKING = frozenset(("iterator", "generator", "file", "rng"))
# So many ways between regions are gone, or so many regions put into one set, in the time of one unit of work;
# coming to a region takes as long as some ways.
_WAYS = 32
_STOP = 8
_UNITED = 64
NOTHING: Regions = frozenset()
CodeNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.GeneratorExp | ast.ClassDef | ast.Call


@dataclass(frozen=True, eq=False, slots=True)
class Code:
    """A function or class of the notebook, whose body may run whenever it can be got at.

    A `nested` one is made inside a function, from which it takes the names `captured`; `bound` says which of them
    are known functions. A class has `methods` and `bases`; one that a call makes (namedtuple) has the call as its
    node.
    """

    node: CodeNode
    captured: frozenset[str] = frozenset()
    nested: bool = False
    methods: dict[str, Code] = field(default_factory=dict)
    bases: tuple[Code, ...] = ()
    foreign_bases: bool = False
    is_enum: bool = False
    bound: dict[str, Value] = field(default_factory=dict)

    def __hash__(self) -> int:
        # By place, not by address: sets of code have one order in every process, and so an analysis one cost.
        return hash((self.node.lineno, self.node.col_offset, self.nested))

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def has_metaclass(self) -> bool:
        """Say whether a metaclass may have made this class, or one that it comes from."""
        return any(
            keyword.arg == "metaclass"
            for each in (self, *self.ancestors())
            for keyword in getattr(each.node, "keywords", ())
        )

    def ancestors(self) -> Iterator[Code]:
        """Yield the notebook's classes from which this one comes."""
        for base in self.bases:
            yield base
            yield from base.ancestors()

    def method(self, name: str) -> Code | None:
        """Return a method, also one of a base class in the notebook."""
        if name in self.methods:
            return self.methods[name]
        return next((found for base in self.bases if (found := base.method(name))), None)


Codes = frozenset[Code]
NO_CODE: Codes = frozenset()


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression may give.

    `top` are the regions it may be, and with `exact` it is one of them, not a part of one. `code` may run through
    it; `callee` is the very function or class it is, `instance` the class it is an instance of. `path` is the
    dotted import path of a module or of something in one; `kind` the effects table's word for its type; `stuck`
    says why it can't cross a step. `parts` are a tuple's items, where it was written as one.
    """

    top: Regions = NOTHING
    code: Codes = NO_CODE
    kind: str | None = None
    path: str | None = None
    callee: Code | None = None
    instance: Code | None = None
    exact: bool = True
    stuck: str | None = None
    parts: tuple[Value, ...] | None = None


IMMUTABLE = Value()


def joined(values: Iterable[Value]) -> Value:
    """Return a value that may be any of these."""
    all_values = list(values)
    if not all_values:
        return IMMUTABLE
    result = all_values[0]
    for value in all_values[1:]:
        if value == result:
            continue
        result = Value(
            result.top | value.top,
            result.code | value.code,
            result.kind if result.kind == value.kind else None,
            result.path if result.path == value.path else None,
            result.callee if result.callee is value.callee else None,
            result.instance if result.instance is value.instance else None,
            result.exact and value.exact,
            result.stuck or value.stuck,
            _joined_parts(result.parts, value.parts),
        )
    return result


def _joined_parts(one: tuple[Value, ...] | None, other: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(joined(pair) for pair in zip(one, other, strict=True))


class Heap:
    """The regions made so far: what each may hold, the code in it, and which share a buffer."""

    def __init__(self, views: bool = True, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._views = views
        self._holds: list[set[int]] = []
        self._held_by: list[set[int]] = []
        self._codes: dict[int, set[Code]] = {}
        self._buffers: list[set[int]] = []
        self._members: list[set[int]] = []
        # Good until something more is held: what sets of regions reach, and few regions that reach a whole set.
        self._reached: dict[Regions, Regions] = {}
        self._in_reached: set[int] = set()
        self._tips: dict[Regions, Regions] = {}
        self._marks: dict[int, str] = {}
        self.functions: set[int] = set()
        self.sure_views: set[int] = set()

    def __len__(self) -> int:
        return len(self._holds)

    def deep(self, regions: Iterable[int]) -> Regions:
        """Return what a change that goes deep may touch: all that can be got at but functions and classes."""
        return self.reach(regions) - self.functions

    def new(self, holds: Iterable[int] = ()) -> int:
        """Make a region that may hold these."""
        region = len(self._holds)
        self._holds.append(set(holds))
        self._held_by.append(set())
        for held in self._holds[region]:
            self._held_by[held].add(region)
        self._buffers.append({region})
        self._members.append({region})
        return region

    def fresh(self, *parts: Value, kind: str | None = None, stuck: str | None = None) -> Value:
        """Return a new object that may hold the given values."""
        held: set[int] = set()
        code: set[Code] = set()
        for part in parts:
            held |= self._ends(part.top)
            code |= part.code
            stuck = stuck or part.stuck
        made = self.new(held)
        if kind is not None and kind in MARKING:
            self.mark((made,), kind)
        return Value(frozenset((made,)), frozenset(code), kind, stuck=stuck)

    def foreign(self, *parts: Value, kind: str | None = None, stuck: str | None = None) -> Value:
        """Return a new object made elsewhere: besides what it is given it may hold objects of its own.

        Tables and arrays hold numbers, and share them with their views, not by reference.
        """
        if kind in ("array", "frame"):
            return self.fresh(*parts, kind=kind, stuck=stuck)
        inner = self.new()
        if kind is not None and kind in MARKING:
            self.mark((inner,), kind)
        self._holds[inner].add(inner)
        self._held_by[inner].add(inner)
        return self.fresh(*parts, Value(frozenset((inner,))), kind=kind, stuck=stuck)

    def link(self, holders: Iterable[int], value: Value) -> None:
        """Let each holder hold what is given, with the code in it."""
        all_holders = frozenset(holders)
        if value.code:
            for holder in all_holders:
                self._codes.setdefault(holder, set()).update(value.code)
        if len(all_holders) > _FEW:
            self._let_all_hold(all_holders, self._ends(value.top))
            return
        for holder in all_holders:
            if value.top and not value.top <= self._held_in(frozenset((holder,))):
                self._hold(holder, value.top)

    def _let_all_hold(self, holders: Regions, ends: Regions) -> None:
        """Let many regions hold more, without asking of each what it reaches."""
        ways = [self.holders((end,)) for end in ends]
        changed = {holder for holder in holders if any(self._holds[holder].isdisjoint(way) for way in ways)}
        self._extend(changed, self.reach(ends))
        for holder in changed:
            self._holds[holder] |= ends
        for end in ends:
            self._held_by[end] |= changed

    def _hold(self, holder: int, regions: Regions) -> None:
        """Let a region hold more, and drop what it can be seen to hold through that."""
        known = self._holds[holder]
        new = self._ends(regions)
        through = self.reach(new)
        self._extend({holder}, through)
        if known and holder in through:
            # Not through the holder itself: what only it holds must stay.
            seen = {holder}
            self._spread(new - seen, seen)
            through = frozenset(seen)
        dropped = (known & through) - {holder}
        for held in dropped:
            self._held_by[held].discard(holder)
        for held in new:
            self._held_by[held].add(holder)
        self._holds[holder] = (known - dropped) | new

    def _extend(self, changed: set[int], gained: Regions) -> None:
        """Add what some regions will reach to what reaches them, and forget whatever would pile up."""
        if len(self._tips) > _CACHED:
            self._tips.clear()
        if len(self._reached) > _CACHED:
            self._reached.clear()
            self._in_reached.clear()
        if changed.isdisjoint(self._in_reached):
            return
        self._in_reached |= gained
        kept = {}
        for key, reach in self._reached.items():
            if changed.isdisjoint(reach):
                kept[key] = reach
            elif len(key) <= _FEW:
                # What many reach is mostly asked for once.
                kept[key] = reach | gained
                self.budget.spend(len(reach) // _UNITED)
        self.budget.spend(len(self._reached) // 2)
        self._reached = kept

    def _remember(self, regions: Regions, reach: Regions) -> None:
        self._reached[regions] = reach
        self._in_reached |= reach

    def _ends(self, regions: Regions) -> Regions:
        """Return few of these through which the others can be got at: what is held matters only as a whole."""
        if len(regions) < 2 or regions in self._tips:
            return self._tips.get(regions, regions)
        seen: set[int] = set()
        ends: list[int] = []
        # What was made last mostly holds what was made before.
        for region in sorted(regions, reverse=True):
            if region not in seen:
                ends.append(region)
                self._spread([region], seen)
        self._tips[regions] = frozenset(ends)
        return self._tips[regions]

    def _inside(self, regions: Regions) -> Regions:
        """Return everything that can be got at through regions, ready to be held as a whole."""
        inner = self._held_in(regions)
        self._remember(inner, inner)
        held = self.held(regions)
        if len(held) <= _FEW:
            self._tips[inner] = held
        return inner

    def _held_in(self, regions: Regions) -> Regions:
        """Return what can be got at through regions, and of themselves only what is held in there."""
        reach = self.reach(regions)
        return reach.difference(each for each in regions if self._held_by[each].isdisjoint(reach))

    def _spread(self, regions: Iterable[int], seen: set[int]) -> None:
        """Add the regions to those seen, with everything that can be got at through them."""
        self._go(self._holds, regions, seen)

    def _go(self, ways: list[set[int]], regions: Iterable[int], seen: set[int]) -> None:
        """Add the regions to those seen, with all that these ways lead to that has not been seen."""
        todo = list(regions)
        seen.update(todo)
        gone = 0
        while todo:
            onward = ways[todo.pop()]
            gone += _STOP + len(onward)
            if not onward <= seen:
                new = onward - seen
                seen |= new
                todo += [region for region in new if ways[region]]
        self.budget.spend(gone // _WAYS)

    def held(self, regions: Iterable[int]) -> Regions:
        """Return what these hold directly."""
        return frozenset().union(*(self._holds[region] for region in regions))

    def reach(self, regions: Iterable[int]) -> Regions:
        """Return the regions and everything that can be got at through them."""
        wanted = frozenset(regions)
        if wanted not in self._reached:
            seen: set[int] = set()
            self._spread(wanted, seen)
            self._remember(wanted, frozenset(seen))
        return self._reached[wanted]

    def holders(self, regions: Iterable[int]) -> Regions:
        """Return the regions and everything through which they can be got at."""
        seen: set[int] = set()
        self._go(self._held_by, regions, seen)
        return frozenset(seen)

    def mark(self, regions: Iterable[int], mark: str) -> None:
        """Say what is peculiar about regions, however they are got at later."""
        self._marks.update(dict.fromkeys(regions, mark))

    def mark_of(self, region: int) -> str | None:
        """Return what is peculiar about a region."""
        return self._marks.get(region)

    def marked(self, regions: Iterable[int], *marks: str, inside: bool = True) -> Regions:
        """Return which of the regions have one of these marks; with `inside`, also of all that they hold."""
        if not self._marks:
            return NOTHING
        among = self.reach(regions) if inside else frozenset(regions)
        return frozenset(region for region in among & self._marks.keys() if self._marks[region] in marks)

    def instances(self, code: Code, value: Value) -> Regions:
        """Return the instances of a class that can be got at through a value."""
        inside = self.reach(value.top)
        return frozenset(r for r in inside if code in self._codes.get(r, ())) - self.functions

    def codes(self, value: Value) -> Codes:
        """Return all code that may run through a value."""
        self.budget.spend(len(value.top) // _WAYS)
        if not self._codes:
            return value.code
        inside = self._codes.keys() & self.reach(value.top)
        return value.code.union(*(self._codes[region] for region in inside))

    def own_codes(self, region: int) -> Codes:
        """Return the code that was put into one region."""
        return frozenset(self._codes.get(region, ()))

    def buffers(self, region: int) -> Regions:
        """Return the memories that a region may be in, each named by the region that was made with it."""
        return frozenset(self._buffers[region])

    def see(self, views: Iterable[int], bases: Iterable[int]) -> None:
        """Say that some regions may be views of others, where there are views at all.

        What may be a view of this or of that does not make a view of that out of this.
        """
        if not self._views:
            return
        seen: set[int] = set().union(*(self._buffers[base] for base in bases))
        for region in set().union(*(self._members[view] for view in views)):
            new = seen - self._buffers[region]
            self._buffers[region] |= new
            for buffer in new:
                self._members[buffer].add(region)

    def buffer_mates(self, regions: Iterable[int]) -> Regions:
        """Return the regions and all that may be views of the same memory."""
        buffers: set[int] = set().union(*(self._buffers[region] for region in regions))
        return frozenset().union(*(self._members[buffer] for buffer in buffers))

    def view(self, value: Value, kind: str | None = None) -> Value:
        """Return a part of a value: a view of its memory, or one of the objects that it holds."""
        if not value.top:
            return Value(code=value.code, kind=kind, stuck=value.stuck)
        inner = self._inside(value.top)
        view = self.new(self._ends(inner))
        self.see((view,), value.top)
        top = inner | {view}
        self._remember(top, top)
        return Value(top, self.codes(value), kind, exact=False, stuck=value.stuck)

    def element(self, value: Value) -> Value:
        """Return an object that a value holds: an item of a list, an attribute of an instance."""
        inner = self._inside(value.top)
        return Value(inner, self.codes(value), exact=False, stuck=value.stuck)
