"""Versions of names in the notebook's order: who defines, who reads, who changes what another still sees.

`Notebook order` is the only order there is. A step that reads a name reads the version that a top-to-bottom run
would show it; a change in place makes a new version of each name through which it can be seen. Where names of
other steps share the changed object, they are *entangled*: from the step that made them share it on, they travel
together. That is known only afterwards, so cells are walked again until nothing new is found.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from flowc.notebook.applying import apply
from flowc.notebook.effects import EffectsTable
from flowc.notebook.function_scopes import own_nodes
from flowc.notebook.generators import generator_name
from flowc.notebook.heap import NOTHING, Code, Heap, Regions, Value, joined
from flowc.notebook.host import Arguments, Event, builtin
from flowc.notebook.interpret import Walker
from flowc.notebook.names import Layer, Names
from flowc.notebook.summaries import Summaries
from flowc.notebook.summary import Summary, known_arguments
from flowc.notebook.syntax import is_property, parameter_names
from flowc.notebook.versions import PARAMETER, SHARED, Atom, Bound, Place, Read, Version

# A region's statement, whether it was walked as shared code, and its place among those made there.
RegionKey = tuple[int, bool, int]
_IMPURE: frozenset[Event] = frozenset(("once", "output", "writes", "waits", "dynamic"))
_QUIET_DUNDERS = frozenset(("__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__"))


@dataclass(frozen=True, slots=True)
class Stale:
    """A version that still shows an object as it was before another step changed it."""

    regions: Regions
    unit: str
    place: Place
    why: str
    view: Literal["no", "maybe", "sure"]


class _Marks:
    """What a walk has found so far, apart from the state of names. All of it can be undone to a mark."""

    def __init__(self) -> None:
        self.stale: dict[Version, tuple[Stale, ...]] = {}
        self.hazards: set[int] = set()
        self.apart: set[int] = set()
        self.changes: list[tuple[int, str, Regions]] = []
        self.views: list[tuple[Version, Place, Stale]] = []
        self._read_by: dict[str, dict[Version, Regions]] = defaultdict(dict)
        self._undo: list[Callable[[], object]] = []

    def has_read(self, unit: str, version: Version) -> bool:
        return version in self._read_by[unit]

    def reads_of(self, unit: str) -> Iterable[Version]:
        return self._read_by[unit]

    def held_at_read(self, unit: str, version: Version) -> Regions:
        """Return what a version held when a unit first read it."""
        return self._read_by[unit][version]

    def read(self, unit: str, version: Version, held: Regions) -> None:
        versions = self._read_by[unit]
        versions[version] = held
        self._undo.append(lambda: versions.pop(version))

    def outdate(self, version: Version, stale: Stale) -> None:
        known = self.stale.get(version, ())
        self.stale[version] = (*known, stale)
        self._undo.append(lambda: self.stale.update({version: known}))

    def endanger(self, regions: Iterable[int]) -> None:
        new = set(regions) - self.hazards
        self.hazards |= new
        self._undo.append(lambda: self.hazards.difference_update(new))

    def keep_apart(self, regions: Iterable[int]) -> None:
        """Let what may be views of one memory travel together, and be looked at whether it is."""
        self.endanger(regions)
        new = set(regions) - self.apart
        self.apart |= new
        self._undo.append(lambda: self.apart.difference_update(new))

    def note_change(self, cell: int, unit: str, regions: Regions) -> None:
        self.changes.append((cell, unit, regions))
        self._undo.append(self.changes.pop)

    def see_view(self, version: Version, place: Place, stale: Stale) -> None:
        self.views.append((version, place, stale))
        self._undo.append(self.views.pop)

    def checkpoint(self) -> int:
        return len(self._undo)

    def rollback(self, mark: int) -> None:
        while len(self._undo) > mark:
            self._undo.pop()()


class CellWalker(Walker):
    """Walks the statements of cells, one atom at a time."""

    def __init__(
        self,
        table: EffectsTable,
        codes: dict[Any, Code],
        entangled: frozenset[RegionKey],
        last_mention: dict[str, float],
        star_names: Callable[[str], Sequence[str] | None],
        heap: Heap,
    ) -> None:
        super().__init__(heap, table, codes)
        self.names = Names()
        self.marks = _Marks()
        self._entangled_keys = entangled
        self._entangled: set[int] = set()
        self._keys: list[RegionKey] = []
        self._last_mention = last_mention
        self._star_names = star_names
        self._summaries = Summaries(table, codes, heap.budget)
        self._atom = Atom(-1, -1, -1, ast.Pass())
        self._running: list[tuple[Code, str]] = []
        self._calling: set[Code] = set()
        self._triggered: set[Code] = set()
        self._certain = True
        self._made_in: list[str] = []
        self._first_region = 0

    # -- atoms

    def walk_atom(self, atom: Atom) -> None:
        """Go through one statement as part of its unit."""
        self._begin(atom)
        self.walk([atom.node])
        self._end()

    def try_shared(self, atom: Atom) -> bool:
        """Walk a statement as shared code; undo it and return False where it can't be repeated in each step."""
        mark = self.checkpoint()
        trial = Atom(atom.number, atom.cell, atom.position, atom.node, SHARED)
        self._begin(trial)
        self.walk([trial.node])
        self._end()
        if self._is_repeatable(trial):
            atom.unit, atom.reads, atom.writes = SHARED, trial.reads, trial.writes
            atom.events, atom.unknown, atom.setup = trial.events, trial.unknown, trial.setup
            return True
        self.rollback(mark)
        return False

    def checkpoint(self) -> tuple[int, int]:
        """Return a mark to go back to."""
        return self.names.checkpoint(), self.marks.checkpoint()

    def rollback(self, mark: tuple[int, int]) -> None:
        """Undo all atoms since a mark."""
        self.names.rollback(mark[0])
        self.marks.rollback(mark[1])

    def _is_repeatable(self, atom: Atom) -> bool:
        if any(version.unit not in (SHARED, PARAMETER) for version in atom.reads):
            return False
        if any(name for name, *_ in atom.unknown):
            return False
        return not any(event in _IMPURE for event, *_ in atom.events)

    def bind_parameter(self, name: str, value: Value, place: Place, number: int) -> None:
        """Bind a pipeline's parameter."""
        self.names.put(Version(name, value, PARAMETER, number, place, "is a parameter"))
        self.names.commit()

    def _begin(self, atom: Atom) -> None:
        self._atom = atom
        self._triggered = set()
        self._mark_regions()
        self._first_region = len(self.heap)

    def _end(self) -> None:
        self._mark_regions()
        if self._atom.unit not in (SHARED, PARAMETER):
            self._carry_entangled()
        number = self._atom.number
        self._atom.writes = {
            name: version for name, version in self.names.changed().items() if version.atom == number
        }
        self.names.commit()

    def _mark_regions(self) -> None:
        """Give the regions made since the last time a key that they have in every round, and see who is entangled."""
        for region in range(len(self._keys), len(self.heap)):
            shared = self._atom.unit == SHARED
            key = (self._atom.number, shared, region - self._first_region)
            self._keys.append(key)
            self._made_in.append(self._atom.unit)
            if key in self._entangled_keys:
                self._entangled.add(region)

    def keys(self, regions: Iterable[int]) -> frozenset[RegionKey]:
        """Return names of regions that hold in every round."""
        return frozenset(self._keys[region] for region in regions)

    @property
    def entangled(self) -> frozenset[int]:
        """The regions of this round that are entangled."""
        return frozenset(self._entangled)

    def regions(self, keys: frozenset[RegionKey]) -> frozenset[int]:
        """Return the regions of this round that have these names."""
        return frozenset(region for region, key in enumerate(self._keys) if key in keys)

    def _carry_entangled(self) -> None:
        """Let this step take over, and pass on, every name that shares an entangled object with one of its own."""
        while True:
            own: set[int] = set()
            for version in self.names.changed().values():
                own |= self._reach(version) & self._entangled
            own = set(self.heap.buffer_mates(own)) & self._entangled
            left = [
                version
                for version in (self.names.being(self.heap.holders(own)) if own else ())
                if version.unit != self._atom.unit and self._is_live(version)
            ]
            if not left:
                return
            for version in left:
                self._renew(version, self._atom.node, "travels with a name that shares its object")

    def _is_live(self, version: Version) -> bool:
        return version.bound != "no" and self._last_mention.get(version.name, -1) >= self._atom.cell

    def _reach(self, version: Version) -> Regions:
        return self.heap.reach(version.value.top) if version.value.top else frozenset()

    # -- where names live

    @property
    def here(self) -> Place:
        """The statement that is walked, or was walked last."""
        return self.place(self._atom.node)

    def place(self, node: ast.AST) -> Place:
        line = getattr(node, "lineno", None) or getattr(self._atom.node, "lineno", None)
        column = getattr(node, "col_offset", None)
        return Place(self._atom.cell, line, None if column is None else column + 1)

    def load(self, name: str, node: ast.AST) -> Value:
        version = self.names.get(name)
        if version is None or version.bound == "no":
            known = builtin(name)
            if known is not None:
                return known
            # In a `try`, not having the name may be what the code is there for; a function may not be called yet.
            if not self._raises and self._certain:
                self._atom.unknown.append((name, self.place(node), self._via(), version))
            return self.heap.fresh()
        self._record(version, node)
        self._trigger(version.value, node)
        return version.value

    def _mark_read(self, version: Version) -> None:
        if not self.marks.has_read(self._atom.unit, version):
            self.marks.read(self._atom.unit, version, self._reach(version))

    def _record(self, version: Version, node: ast.AST) -> None:
        self._see_stale(version, node)
        self._mark_read(version)
        if version.atom != self._atom.number and version not in self._atom.reads:
            self._atom.reads[version] = Read(version, self.place(node), self._via())

    def _see_stale(self, version: Version, node: ast.AST) -> None:
        for stale in self.marks.stale.get(version, ()):
            if stale.view == "sure":
                self.marks.see_view(version, self.place(node), stale)
            elif stale.view == "maybe":
                self.marks.keep_apart(stale.regions)
            else:
                self.marks.endanger(stale.regions)

    def _via(self) -> str | None:
        return self._running[-1][1] if self._running else None

    def _peek(self, name: str) -> Value | None:
        version = self.names.get(name)
        return None if version is None or version.bound == "no" else version.value

    def _trigger(self, value: Value, node: ast.AST) -> None:
        """Take it that all code which can be got at through a value may run now, wherever it is called."""
        for code in self.heap.codes(value):
            if code in self._triggered:
                continue
            self._triggered.add(code)
            for name, method in code.methods.items():
                summary = self._run(method, value, Arguments(), node, called=False)
                restless = (name.startswith("__") and name not in _QUIET_DUNDERS) or is_property(method)
                changed = _changed_of_self(summary, method) if restless and value.callee is None else set()
                if changed:
                    owners = self.heap.instances(code, value) or value.top
                    regions = self.heap.deep(owners) if True in changed else owners
                    self.change(regions, node, f"may be changed by its '{name}'")
            for base in code.bases:
                self._trigger(replace(value, code=frozenset((base,)), top=frozenset()), node)
            if not code.is_class:
                self._run(code, value, Arguments(), node, called=False)

    def store(self, name: str, value: Value, node: ast.AST) -> None:
        self.heap.budget.spend(len(value.top) // 4)
        self.names.put(Version(name, value, self._atom.unit, self._atom.number, self.place(node)))

    def store_global(self, name: str, value: Value, node: ast.AST) -> None:
        before = self.snapshot()
        self.store(name, value, node)
        self.join([before, self.snapshot()])

    def unbind(self, name: str, node: ast.AST) -> None:
        version = self.names.get(name)
        if version is None or version.bound == "no":
            if builtin(name) is None:
                self._atom.unknown.append((name, self.place(node), self._via(), version))
            return
        if isinstance(node, ast.Name):
            self._record(version, node)
        place = self.place(node)
        deleted = replace(version, unit=self._atom.unit, atom=self._atom.number, place=place, bound="no")
        self.names.put(replace(deleted, why="is deleted"))

    def snapshot(self) -> Layer:
        return self.names.snapshot()

    def restore(self, state: Any) -> None:
        self.names.restore(state)

    def join(self, states: Sequence[Any]) -> None:
        self.heap.budget.spend(2 + sum(map(len, states)))
        merged = [self._joined(name, versions) for name, versions in self.names.differing(states)]
        self.names.restore(states[0])
        for version in merged:
            self.names.put(version)

    def _joined(self, name: str, versions: list[Version | None]) -> Version:
        there = [version for version in dict.fromkeys(versions) if version is not None]
        alive = [version for version in there if version.bound != "no"]
        bound: Bound = "yes"
        if not alive:
            bound = "no"
        elif (
            len(alive) < len(there) or None in versions or any(version.bound == "maybe" for version in alive)
        ):
            bound = "maybe"
        for version in there:
            if version.value.stuck and not self._is_live(version):
                continue
            if version.atom != self._atom.number and version not in self._atom.reads:
                # Where another way was taken, the old version is still the one.
                self._see_stale(version, self._atom.node)
                self._mark_read(version)
                self._atom.reads[version] = Read(version, self.place(self._atom.node), self._via())
        own = next((version for version in there if version.atom == self._atom.number), there[0])
        value = joined(version.value for version in alive) if alive else own.value
        self.heap.budget.spend(len(value.top) // 2)
        return Version(name, value, self._atom.unit, self._atom.number, own.place, own.why, bound)

    # -- changes

    def change(self, regions: Regions, node: ast.AST, why: str, *, buffers: bool = True) -> None:
        if not regions:
            return
        self._mark_regions()
        mates = self.heap.buffer_mates(regions) if buffers else regions
        tops = self.heap.holders(mates)
        loaded: list[Version] = []
        being = self.names.being(tops)
        self.heap.budget.spend(4 * len(being) + len(tops) // 4)
        for version in being:
            if self._atom.unit in (SHARED, version.unit):
                self._renew(version, node, why)
                continue
            shown = self._reach(version) & mates
            view = bool(shown - regions) and not self._in_one_memory(version, shown, mates)
            if view and self._is_sure(version, mates, why):
                self._outdate(version, shown, node, why, "sure")
            elif self.marks.has_read(self._atom.unit, version):
                loaded.append(version)
            elif shown & self._entangled and self._is_live(version):
                self._renew(version, node, why)
            elif view:
                self._outdate(version, mates, node, why, "maybe")
            else:
                self._outdate(version, shown, node, why, "no")
        self.marks.note_change(self._atom.cell, self._atom.unit, mates)
        self._see_copies(mates, tops, node, why)
        for version in loaded:
            self._renew(version, node, why)

    def _is_sure(self, version: Version, mates: Regions, why: str) -> bool:
        """Say whether a name is surely a view of what surely changes, or has such views: arrays, tables, by slices."""
        known = version.value.kind in ("array", "frame") and not why.startswith("may be")
        return known and not mates.isdisjoint(self.heap.sure_views)

    def _outdate(
        self,
        version: Version,
        shown: Regions,
        node: ast.AST,
        why: str,
        view: Literal["no", "maybe", "sure"],
    ) -> None:
        self.marks.outdate(version, Stale(shown, self._atom.unit, self.place(node), why, view))

    def _see_copies(self, changed: Regions, tops: Regions, node: ast.AST, why: str) -> None:
        """Find out whether this step has got the changed memory more than once, and so has copies of it.

        Objects can travel together from where they were made; a view and its base can't.
        """
        sources: dict[object, list[Version]] = {}
        for version in self.marks.reads_of(self._atom.unit):
            if version.unit != self._atom.unit and version.value.top & tops:
                sources.setdefault(SHARED if version.unit == SHARED else version, []).append(version)
        parts = {
            key: frozenset().union(*(self.marks.held_at_read(self._atom.unit, one) for one in versions))
            & changed
            for key, versions in sources.items()
        }
        if len(parts) > 1:
            self.marks.endanger(frozenset().union(*parts.values()))
        for key, part in parts.items():
            others = [other for each, other in parts.items() if each is not key]
            apart = any(self.heap.buffer_mates(part) & other - part for other in others)
            if apart or (key != SHARED and self._holds_a_view(sources[key][0], changed)):
                version = sources[key][0]
                if self._is_sure(version, changed, why):
                    stale = Stale(changed, self._atom.unit, self.place(node), why, "sure")
                    self.marks.see_view(version, stale.place, stale)
                else:
                    self.marks.keep_apart(changed)
                return

    def _holds_a_view(self, version: Version, changed: Regions) -> bool:
        """Say whether a value that was loaded holds both a view and its base, which loading has set apart."""
        held = self.marks.held_at_read(self._atom.unit, version) & changed
        for top in version.value.top if len(held) > 1 else ():
            inside = self.heap.reach((top,)) & held
            if any(len(self.heap.buffer_mates((region,)) & inside) > 1 for region in inside):
                return True
        return False

    def _in_one_memory(self, version: Version, shown: Regions, mates: Regions) -> bool:
        """Say whether this step itself made all views between the changed memory and a name that it has read."""
        if not self.marks.has_read(self._atom.unit, version):
            return False
        foreign = {region for region in mates - shown if self._made_in[region] != self._atom.unit}
        return not any(
            other.unit != self._atom.unit and other is not version
            for other in (self.names.being(self.heap.holders(foreign)) if foreign else ())
        )

    def _renew(self, version: Version, node: ast.AST, why: str) -> None:
        """Make a new version of a name whose object has changed."""
        if version.atom != self._atom.number:
            self._see_stale(version, node)
        if version.atom != self._atom.number and version not in self._atom.reads:
            self._atom.reads[version] = Read(version, self.place(node), self._via())
        self._mark_read(version)
        if version.atom == self._atom.number:
            return
        renewed = replace(
            version, unit=self._atom.unit, atom=self._atom.number, place=self.place(node), why=why
        )
        self.names.put(renewed)

    # -- events

    def note(self, event: Event, node: ast.AST, detail: str | None = None) -> None:
        place = self.place(node)
        if event == "star":
            self._import_star(detail or "", node)
            return
        if event in ("process", "state"):
            self._atom.setup = True
        if event in ("seeds", "draws"):
            self._use_generator(event, generator_name(detail or ""), node)
        if (event, place, detail) not in self._atom.events:
            self._atom.events.append((event, place, detail))

    def _use_generator(self, event: Event, name: str, node: ast.AST) -> None:
        """Treat a global random generator as an object that has a name: drawing changes it, a seed makes it new."""
        if event == "seeds":
            self.store(name, self.heap.fresh(), node)
        elif (generator := self.names.get(name)) is not None:
            self._record(generator, node)
            if self._atom.unit == SHARED:
                self._renew(generator, node, "is drawn from")
        elif self._atom.unit == SHARED:
            self._atom.events.append(("once", self.place(node), "a draw from a generator that has no seed"))

    def _import_star(self, module: str, node: ast.AST) -> None:
        names = self._star_names(module)
        if names is None:
            self._atom.events.append(("star", self.place(node), module))
        for name in names or ():
            self.bind(name, Value(path=f"{module}.{name}"), node)

    # -- functions

    def summary_of(self, code: Code) -> Summary:
        """Return what a function does, as things stand at the end of what was walked."""
        return self._summaries.of(code, self._peek)

    def captured(self) -> frozenset[str]:
        return frozenset()

    def capture(self, function: Value, code: Code) -> None:
        """Do nothing: a function of a cell has no function around it."""

    def call_later(self, _name: str | None, _receiver: Value, _arguments: Arguments) -> Regions:
        """Put nothing off: in a cell all is known that will be."""
        return NOTHING

    def run(self, code: Code, function: Value, arguments: Arguments, node: ast.AST) -> Value:
        if code in self._calling or any(code is running for running, _ in self._running):
            return self._anything((function, *arguments.values()), known=True)
        summary = self._run(code, function, arguments, node, called=True)
        self._calling.add(code)
        result = apply(self, summary, code, function, arguments, node)
        self._calling.discard(code)
        return result

    def _run(
        self, code: Code, function: Value, arguments: Arguments, node: ast.AST, *, called: bool
    ) -> Summary:
        """Do what running a function does to globals."""
        summary = self._summaries.of(code, self._peek, known_arguments(code, arguments))
        if any(code is running for running, _ in self._running):
            return summary
        self._running.append((code, getattr(code.node, "name", "<lambda>")))
        certain, self._certain = self._certain, self._certain and called
        for name in summary.reads:
            self.load(name, node)
        self._certain = certain
        for event, _, detail in summary.notes:
            if called or event not in ("once", "output"):
                self.note(event, node, detail)
        if not called:
            apply(self, summary, code, function, arguments, node)
        for name in summary.deletes:
            before = self.snapshot()
            self.unbind(name, node)
            self.join([before, self.snapshot()])
        self._running.pop()
        return summary

    def global_value(self, name: str, _node: ast.AST) -> Value:
        version = self.names.get(name)
        return self.heap.fresh() if version is None or version.bound == "no" else version.value


def _changed_of_self(summary: Summary, method: Code) -> set[bool]:
    """Say of what a method changes of its instance whether it is something that the instance holds."""
    names = parameter_names(method)[:1]
    origins = [summary.origins[region] for region in summary.changes if region in summary.origins]
    return {held for place, name, held in origins if place == "parameter" and name in names}


def last_mentions(trees: Iterable[tuple[int, ast.Module]]) -> dict[str, float]:
    """Return for each name the last cell that reads it; a function that does may be called at any time."""
    last: dict[str, float] = {}
    for cell, tree in trees:
        own = {node for node in own_nodes(tree) if isinstance(node, ast.Name)}
        changed = {node.target for node in ast.walk(tree) if isinstance(node, ast.AugAssign)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and (node in changed or not isinstance(node.ctx, ast.Store)):
                seen = float(cell) if node in own else float("inf")
                last[node.id] = max(seen, last.get(node.id, -1))
    return last
