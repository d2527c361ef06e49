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
from dataclasses import dataclass, field, replace
from typing import Any

from flowc.notebook.effects import EffectsTable
from flowc.notebook.heap import Code, Heap, Regions, Value, joined
from flowc.notebook.interpret import Arguments, Event, Walker, builtin
from flowc.notebook.summaries import Summaries, Summary, apply, own_nodes
from flowc.notebook.versions import PARAMETER, SHARED, Atom, Bound, Place, Read, Version

_IMPURE: frozenset[Event] = frozenset(("once", "output", "writes", "waits", "dynamic"))
_QUIET_DUNDERS = frozenset(("__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__"))


@dataclass(frozen=True, slots=True)
class Stale:
    """A version that still shows an object as it was before another step changed it."""

    regions: Regions
    unit: str
    place: Place
    why: str
    view: bool


@dataclass(slots=True)
class _Marks:
    """What a walk has found so far, apart from the state of names."""

    stale: dict[Version, Stale] = field(default_factory=dict)
    hazards: set[int] = field(default_factory=set)
    views: list[tuple[Version, Place, Stale]] = field(default_factory=list)
    read_by: dict[str, set[Version]] = field(default_factory=lambda: defaultdict(set))

    def copy(self) -> _Marks:
        read_by: dict[str, set[Version]] = defaultdict(set)
        read_by.update({unit: set(versions) for unit, versions in self.read_by.items()})
        return _Marks(dict(self.stale), set(self.hazards), list(self.views), read_by)


class CellWalker(Walker):
    """Walks the statements of cells, one atom at a time."""

    def __init__(
        self,
        table: EffectsTable,
        codes: dict[ast.AST, Code],
        entangled: frozenset[int],
        last_mention: dict[str, float],
        star_names: Callable[[str], Sequence[str] | None],
    ) -> None:
        super().__init__(Heap(), table, codes)
        self.env: dict[str, Version] = {}
        self.marks = _Marks()
        self._entangled = entangled
        self._last_mention = last_mention
        self._star_names = star_names
        self._summaries = Summaries(table, codes)
        self._atom = Atom(-1, -1, -1, ast.Pass())
        self._running: list[tuple[Code, str]] = []
        self._triggered: set[Code] = set()
        self._made_in: list[str] = []

    # -- atoms

    def walk_atom(self, atom: Atom) -> None:
        """Go through one statement as part of its unit."""
        self._begin(atom)
        self.walk([atom.node])
        self._end()

    def try_shared(self, atom: Atom) -> bool:
        """Walk a statement as shared code; undo it and return False where it can't be repeated in each step."""
        env, marks = dict(self.env), self.marks.copy()
        trial = Atom(atom.number, atom.cell, atom.position, atom.node, SHARED)
        self._begin(trial)
        self.walk([trial.node])
        self._end()
        if self._is_repeatable(trial):
            atom.unit, atom.reads, atom.writes = SHARED, trial.reads, trial.writes
            atom.events, atom.unknown, atom.setup = trial.events, trial.unknown, trial.setup
            return True
        self.env, self.marks = env, marks
        return False

    def _is_repeatable(self, atom: Atom) -> bool:
        if any(version.unit not in (SHARED, PARAMETER) for version in atom.reads):
            return False
        if any(name for name, *_ in atom.unknown):
            return False
        return not any(event in _IMPURE for event, *_ in atom.events)

    def bind_parameter(self, name: str, value: Value, place: Place, number: int) -> None:
        """Bind a pipeline's parameter."""
        self.env[name] = Version(name, value, PARAMETER, number, place, "is a parameter")

    def _begin(self, atom: Atom) -> None:
        self._atom = atom
        self._triggered = set()
        self._mark_regions()

    def _end(self) -> None:
        self._mark_regions()
        if self._atom.unit not in (SHARED, PARAMETER):
            self._carry_entangled()
        number = self._atom.number
        self._atom.writes = {name: version for name, version in self.env.items() if version.atom == number}

    def _mark_regions(self) -> None:
        self._made_in += [self._atom.unit] * (len(self.heap) - len(self._made_in))

    def _carry_entangled(self) -> None:
        """Let this step take over, and pass on, every name that shares an entangled object with one of its own."""
        while True:
            own: set[int] = set()
            for version in self.env.values():
                if version.atom == self._atom.number:
                    own |= self._reach(version) & self._entangled
            left = [
                version
                for version in self.env.values()
                if version.unit != self._atom.unit and self._is_live(version) and self._reach(version) & own
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

    def place(self, node: ast.AST) -> Place:
        line = getattr(node, "lineno", None) or getattr(self._atom.node, "lineno", None)
        column = getattr(node, "col_offset", None)
        return Place(self._atom.cell, line, None if column is None else column + 1)

    def load(self, name: str, node: ast.AST) -> Value:
        version = self.env.get(name)
        if version is None or version.bound == "no":
            known = builtin(name)
            if known is not None:
                return known
            # In a `try`, not having the name may be what the code is there for.
            if not self._raises:
                self._atom.unknown.append((name, self.place(node), self._via(), version))
            return self.heap.fresh()
        self._record(version, node)
        self._trigger(version.value, node)
        return version.value

    def _record(self, version: Version, node: ast.AST) -> None:
        self._see_stale(version, node)
        self.marks.read_by[self._atom.unit].add(version)
        if version.atom != self._atom.number and version not in self._atom.reads:
            self._atom.reads[version] = Read(version, self.place(node), self._via())

    def _see_stale(self, version: Version, node: ast.AST) -> None:
        stale = self.marks.stale.get(version)
        if stale is None:
            return
        if stale.view:
            self.marks.views.append((version, self.place(node), stale))
        else:
            self.marks.hazards |= stale.regions

    def _via(self) -> str | None:
        return self._running[-1][1] if self._running else None

    def _peek(self, name: str) -> Value | None:
        version = self.env.get(name)
        return None if version is None or version.bound == "no" else version.value

    def _trigger(self, value: Value, node: ast.AST) -> None:
        """Take it that all code which can be got at through a value may run now, wherever it is called."""
        for code in self.heap.codes(value):
            if code in self._triggered:
                continue
            self._triggered.add(code)
            for name, method in code.methods.items():
                summary = self._run(method, value, Arguments(), node, called=False)
                restless = name.startswith("__") and name not in _QUIET_DUNDERS or _is_property(method)
                if restless and value.callee is None and _changes_self(summary, method):
                    self.change(value.top, node, f"may be changed by its '{name}'")
            for base in code.bases:
                self._trigger(replace(value, code=frozenset((base,)), top=frozenset()), node)
            if not code.is_class:
                self._run(code, value, Arguments(), node, called=False)

    def store(self, name: str, value: Value, node: ast.AST) -> None:
        self.env[name] = Version(name, value, self._atom.unit, self._atom.number, self.place(node))

    def store_global(self, name: str, value: Value, node: ast.AST) -> None:
        before = self.snapshot()
        self.store(name, value, node)
        self.join([before, self.snapshot()])

    def unbind(self, name: str, node: ast.AST) -> None:
        version = self.env.get(name)
        if version is None or version.bound == "no":
            if builtin(name) is None:
                self._atom.unknown.append((name, self.place(node), self._via(), version))
            return
        if isinstance(node, ast.Name):
            self._record(version, node)
        place = self.place(node)
        self.env[name] = replace(
            version, unit=self._atom.unit, atom=self._atom.number, place=place, why="is deleted", bound="no"
        )

    def snapshot(self) -> dict[str, Version]:
        return dict(self.env)

    def restore(self, state: Any) -> None:
        self.env = dict(state)

    def join(self, states: Sequence[Any]) -> None:
        first, *rest = states
        merged = dict(first)
        names = dict.fromkeys(name for state in states for name in state)
        for name in names:
            versions = [state.get(name) for state in states]
            if all(version is versions[0] for version in versions):
                continue
            merged[name] = self._joined(name, versions)
        self.env = merged

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
            if version.atom != self._atom.number and version not in self._atom.reads:
                # Where another way was taken, the old version is still the one.
                self._see_stale(version, self._atom.node)
                self.marks.read_by[self._atom.unit].add(version)
                self._atom.reads[version] = Read(version, self.place(self._atom.node), self._via())
        own = next((version for version in there if version.atom == self._atom.number), there[0])
        value = joined(version.value for version in alive) if alive else own.value
        return Version(name, value, self._atom.unit, self._atom.number, own.place, own.why, bound)

    # -- changes

    def change(self, regions: Regions, node: ast.AST, why: str, *, buffers: bool = True) -> None:
        if not regions:
            return
        self._mark_regions()
        mates = self.heap.buffer_mates(regions) if buffers else regions
        loaded: list[tuple[Version, Regions]] = []
        for version in list(self.env.values()):
            if version.bound == "no" or not version.value.top:
                continue
            reach = self._reach(version)
            if not reach & mates:
                continue
            own = version.unit == self._atom.unit
            if own or self._atom.unit == SHARED:
                self._renew(version, node, why)
            elif not reach & regions and not self._in_one_memory(version, reach & mates, mates):
                self.marks.stale[version] = Stale(reach & mates, self._atom.unit, self.place(node), why, True)
            elif version in self.marks.read_by[self._atom.unit]:
                loaded.append((version, reach & mates))
            elif reach & mates & self._entangled and self._is_live(version):
                self._renew(version, node, why)
            else:
                self.marks.stale[version] = Stale(
                    reach & mates, self._atom.unit, self.place(node), why, False
                )
        if len(loaded) > 1:
            self.marks.hazards |= frozenset().union(*(shared for _, shared in loaded))
        for version, _ in loaded:
            self._renew(version, node, why)

    def _in_one_memory(self, version: Version, shown: Regions, mates: Regions) -> bool:
        """Say whether this step itself made all views between the changed memory and a name that it has read."""
        if version not in self.marks.read_by[self._atom.unit]:
            return False
        bridges = mates - shown
        held = [
            self._reach(other)
            for other in self.env.values()
            if other.value.top
            and other.bound != "no"
            and other.unit != self._atom.unit
            and other is not version
        ]
        foreign = {region for region in bridges if self._made_in[region] != self._atom.unit}
        return not any(reach & foreign for reach in held)

    def _renew(self, version: Version, node: ast.AST, why: str) -> None:
        """Make a new version of a name whose object has changed."""
        if version.atom != self._atom.number and version not in self._atom.reads:
            self._atom.reads[version] = Read(version, self.place(node), self._via())
        self.marks.read_by[self._atom.unit].add(version)
        if version.atom == self._atom.number:
            return
        self.env[version.name] = replace(
            version, unit=self._atom.unit, atom=self._atom.number, place=self.place(node), why=why
        )

    # -- events

    def note(self, event: Event, node: ast.AST, detail: str | None = None) -> None:
        place = self.place(node)
        if event == "star":
            self._import_star(detail or "", node)
            return
        if event in ("process", "state"):
            self._atom.setup = True
        if event in ("seeds", "draws"):
            self._use_generator(event, f"<generator {detail}>", node)
        if (event, place, detail) not in self._atom.events:
            self._atom.events.append((event, place, detail))

    def _use_generator(self, event: Event, name: str, node: ast.AST) -> None:
        """Treat a global random generator as an object that has a name: drawing changes it, a seed makes it new."""
        if event == "seeds":
            self.store(name, self.heap.fresh(), node)
        elif name in self.env:
            self._record(self.env[name], node)
            if self._atom.unit == SHARED:
                self._renew(self.env[name], node, "is drawn from")
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

    def captured(self, node: ast.AST) -> frozenset[str]:
        return frozenset()

    def run(self, code: Code, function: Value, arguments: Arguments, node: ast.AST) -> Value:
        if any(code is running for running, _ in self._running):
            return self._anything((function, *arguments.values()), known=True)
        return self._call(code, function, arguments, node)

    def _call(self, code: Code, function: Value, arguments: Arguments, node: ast.AST) -> Value:
        self._run(code, function, arguments, node, called=True)
        summary = self._summaries.of(code, self._peek)
        return apply(self, summary, code, function, arguments, node, self._global_value)

    def _run(
        self, code: Code, function: Value, arguments: Arguments, node: ast.AST, *, called: bool
    ) -> Summary:
        """Do what running a function does to globals."""
        summary = self._summaries.of(code, self._peek)
        if any(code is running for running, _ in self._running):
            return summary
        self._running.append((code, getattr(code.node, "name", "<lambda>")))
        for name in summary.reads:
            self.load(name, node)
        for event, _, detail in summary.notes:
            if called or event not in ("once", "output"):
                self.note(event, node, detail)
        if not called:
            apply(self, summary, code, function, arguments, node, self._global_value)
        for name in summary.deletes:
            before = self.snapshot()
            self.unbind(name, node)
            self.join([before, self.snapshot()])
        self._running.pop()
        return summary

    def _global_value(self, name: str, node: ast.AST) -> Value:
        version = self.env.get(name)
        return self.heap.fresh() if version is None or version.bound == "no" else version.value


def _is_property(code: Code) -> bool:
    names = [ast.unparse(decorator) for decorator in getattr(code.node, "decorator_list", [])]
    return any("property" in name or name.endswith(".setter") for name in names)


def _changes_self(summary: Summary, method: Code) -> bool:
    args = getattr(method.node, "args", None)
    plain = [*args.posonlyargs, *args.args] if isinstance(args, ast.arguments) else []
    if not plain:
        return False
    return any(
        summary.origins.get(region, ("", ""))[:2] == ("parameter", plain[0].arg) for region in summary.changes
    )


def last_mentions(trees: Iterable[tuple[int, ast.Module]]) -> dict[str, float]:
    """Return for each name the last cell that mentions it; a function that does may be called at any time."""
    last: dict[str, float] = {}
    for cell, tree in trees:
        own = {node for node in own_nodes(tree) if isinstance(node, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                seen = float(cell) if node in own else float("inf")
                last[node.id] = max(seen, last.get(node.id, -1))
    return last
