"""What the dataflow of a notebook is made of: statements, versions of names, and who reads which."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal

from flowc.notebook.heap import Value
from flowc.notebook.host import Event

SHARED, PARAMETER = "<shared>", "<parameter>"
Bound = Literal["yes", "maybe", "no"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a cell; lines and columns count from 1."""

    cell: int
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Version:
    """A name as one statement left it. `unit` is a step's name, SHARED or PARAMETER; `bound` "no" is deleted."""

    name: str
    value: Value
    unit: str
    atom: int
    place: Place
    why: str = "is defined"
    bound: Bound = "yes"


@dataclass(frozen=True, slots=True)
class Read:
    """A statement's use of a version. `via` is the function through which a global is read, if it is."""

    version: Version
    place: Place
    via: str | None = None


@dataclass(slots=True)
class Atom:
    """A top-level statement of a cell: what it reads, and what else was noticed in it."""

    number: int
    cell: int
    position: int
    node: ast.stmt
    unit: str = SHARED
    reads: dict[Version, Read] = field(default_factory=dict)
    writes: dict[str, Version] = field(default_factory=dict)
    events: list[tuple[Event, Place, str | None]] = field(default_factory=list)
    unknown: list[tuple[str, Place, str | None, Version | None]] = field(default_factory=list)
    setup: bool = False
