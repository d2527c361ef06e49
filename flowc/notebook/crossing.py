"""What stands for notebook values while they travel between steps, where a plain value would not do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bundle:
    """Several names' values in one pickle, so that objects which they share stay one object."""

    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unbound:
    """A name that has no value at the end of its step or, if it is not `missing`, one that is not kept.

    `why` says so for people.
    """

    name: str
    why: str
    missing: bool = True
