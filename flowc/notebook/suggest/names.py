"""What to call a step: the heading above it, else what it makes, else its role."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Final

from flowc.ir import Role
from flowc.notebook.model import Notebook

_HEADING: Final = re.compile(r"^(?P<marks>#{1,6})[ \t]+(?P<text>.+?)[ \t]*#*$", re.MULTILINE)
_FENCE: Final = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"!?\[(?P<text>[^\]]*)\]\([^)]*\)|<[^>]*>")
_NUMBER: Final = re.compile(
    r"^((step|part|section|chapter)\s*)?(\d+|[ivx]+(?=[.):]))[\d.]*[\s.):-]*", re.IGNORECASE
)
_SMALL: Final = re.compile(
    "a|an|the|of|and|or|with|our|your|to|for|in|on|by|we|is|are|it|its|from|this|that|let|us"
)
_MOST_WORDS: Final = 3


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a markdown cell."""

    level: int
    text: str


def headings(notebook: Notebook, work: Collection[int]) -> dict[int, Heading]:
    """Return for each work cell the heading between it and the work above: the last one, with the highest level.

    Imports and functions may stand between, but the notebook's title does not reach over them.
    """
    found: dict[int, Heading] = {}
    waiting: list[Heading] = []
    for cell in notebook.cells:
        if cell.kind == "markdown":
            matches = _HEADING.finditer(_FENCE.sub("", cell.source))
            waiting += [Heading(len(match["marks"]), match["text"]) for match in matches]
        elif cell.index in work:
            if waiting:
                found[cell.index] = Heading(min(heading.level for heading in waiting), waiting[-1].text)
            waiting = []
        elif cell.kind == "code":
            waiting = [heading for heading in waiting if heading.level > 1]
    return found


def name_of_heading(text: str) -> str | None:
    """Return a heading as a step's name, such as "train-the-forest"; None where it has no word that could begin one."""
    plain = _NUMBER.sub("", _LINK.sub(lambda match: match["text"] or " ", text).strip())
    words = re.findall(r"[^\W_]+", plain.replace("'", "").replace("\u2019", "").lower())
    telling = [word for word in words if not _SMALL.fullmatch(word)] or words
    while telling and not telling[0].isidentifier():
        telling = telling[1:]
    return "-".join(telling[:_MOST_WORDS]) or None


def name_of_values(names: Iterable[str]) -> str | None:
    """Return the last of the names that a step makes for others, as a step's name."""
    telling = [name.strip("_").lower().replace("_", "-") for name in names if len(name.strip("_")) > 2]
    fit = [name for name in telling if re.fullmatch(r"[^\W\d]\w*(-\w+)*", name)]
    return fit[-1] if fit else None


def tag_of_step(name: str, role: Role | None) -> str:
    """Return the tag that puts a cell into a step."""
    if role is None:
        return f"step:{name}"
    return role if role == name else f"{role}:{name}"


def choose_name(candidates: Iterable[str | None], role: Role | None, taken: Collection[str]) -> str:
    """Return the first candidate that no step has; where all are taken, the role or "part" with a number."""
    for name in candidates:
        if name and name not in taken and not keyword.iskeyword(name):
            return name
    numbered = (f"{role or 'part'}-{number}" for number in count(1))
    return next(name for name in numbered if name not in taken)
