"""From versions and reads to steps: what each takes, from whom, and what it gives; and where that can't be kept."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flowc.diagnostics import Diagnostic
from flowc.notebook.analysis import Analysis
from flowc.notebook.heap import Code
from flowc.notebook.model import Notebook, diagnose
from flowc.notebook.outlets import Lives, Outlet, outlets_of, pairs
from flowc.notebook.syntax import is_cached
from flowc.notebook.versions import PARAMETER, SHARED, Atom, Place, Read, Version


@dataclass(frozen=True, slots=True)
class Edge:
    """Why a step needs another: a name, where it was defined or changed last, where it is read.

    `port` is the producer's. A control edge (`name` is None) orders two steps without data; `why` says what both
    touch.
    """

    producer: str
    consumer: str
    name: str | None
    why: str
    defined: Place
    read: Place
    via: str | None = None
    port: str = ""


@dataclass(slots=True)
class StepFlow:
    """A step with all that runs in it and all that passes its border.

    `results` are what no step reads, `lasting` those of the `outputs` that are results of the notebook as well.
    """

    name: str
    cells: tuple[int, ...]
    running: set[int] = field(default_factory=set)
    shared: dict[int, set[int]] = field(default_factory=dict)
    inputs: dict[Version, Read] = field(default_factory=dict)
    parameters: dict[str, Read] = field(default_factory=dict)
    outputs: list[Outlet] = field(default_factory=list)
    results: dict[str, Version] = field(default_factory=dict)
    lasting: list[Version] = field(default_factory=list)


@dataclass(slots=True)
class Steps:
    """All steps in the notebook's order, the edges between them, and what is wrong."""

    flows: dict[str, StepFlow]
    edges: list[Edge]
    problems: list[Diagnostic]
    outlets: dict[Version, Outlet]


def resolve_steps(notebook: Notebook, analysis: Analysis, *, keep_all: bool = False) -> Steps:
    """Return the steps of an analysed notebook; with `keep_all`, each keeps what it leaves at the notebook's end."""
    return _Resolution(notebook, analysis).resolve(keep_all)


class _Resolution:
    def __init__(self, notebook: Notebook, analysis: Analysis) -> None:
        self._notebook = notebook
        self._analysis = analysis
        self._atoms = {atom.number: atom for atom in analysis.atoms}
        self._problems: list[Diagnostic] = []
        self._edges: list[Edge] = []
        self._flows = {
            name: StepFlow(name, tuple(sorted(cells))) for name, cells in analysis.cells_of.items() if cells
        }
        self._by_cell: dict[int, list[Atom]] = {}
        self._written: dict[str, list[Version]] = {}
        self._setup = [atom for atom in analysis.atoms if atom.unit == SHARED and atom.setup]
        self._makers: dict[Code, Atom] = {}
        self._importable: set[Code] = set()
        self._wrapped: set[Code] = set()
        self._changed: dict[Code, Version] = {}
        self._outlets: dict[Version, Outlet] = {}

    def resolve(self, keep_all: bool) -> Steps:
        self._find_makers()
        for atom in self._analysis.atoms:
            self._by_cell.setdefault(atom.cell, []).append(atom)
            for name, version in atom.writes.items():
                self._written.setdefault(name, []).append(version)
                callee = version.value.callee
                if callee and version.unit in self._flows and self._leaves_by_name(version):
                    self._changed[callee] = version
        for flow in self._flows.values():
            self._gather(flow)
        self._let_leave()
        for flow in self._flows.values():
            self._load_mates(flow)
            self._connect(flow)
        self._add_results(keep_all)
        self._order_files()
        self._check_caches()
        return Steps(self._flows, self._edges, self._problems, self._outlets)

    def _find_makers(self) -> None:
        for atom in self._analysis.atoms:
            if atom.unit != SHARED:
                continue
            for version in atom.writes.values():
                made = [code for code in version.value.code if isinstance(code.node, ast.Call)]
                if version.value.callee is not None:
                    made.append(version.value.callee)
                for code in made:
                    self._makers.setdefault(code, atom)
                    if getattr(code.node, "name", version.name) == version.name:
                        self._importable.add(code)
                self._find_wrapped(atom, version)

    def _find_wrapped(self, atom: Atom, version: Version) -> None:
        """Find the functions that a shared statement defines and wraps by decorators: they travel by value."""
        written = set(ast.walk(atom.node))
        for code in self._analysis.heap.codes(version.value):
            if code.node in written and not code.is_class:
                self._makers.setdefault(code, atom)
                self._wrapped.add(code)

    # -- what runs in a step, and what that reads

    def _gather(self, flow: StepFlow) -> None:
        own = [atom for cell in flow.cells for atom in self._by_cell.get(cell, ())]
        self._run_in(flow, [*own, *self._setup_of(flow)])

    def _run_in(self, flow: StepFlow, atoms: Iterable[Atom]) -> None:
        """Let statements run in a step, with all shared ones that they need."""
        todo = list(atoms)
        while todo:
            atom = todo.pop()
            if atom.number in flow.running:
                continue
            flow.running.add(atom.number)
            if atom.unit == SHARED and atom.cell not in flow.cells:
                flow.shared.setdefault(atom.cell, set()).add(atom.position)
            for read in list(atom.reads.values()):
                todo += self._take(flow, read)

    def _setup_of(self, flow: StepFlow) -> list[Atom]:
        """Return the shared statements that set up the process, which each later step needs."""
        last = flow.cells[-1]
        return [atom for atom in self._setup if atom.cell not in flow.cells and atom.cell < last]

    def _take(self, flow: StepFlow, read: Read) -> Iterator[Atom]:
        """Note what a read needs; yield the statements that must then run in this step as well."""
        version = read.version
        if version.unit == flow.name:
            return
        if version.unit == SHARED:
            yield self._atoms[version.atom]
        elif version.unit == PARAMETER:
            flow.parameters.setdefault(version.name, read)
            yield self._atoms[version.atom]
        elif version.bound != "no":
            known = flow.inputs.get(version)
            if known is None or read.place.cell < known.place.cell:
                flow.inputs[version] = read
            yield from self._code_of(version, read)

    def _code_of(self, version: Version, read: Read) -> Iterator[Atom]:
        """Yield the definitions without which a value can't be loaded, and refuse what can't be defined again."""
        for code in self._analysis.heap.codes(version.value):
            for each in (code, *code.ancestors()):
                maker = self._makers.get(each)
                if maker is not None:
                    yield maker
            changed = self._changed.get(code)
            if changed is not None and changed.name != version.name:
                self._changed_definition(changed, read)
            if code in self._importable:
                continue
            by_value = (
                code.nested or code in self._wrapped or isinstance(code.node, ast.Lambda | ast.GeneratorExp)
            )
            if code.is_class or not by_value:
                self._made_inside(version, read, code)
            elif (name := self._unstable_global(code)) is not None:
                self._made_inside(version, read, code, name)

    def _unstable_global(self, code: Code) -> str | None:
        """Return a global of a function that travels by value which other code may set: it would not see that."""
        walker = self._analysis.walker
        summary = walker.summary_of(code)
        for name in (*summary.reads, *summary.binds):
            versions = self._written.get(name, ())
            if (
                name in summary.binds
                or any(version.unit != SHARED for version in versions)
                or len(versions) > 1
            ):
                return name
        return None

    def _leaves_by_name(self, version: Version) -> bool:
        """Say whether a function or class was changed and may be pickled by its name, without what it holds.

        A wrapper has the name of what it wraps (functools.wraps).
        """
        if version.value.callee is None or version.why == "is defined":
            return False
        codes = self._analysis.heap.codes(version.value)
        named = any(not code.nested and getattr(code.node, "name", "") == version.name for code in codes)
        return named or version.value.callee in self._importable

    # -- edges

    def _connect(self, flow: StepFlow) -> None:
        for version, read in flow.inputs.items():
            port = self._outlets[version].port
            self._edges.append(
                Edge(
                    version.unit,
                    flow.name,
                    version.name,
                    version.why,
                    version.place,
                    read.place,
                    read.via,
                    port,
                )
            )
            if version.value.stuck:
                self._stuck(read, flow)
            if self._leaves_by_name(version):
                self._changed_definition(version, read)

    def _add_results(self, keep_all: bool) -> None:
        """Let steps that nobody reads from keep what they leave at the end: it is what the notebook is for.

        With `keep_all`, all steps do; of what others read anyway, they note what lasts to the end.
        """
        consumed = set() if keep_all else {edge.producer for edge in self._edges if edge.name}
        for name, version in self._analysis.env.items():
            flow = self._flows.get(version.unit)
            value = version.value
            if flow is None or flow.name in consumed or name.startswith(("_", "<")) or version.bound == "no":
                continue
            if version in self._outlets:
                flow.lasting.append(version)
                continue
            if value.callee is None and value.path is None and value.stuck is None:
                flow.results[name] = version

    def _order_files(self) -> None:
        """Order steps that may use the same files as the notebook does; paths that can't be read may be any."""
        touched: list[tuple[str, str, str | None, Place]] = []
        known = {(edge.producer, edge.consumer) for edge in self._edges}
        for atom in self._analysis.atoms:
            if atom.unit not in self._flows:
                continue
            for event, place, path in atom.events:
                if event not in ("reads", "writes"):
                    continue
                for other, before, earlier, where in touched:
                    clash = "writes" in (event, before) and (
                        path is None or earlier is None or path == earlier
                    )
                    if not clash or other == atom.unit or (other, atom.unit) in known:
                        continue
                    known.add((other, atom.unit))
                    what = path or earlier or "files"
                    self._edges.append(Edge(other, atom.unit, None, f"both use {what}", where, place))
                touched.append((atom.unit, event, path, place))

    # -- names that travel together

    def _let_leave(self) -> None:
        """Say for each version that another step reads when it leaves its own, and with which others."""
        lives = Lives(self._analysis)
        leaving: dict[str, dict[Version, Read]] = {}
        for flow in self._flows.values():
            for version, read in flow.inputs.items():
                leaving.setdefault(version.unit, {}).setdefault(version, read)
        for name, reads in leaving.items():
            versions = sorted(reads, key=lambda version: (version.name, version.atom))
            shared: dict[Version, set[Version]] = {version: set() for version in versions}
            for one, other in pairs(versions, lives):
                if self._together(one, other):
                    shared[one].add(other)
                    shared[other].add(one)
            flow = self._flows[name]
            flow.outputs = outlets_of(versions, flow.cells, lives, shared)
            for outlet in flow.outputs:
                self._outlets.update(dict.fromkeys(outlet.versions, outlet))
                late = [version for version in outlet.versions if outlet.is_late(lives.made(version))]
                if late:
                    self._made_too_late(outlet, reads, late[0])

    def _load_mates(self, flow: StepFlow) -> None:
        """Let a step that takes one of several names in a pickle define what loading the others needs."""
        for version, read in list(flow.inputs.items()):
            for mate in self._outlets[version].versions:
                if mate is not version:
                    self._run_in(flow, self._code_of(mate, read))

    def _together(self, one: Version, other: Version) -> bool:
        """Say whether two versions of a step share objects that must stay one object in whoever takes both."""
        a, b = one.value, other.value
        if not a.top or not b.top:
            return False
        heap = self._analysis.heap
        entangled = self._analysis.entangled
        if entangled and heap.buffer_mates(entangled & heap.reach(a.top)) & entangled & heap.reach(b.top):
            return True
        both_read = any(one in reader.inputs and other in reader.inputs for reader in self._flows.values())
        if not both_read or not heap.reach(a.top) & heap.reach(b.top):
            return False
        compared = any(event == "identity" for atom in self._analysis.atoms for event, *_ in atom.events)
        return compared or (a.exact and b.exact and bool(a.top & b.top))

    def _check_caches(self) -> None:
        """Refuse functions with a cache that two steps would fill, each its own, with different things."""
        for code, maker in self._makers.items():
            users = [flow.name for flow in self._flows.values() if maker.number in flow.running]
            if len(users) < 2 or not is_cached(code):
                continue
            why = self._seen_in_cache(code)
            if why is not None:
                line = maker.node.lineno
                self._say(
                    "FC503",
                    f"'{getattr(code.node, 'name', 'a function')}' remembers what it gave, and {why}: "
                    f"steps '{users[0]}' and '{users[1]}' would not remember the same",
                    Place(maker.cell, line, maker.node.col_offset + 1),
                    "call it in one step, or give it what it reads as an argument",
                )

    def _seen_in_cache(self, code: Code) -> str | None:
        """Say why it can be seen whether a function with a cache was called before, or None."""
        summary = self._analysis.walker.summary_of(code)
        events = {event for atom in self._analysis.atoms for event, *_ in atom.events}
        for name in summary.reads:
            if self._is_set_again(name):
                return f"reads '{name}', which changes"
        if "writes" in events and any(event == "reads" for event, *_ in summary.notes):
            return "reads files, which are written too"
        makes = not summary.result.top <= summary.origins.keys()
        return "objects are compared by identity" if makes and "identity" in events else None

    def _is_set_again(self, name: str) -> bool:
        versions = self._written.get(name, ())
        return len(versions) > 1 or any(version.unit in self._flows for version in versions)

    # -- what is wrong

    def _say(
        self, code: str, message: str, place: Place, hint: str | None, *related: tuple[str, Place]
    ) -> None:
        others = tuple((text, self._notebook.place(at.cell, at.line, at.column)) for text, at in related)
        source = self._notebook.place(place.cell, place.line, place.column)
        problem = diagnose(code, message, source, hint=hint, related=others)
        if problem not in self._problems:
            self._problems.append(problem)

    def _made_too_late(self, outlet: Outlet, reads: dict[Version, Read], late: Version) -> None:
        first = min(outlet.versions, key=lambda version: reads[version].place.cell)
        read = reads[first]
        self._say(
            "FC202",
            f"'{first.name}' is read before step '{late.unit}' gives its object to '{late.name}' too: apart, they "
            "would be two objects",
            read.place,
            f"put cell {late.place.cell} in a step of its own",
            (f"'{first.name}' {first.why} here", first.place),
            (f"'{late.name}' {late.why} here", late.place),
        )

    def _stuck(self, read: Read, flow: StepFlow) -> None:
        version = read.version
        what = version.value.stuck or ""
        code = "FC500" if "generator" in what or "iterator" in what else "FC501"
        hint = "make a list of it" if code == "FC500" else "make it where it is used, or in a shared cell"
        message = f"'{version.name}' is {what}: it can't go from step '{version.unit}' to step '{flow.name}'"
        self._say(code, message, version.place, hint, ("read here", read.place))

    def _made_inside(self, version: Version, read: Read, code: Code, name: str | None = None) -> None:
        what = getattr(code.node, "name", "a lambda")
        reason = (
            f"it reads '{name}', which other code sets"
            if name
            else f"it is made from data of '{version.unit}'"
        )
        self._say(
            "FC502",
            f"'{version.name}' needs '{what}', which can't leave step '{version.unit}': {reason}",
            version.place,
            "define it in a cell of its own from imports and constants, and pass the data as arguments",
            ("needed here", read.place),
        )

    def _changed_definition(self, version: Version, read: Read) -> None:
        self._say(
            "FC503",
            f"'{version.name}' is changed in step '{version.unit}', and later steps would not see that",
            version.place,
            "keep the state in a variable or an instance",
            ("needed here", read.place),
        )
