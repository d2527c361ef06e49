"""Where to cut a notebook's work into steps: the cuts that cost least, by dynamic programming over its cells.

The cost of a cut-up is the sum over its steps of

- 1 for the step: a process has to start it, and a person has to read it;
- 1 for each value that it takes from other steps;
- (cells / 8)²: long steps are cut where little crosses, short ones are left alone;
- 6 for each change of role inside it, say from preparing to training; 1.5 where one of the roles is only hinted at;
- 3 for each heading of the first two levels inside it, 1 for each deeper one: the author saw a border there;
- 6 for each training inside it that takes nothing from the cells of the step before it: it could run beside them.

Of cut-ups that cost the same, the one with the fewest steps is taken, then the one that is cut latest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from flowc.notebook.suggest.parts import Value
from flowc.notebook.suggest.roles import STRONG, Hint

_STEP: Final = 1.0
_VALUE: Final = 1.0
_COMFORTABLE: Final = 8
_ROLE: Final = 6.0
_WEAK_ROLE: Final = 1.5
_HEADING: Final = {1: 3.0, 2: 3.0}
_DEEP_HEADING: Final = 1.0
_PARALLEL: Final = 6.0
# A step of more cells costs more than any cuts save; looking no further keeps the time linear in the cells.
_LONGEST: Final = 150


@dataclass(frozen=True, slots=True)
class WorkCell:
    """A cell of work as the cost sees it. `heading` is the level of the highest heading right above it.

    `step` is the name that its own tags give it; `joined` says that it must be in one step with the cell before it.
    """

    index: int
    taken: frozenset[Value]
    role: Hint | None
    heading: int | None = None
    step: str | None = None
    joined: bool = False


def cheapest_cuts(cells: Sequence[WorkCell]) -> list[list[WorkCell]] | None:
    """Return the steps that cost least, as lists of their cells; None where tags and joints leave no way."""
    best: list[tuple[float, int, int] | None] = [None] * (len(cells) + 1)
    best[0] = (0.0, 0, 0)
    for start in range(len(cells)):
        before = best[start]
        if before is None or (cells[start].joined and start):
            continue
        for end, cost in _costs(cells, start):
            candidate = (round(before[0] + cost, 6), before[1] + 1, -start)
            known = best[end]
            if known is None or candidate < known:
                best[end] = candidate
    steps: list[list[WorkCell]] = []
    end = len(cells)
    while end:
        found = best[end]
        if found is None:
            return None
        steps.insert(0, list(cells[-found[2] : end]))
        end = -found[2]
    return steps


def _costs(cells: Sequence[WorkCell], start: int) -> Iterator[tuple[int, float]]:
    """Yield for each possible end of a step that begins at `start` what the step costs."""
    inside: set[int] = set()
    taken: set[str] = set()
    joints = 0.0
    step: str | None = None
    role: Hint | None = None
    for end in range(start, len(cells)):
        cell = cells[end]
        if cell.step and inside and cell.step != step:
            return  # another step begins here, and who tagged its first cell meant it to be the first
        if end - start >= _LONGEST and not cell.joined:
            return
        if not inside:
            step = cell.step
        else:
            joints += _joint(cell, role, inside)
        taken |= {value.name for value in cell.taken if value.cell not in inside}
        inside.add(cell.index)
        role = _later(role, cell.role)
        size = (len(inside) / _COMFORTABLE) ** 2
        yield end + 1, _STEP + _VALUE * len(taken) + size + joints


def _joint(cell: WorkCell, role: Hint | None, inside: set[int]) -> float:
    """Return what it costs to have a cell in one step with those before it."""
    cost = _HEADING.get(cell.heading, _DEEP_HEADING) if cell.heading else 0.0
    if role is None or cell.role is None:
        return cost
    both_strong = role.strength == cell.role.strength == STRONG
    if role.role != cell.role.role:
        return cost + (_ROLE if both_strong else _WEAK_ROLE)
    alone = all(value.cell not in inside for value in cell.taken)
    if cell.role.role == "train" and both_strong and alone:
        return cost + _PARALLEL
    return cost


def _later(role: Hint | None, following: Hint | None) -> Hint | None:
    """Return the role that the next cell's is compared with: a hint doesn't hide what came before it."""
    if following is None or (role is not None and role.strength > following.strength):
        return role
    return following
