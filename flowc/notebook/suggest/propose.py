"""From a notebook to suggested tags, which are held to the compiler: what it refuses is joined until it compiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError
from flowc.ir import Role
from flowc.notebook.lower import Compiled, compile_cells
from flowc.notebook.model import Notebook, diagnose
from flowc.notebook.reader import read_notebook
from flowc.notebook.suggest.cuts import WorkCell, cheapest_cuts
from flowc.notebook.suggest.names import choose_name, headings, name_of_heading, name_of_values, tag_of_step
from flowc.notebook.suggest.parts import find_parts
from flowc.notebook.suggest.roles import RoleReader, strongest_of

# What is cured by having the cells in one step; so is everything that can't cross, FC5xx.
_JOINING = frozenset(("FC202", "FC203", "FC207"))
_CROSSING = "FC5"


@dataclass(frozen=True, slots=True)
class Taken:
    """A value that crosses into a step, and the step that it comes from."""

    name: str
    step: str


@dataclass(frozen=True, slots=True)
class StepProposal:
    """A suggested step: its cells, and what it takes from other steps."""

    name: str
    role: Role | None
    cells: tuple[int, ...]
    takes: tuple[Taken, ...] = ()


@dataclass(frozen=True, slots=True)
class CellProposal:
    """What is suggested for a code cell: tags to add to those that it has, and why. `step` is where it runs."""

    index: int
    id: str
    has: tuple[str, ...]
    tags: tuple[str, ...]
    why: str
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Suggested tags for a notebook, with which it compiles, and what the compiler still has to say."""

    notebook: Notebook
    cells: tuple[CellProposal, ...]
    steps: tuple[StepProposal, ...]
    diagnostics: tuple[Diagnostic, ...]

    def tags(self) -> dict[int, tuple[str, ...]]:
        """Return the tags to add, by cell."""
        return {cell.index: cell.tags for cell in self.cells if cell.tags}


def suggest_tags(path: Path, root: Path) -> Suggestion:
    """Return suggested tags for a notebook, the same for the same notebook. Cells that have a part keep it.

    Raises NotFoundError where there is no such file, CompileError where no way of cutting it into steps compiles.
    """
    return _Search(read_notebook(path, root)).suggestion()


class _Search:
    """Cuts, compiles, joins what may not be apart, and cuts again."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._parts = find_parts(notebook)
        if not self._parts.work:
            message = "no cell does any work that could be a step"
            raise CompileError([diagnose("FC022", message, Source(file=notebook.file))])
        self._headings = headings(notebook, self._parts.work)
        roles = RoleReader(self._parts.trees.values())
        self._roles = {index: roles.role_of(self._parts.trees[index].body) for index in self._parts.work}
        self._joined = self._drawing()

    def suggestion(self) -> Suggestion:
        """Return the cheapest cuts that compile. Each round joins what the compiler held against the last one."""
        problems: Sequence[Diagnostic] = ()
        accepted: Suggestion | None = None
        while cuts := cheapest_cuts(self._work_cells()):
            steps = self._named([tuple(cell.index for cell in cut) for cut in cuts])
            tagged = self._tagged(steps)
            try:
                compiled = compile_cells(tagged)
            except CompileError as error:
                problems = error.diagnostics
            else:
                problems = compiled.diagnostics
                accepted = self._described(steps, compiled)
            joints = self._joints(steps, problems)
            if not joints:
                break
            self._joined.update(joints)
        if accepted is None:
            raise CompileError(problems)
        return accepted

    def _work_cells(self) -> list[WorkCell]:
        cells = []
        for index in self._parts.work:
            heading = self._headings.get(index)
            cells.append(
                WorkCell(
                    index,
                    self._parts.taken[index],
                    self._roles[index],
                    heading.level if heading else None,
                    self._fixed_step(index),
                    index in self._joined,
                )
            )
        return cells

    def _fixed_step(self, index: int) -> str | None:
        return self._parts.fixed[index].step if index in self._parts.fixed else None

    # -- what may not be apart

    def _drawing(self) -> dict[int, str]:
        """Return the cells between two that draw from one random generator: as two steps they would differ."""
        joints: dict[int, str] = {}
        for index, drawing in self._parts.drawing.items():
            reason = f"cell {index} goes on with the random numbers of {drawing.generator} from cell {drawing.after}"
            joints.update(dict.fromkeys(self._after(drawing.after, index), reason))
        return joints

    def _joints(self, steps: Sequence[StepProposal], problems: Iterable[Diagnostic]) -> dict[int, str]:
        """Return the cells that must go with the cell before them, each with why, and that do not yet."""
        joints: dict[int, str] = {}
        for problem in problems:
            if problem.code in _JOINING or problem.code.startswith(_CROSSING):
                first, last = self._reach(steps, problem)
                reason = f"cells {first} to {last} can't be apart: {problem.code}"
                joints.update(dict.fromkeys(self._after(first, last), reason))
            elif problem.severity == "error":
                return {}
        return {index: reason for index, reason in joints.items() if index not in self._joined}

    def _after(self, first: int, last: int) -> list[int]:
        return [index for index in self._parts.work if first < index <= last]

    def _reach(self, steps: Sequence[StepProposal], problem: Diagnostic) -> tuple[int, int]:
        """Return the first and last cell that a diagnostic speaks of.

        Where they are in one step it is not said what has to come with them: the steps beside it are tried.
        """
        places = [problem.source, *(related.source for related in problem.related)]
        cells = {place.cell for place in places if place is not None and place.cell is not None}
        involved = [number for number, step in enumerate(steps) if cells.intersection(step.cells)]
        if len(involved) > 1:
            work = cells.intersection(self._parts.work)
            return min(work), max(work)
        if not involved:
            return 0, 0
        before, after = max(involved[0] - 1, 0), min(involved[0] + 1, len(steps) - 1)
        return steps[before].cells[0], steps[after].cells[-1]

    # -- names and tags

    def _named(self, cuts: Sequence[tuple[int, ...]]) -> list[StepProposal]:
        fixed = [next(filter(None, map(self._fixed_step, cells)), None) for cells in cuts]
        roles = [self._role(cells) for cells in cuts]
        alone = {role for role in roles if roles.count(role) == 1}
        taken = {tagged.step for tagged in self._parts.fixed.values() if tagged.step}
        steps = []
        for cells, step, hint in zip(cuts, fixed, roles, strict=True):
            candidates = [] if step else self._names(cells, hint, hint in alone)
            name = step or choose_name(candidates, hint, taken)
            taken.add(name)
            steps.append(StepProposal(name, hint, cells))
        return steps

    def _role(self, cells: Iterable[int]) -> Role | None:
        own = [tagged.role for index in cells if (tagged := self._parts.fixed.get(index)) and tagged.role]
        hint = strongest_of(hint for index in cells if (hint := self._roles[index]))
        return own[0] if own else hint.role if hint else None

    def _names(self, cells: tuple[int, ...], role: Role | None, alone: bool) -> list[str | None]:
        heading = self._headings.get(cells[0])
        used = {
            value.name
            for index, values in self._parts.taken.items()
            if index not in cells
            for value in values
            if value.cell in cells
        }
        made = [name for index in cells for name in self._parts.made[index]]
        for_others = [name for name in made if name in used]
        by_value = name_of_values(for_others) or name_of_values(made)
        return [
            name_of_heading(heading.text) if heading else None,
            role if alone else None,
            by_value if role in (None, "ingest", "train") else None,
            "explore" if role is None and not used else None,
        ]

    def _tagged(self, steps: Iterable[StepProposal]) -> Notebook:
        tags = self._tags(steps)
        cells = (replace(cell, tags=(*cell.tags, *tags.get(cell.index, ()))) for cell in self._notebook.cells)
        return replace(self._notebook, cells=tuple(cells))

    def _tags(self, steps: Iterable[StepProposal]) -> dict[int, tuple[str, ...]]:
        """Return the tags that are to be added to cells which have no part yet."""
        tags: dict[int, tuple[str, ...]] = dict.fromkeys(self._parts.parameters, ("parameters",))
        tags.update({index: (part,) for index, part in self._parts.shared.items()})
        tags.update(dict.fromkeys(self._parts.skipped, ("skip",)))
        for step in steps:
            known = any(map(self._fixed_step, step.cells))
            tag = f"step:{step.name}" if known else tag_of_step(step.name, step.role)
            tags.update({index: (tag,) for index in step.cells if index not in self._parts.fixed})
        return tags

    # -- why

    def _described(self, steps: Sequence[StepProposal], compiled: Compiled) -> Suggestion:
        edges = [edge for edge in compiled.edges if edge.name]
        taking = [
            replace(
                step,
                takes=tuple(
                    Taken(str(edge.name), edge.producer) for edge in edges if edge.consumer == step.name
                ),
            )
            for step in steps
        ]
        step_of = {index: step for step in taking for index in step.cells}
        tags = self._tags(steps)
        cells = tuple(
            CellProposal(
                cell.index,
                cell.id,
                cell.tags,
                tags.get(cell.index, ()),
                self._why(cell.index, step_of.get(cell.index)),
                step_of[cell.index].name if cell.index in step_of else None,
            )
            for cell in self._notebook.cells
            if cell.kind == "code"
        )
        return Suggestion(self._notebook, cells, tuple(taking), tuple(compiled.diagnostics))

    def _why(self, index: int, step: StepProposal | None) -> str:
        if index in self._parts.fixed:
            return "has a part already"
        if index in self._parts.parameters:
            given = (assigned.parameter for assigned in self._parts.parameters[index])
            return "only literals: " + ", ".join(f"{each.name} ({each.type})" for each in given)
        if index in self._parts.shared:
            return "only imports and set-up" if self._parts.shared[index] == "imports" else "only definitions"
        if index in self._parts.skipped:
            return "only measures or shows something, which is for an interactive session"
        if step is None:
            return "nothing to run" if index not in self._parts.trees else "not part of the pipeline"
        if index in self._joined:
            return self._joined[index]
        if index == step.cells[0]:
            return self._why_here(index)
        own = {value.name for value in self._parts.taken[index] if value.cell in step.cells}
        return f"goes on with {', '.join(sorted(own))}" if own else "goes on"

    def _why_here(self, index: int) -> str:
        hint, heading = self._roles[index], self._headings.get(index)
        reasons = [f"heading '{heading.text}'"] if heading else []
        if hint is not None:
            reasons.append(f"{hint.call} is for {hint.role}")
        return "; ".join(reasons) or "little crosses here"
