"""When a name leaves its step, and with which others.

A step whose cells are not interleaved with another's hands over what it has at its end. Where another step reads a
name before the step's last cell, the name leaves as it was there: a copy is taken after the last of the step's cells
above the reader. So each *version* that another step reads leaves on its own, and a step may read two versions of a
name, each from its cell on. That is what one kernel shows, because

- the step goes on with its own object: what it changes later makes a new version;
- whoever reads the new version needs the step that made it. A name of the reader's own that should show the change
  as well is carried through that step (see `dataflow`), which is a circle, and refused as one;
- a change that analysis didn't see is found by the guard, which compares the copy with what the step goes on with.

Names that share an object travel in one pickle, so they leave at one time: that of the first. If one of them is made
only after that, and both are read afterwards, that is refused (FC202): they would become two objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from flowc.notebook.analysis import Analysis
from flowc.notebook.versions import Version


@dataclass(frozen=True, eq=False, slots=True)
class Outlet:
    """Versions that leave their step in one pickle, as they are after one of its cells, or (None) at its end."""

    versions: tuple[Version, ...]
    after: int | None

    @property
    def port(self) -> str:
        names = "+".join(version.name for version in self.versions)
        return names if self.after is None else f"{names}@{self.after}"

    def is_late(self, made: int) -> bool:
        """Say whether what was made in a cell is made only after this leaves."""
        return self.after is not None and made > self.after


class Lives:
    """In which cells versions are made, and read by other steps."""

    def __init__(self, analysis: Analysis) -> None:
        self._cells = {atom.number: atom.cell for atom in analysis.atoms}
        self._read: dict[Version, list[int]] = {}
        for atom in analysis.atoms:
            for version in atom.reads:
                if version.unit != atom.unit:
                    self._read.setdefault(version, []).append(atom.cell)

    def made(self, version: Version) -> int:
        """Return the cell of the statement that made a version."""
        return self._cells[version.atom]

    def leaves(self, version: Version, cells: Iterable[int]) -> int | None:
        """Return after which of its step's cells a version must leave, if that is not the last."""
        own = list(cells)
        last = max(cell for cell in own if cell < min(self._read[version]))
        return None if last == own[-1] else last

    def meet(self, one: Version, other: Version) -> bool:
        """Say whether both versions are to be had at one time, by another step that reads them."""
        made = max(self.made(one), self.made(other))
        return made < min(max(self._read[one]), max(self._read[other]))


def outlets_of(
    versions: Iterable[Version], cells: Iterable[int], lives: Lives, shared: Mapping[Version, set[Version]]
) -> list[Outlet]:
    """Return how versions leave their step; `shared` says which must be in one pickle with which."""
    own = tuple(cells)
    groups: list[list[Version]] = []
    for version in versions:
        mates = [group for group in groups if any(version in shared[other] for other in group)]
        groups = [group for group in groups if group not in mates]
        groups.append(sorted([version, *(each for group in mates for each in group)], key=lambda v: v.name))
    return [Outlet(tuple(group), _first(lives.leaves(version, own) for version in group)) for group in groups]


def _first(moments: Iterable[int | None]) -> int | None:
    return min((moment for moment in moments if moment is not None), default=None)


def pairs(versions: Iterable[Version], lives: Lives) -> Iterable[tuple[Version, Version]]:
    """Return the pairs of a step's versions that may have to be in one pickle."""
    return (pair for pair in combinations(versions, 2) if lives.meet(*pair))
