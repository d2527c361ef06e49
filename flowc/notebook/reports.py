"""What the analysis has to say about names and hidden state, as diagnostics."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flowc.diagnostics import Diagnostic, Severity
from flowc.errors import did_you_mean
from flowc.notebook.analysis import Analysis, TaggedCell
from flowc.notebook.generators import CARRIED, generator_name, is_generator
from flowc.notebook.model import Notebook, diagnose
from flowc.notebook.steps import Edge, Steps
from flowc.notebook.versions import PARAMETER, SHARED, Atom, Place, Version

_HISTORY = frozenset(("_", "__", "___", "In", "Out", "_i", "_ih", "_oh", "get_ipython", "exit", "quit"))
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Assert)
# How the reason of a version begins that is there because an object was changed for sure.
_DONE = ("is changed", "is consumed", "has ")
_SAME_STEP = "use it where it is made, or put both cells in one step"


def report(notebook: Notebook, cells: list[TaggedCell], analysis: Analysis, steps: Steps) -> list[Diagnostic]:
    """Return all diagnostics about an analysed notebook."""
    reporter = _Reporter(notebook, cells, analysis, steps)
    return list(
        dict.fromkeys(
            (
                *reporter.unknown_names(),
                *reporter.events(),
                *reporter.repeats(),
                *reporter.views(),
                *reporter.joined(),
                *steps.problems,
            )
        )
    ) + list(circles(notebook, steps.edges))


class _Reporter:
    def __init__(self, notebook: Notebook, cells: list[TaggedCell], analysis: Analysis, steps: Steps) -> None:
        self._notebook = notebook
        self._analysis = analysis
        self._steps = steps
        self._declared = {
            cell.index
            for cell in cells
            if any(name.isidentifier() for name in (*cell.tagged.reads, *cell.tagged.defines))
        }
        self._carries = any(cell.tagged.carries for cell in cells)
        self._uses = _uses_of_generators(analysis)

    def _say(
        self,
        code: str,
        message: str,
        place: Place,
        hint: str | None = None,
        severity: Severity = "error",
        related: tuple[tuple[str, Place], ...] = (),
    ) -> Diagnostic:
        others = tuple((text, self._notebook.place(at.cell, at.line, at.column)) for text, at in related)
        source = self._notebook.place(place.cell, place.line, place.column)
        return diagnose(code, message, source, severity=severity, hint=hint, related=others)

    def unknown_names(self) -> Iterator[Diagnostic]:
        for atom in self._analysis.atoms:
            if self._runs(atom):
                for name, place, via, version in atom.unknown:
                    if not is_generator(name):
                        yield self._unknown(atom, name, place, via, version)

    def _runs(self, atom: Atom) -> bool:
        return atom.unit in self._steps.flows or any(
            atom.position in flow.shared.get(atom.cell, ()) for flow in self._steps.flows.values()
        )

    def _unknown(
        self, atom: Atom, name: str, place: Place, via: str | None, version: Version | None
    ) -> Diagnostic:
        severity: Severity = "error" if isinstance(atom.node, _SIMPLE) and via is None else "warning"
        through = f" by '{via}', which may be called here," if via else ""
        if name in _HISTORY and version is None:
            hint = "give the result a name and use that"
            return self._say(
                "FC016", f"'{name}' is there only in an interactive session", place, hint, severity
            )
        if version is not None:
            message = f"'{name}' is read{through} after it was deleted in cell {version.place.cell}"
            related = (("deleted here", version.place),)
            return self._say("FC201", message, place, "don't delete what is read later", severity, related)
        later = self._analysis.env.get(name)
        if later is not None and later.place.cell >= place.cell:
            message = f"'{name}' is read{through} before it is defined in cell {later.place.cell}"
            related = (("defined here, further down", later.place),)
            hint = "move the definition up: cells count from top to bottom"
            return self._say("FC200", message, place, hint, severity, related)
        close = did_you_mean(name, self._analysis.env)
        return self._say("FC200", f"'{name}' is not defined by any cell above", place, close, severity)

    def events(self) -> Iterator[Diagnostic]:
        for atom in self._analysis.atoms:
            for event, place, detail in atom.events:
                if event == "dynamic" and atom.cell not in self._declared:
                    hint = "say what it does with the tags 'reads:NAME' and 'defines:NAME'"
                    yield self._say("FC204", f"'{detail}' uses names that can't be seen here", place, hint)
                elif event == "star":
                    hint = "import the names that are used"
                    yield self._say(
                        "FC205", f"what 'from {detail} import *' defines can't be seen", place, hint
                    )
                elif event == "waits":
                    asks = detail is not None and detail.rpartition(".")[2] == "input"
                    hint = "make it a parameter" if asks else "take it away"
                    yield self._say(
                        "FC210", f"'{detail}' waits for a person, and a step has none", place, hint
                    )
                elif event in ("process", "state") and atom.unit not in (SHARED, PARAMETER):
                    yield from self._process_state(atom, place, detail)
        for generator, uses in self._uses.items():
            yield from self._draws(generator, uses)

    def _process_state(self, atom: Atom, place: Place, detail: str | None) -> Iterator[Diagnostic]:
        later = {other.unit for other in self._analysis.atoms if other.number > atom.number} - {atom.unit}
        for generator in [
            each for event, at, each in atom.events if event == "seeds" and at == place and each
        ]:
            seeding = {use.unit for use in self._uses[generator] if use.seeds}
            taking = {
                name
                for name, flow in self._steps.flows.items()
                if any(version.name == generator_name(generator) for version in flow.inputs)
            }
            if self._carries or later - {SHARED, PARAMETER} <= seeding | taking:
                return
        if not later:
            return
        hint = "set it in a shared cell, which runs in every step"
        message = f"'{detail}' is set for the process of step '{atom.unit}': other steps won't see it"
        yield self._say("FC208", message, place, hint, "warning")

    def _draws(self, generator: str, uses: list[_Use]) -> Iterator[Diagnostic]:
        """Tell of each step that draws from a generator which has not the state that one kernel would give it."""
        told: set[str] = set()
        for position, use in enumerate(uses):
            if use.seeds or use.unit in told:
                continue
            before = uses[:position]
            source = self._taken(use, generator)
            if any(each.seeds and each.unit == use.unit for each in before):
                continue
            if source is not None:
                others = [each for each in before if each.unit != source.unit and each.atom > source.atom]
                others += [each for each in uses[position:] if each.unit == source.unit]
            else:
                others = before
            first = next((each for each in others if each.unit != use.unit), None)
            if first is not None:
                told.add(use.unit)
                yield self._drawn_twice(generator, first.place, use.place)

    def _taken(self, use: _Use, generator: str) -> Version | None:
        """Return the state that a step takes a generator in from another, where it uses it."""
        flow = self._steps.flows.get(use.unit)
        if flow is None or generator not in CARRIED:
            return None
        name = generator_name(generator)
        found = [version for version in flow.inputs if version.name == name and version.atom < use.atom]
        return max(found, key=lambda version: version.atom, default=None)

    def _drawn_twice(self, generator: str, first: Place, place: Place) -> Diagnostic:
        message = (
            f"two steps use the global random generator of {generator}: in one kernel the second would go on "
            "where the first stopped, here it starts from the seed in shared code, or from none"
        )
        related = (("also used here", first),)
        if self._carries and generator not in CARRIED:
            # TensorFlow counts the operations that were seeded, where nobody can set it.
            message = (
                f"'rng:carry' can't carry the global random generator of {generator}, which two steps use"
            )
            hint = "seed it in each step, or make a tf.random.Generator and pass it on"
            return self._say("FC209", message, place, hint, related=related)
        hint = "seed it in each step, make a generator and pass it on, or tag a cell 'rng:carry'"
        return self._say("FC209", message, place, hint, "warning", related)

    def repeats(self) -> Iterator[Diagnostic]:
        """Tell once of what is done as often as time allows and leaves something behind that is read later."""
        for atom in self._analysis.atoms:
            place = next((place for event, place, _ in atom.events if event == "repeats"), None)
            name = self._left_behind(atom) if place is not None else None
            if place is not None and name is not None:
                message = (
                    f"how often '%timeit' runs its statement depends on how fast it is, and it changes {name}"
                )
                hint = "say how often with '-n', or measure a copy"
                yield self._say("FC212", message, place, hint, "warning")
                return

    def _left_behind(self, atom: Atom) -> str | None:
        later = [other for other in self._analysis.atoms if other.number > atom.number]
        for name, version in atom.writes.items():
            if version.why.startswith(_DONE) and any(
                version in other.reads or name in other.writes for other in later
            ):
                return f"'{name}'"
        drawn = {detail for event, _, detail in atom.events if event == "draws"}
        for other in later:
            for event, _, detail in other.events:
                if event == "seeds":
                    drawn.discard(detail)
                if event == "draws" and detail in drawn:
                    return f"the global random generator of {detail}"
        return None

    def views(self) -> Iterator[Diagnostic]:
        for version, place, stale in self._analysis.walker.marks.views:
            message = (
                f"'{version.name}' may be a view of what step '{stale.unit}' changes: as a pipeline it would not "
                "show the change"
            )
            related = (("the change", stale.place), (f"'{version.name}' {version.why} here", version.place))
            yield self._say(
                "FC207", message, place, "make it with .copy(), or " + _SAME_STEP, related=related
            )

    def joined(self) -> Iterator[Diagnostic]:
        for cell, step in dict.fromkeys(self._analysis.joined_cells):
            if step:
                message = f"cell {cell} does more than import and define, so it runs once, in step '{step}'"
                yield self._say("FC026", message, Place(cell), "tag it as a step of its own", "note")


@dataclass(frozen=True, slots=True)
class _Use:
    """A step's use of a global random generator."""

    unit: str
    atom: int
    place: Place
    seeds: bool


def _uses_of_generators(analysis: Analysis) -> dict[str, list[_Use]]:
    uses: dict[str, list[_Use]] = {}
    for atom in analysis.atoms:
        for event, place, generator in atom.events:
            if event in ("draws", "seeds") and generator and atom.unit != SHARED:
                uses.setdefault(generator, []).append(_Use(atom.unit, atom.number, place, event == "seeds"))
    return uses


def circles(notebook: Notebook, edges: Iterable[Edge]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for a circle of steps, with the edges that close it."""
    needs: dict[str, dict[str, Edge]] = {}
    for edge in edges:
        needs.setdefault(edge.consumer, {}).setdefault(edge.producer, edge)
    circle = _circle(needs)
    if not circle:
        return
    related = tuple(
        (
            f"'{edge.consumer}' needs "
            + (f"'{edge.name}' of " if edge.name else "to follow ")
            + f"'{edge.producer}'",
            notebook.place(edge.read.cell, edge.read.line, edge.read.column),
        )
        for edge in circle
    )
    names = " → ".join(f"'{edge.producer}'" for edge in reversed(circle))
    message = f"steps need each other in a circle: {names} → '{circle[-1].producer}'"
    hint = "split a step so that its cells need not run before and after another's"
    yield diagnose("FC203", message, related[0][1], hint=hint, related=related)


def _circle(needs: dict[str, dict[str, Edge]]) -> list[Edge]:
    """Return the edges of one circle, each leading from a step to one that it needs; empty where there is none."""
    done: set[str] = set()
    for start in needs:
        path: list[Edge] = []
        trail = [(start, iter(needs.get(start, {}).items()))]
        on_path = {start}
        while trail:
            step, following = trail[-1]
            nxt = next(((name, edge) for name, edge in following if name not in done), None)
            if nxt is None:
                done.add(step)
                on_path.discard(step)
                trail.pop()
                if path:
                    path.pop()
                continue
            name, edge = nxt
            path.append(edge)
            if name in on_path:
                first = next(index for index, each in enumerate(path) if each.consumer == name)
                return path[first:]
            on_path.add(name)
            trail.append((name, iter(needs.get(name, {}).items())))
    return []
