"""One thing that code may set for a whole process: how to note it, and how to put it back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

State = dict[Any, Any] | list[Any]
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Aspect:
    """Settings of the process, or of a library, `module`, which is there once it is imported."""

    module: str | None
    note: Callable[[], State]
    restore: Callable[[State], None]


def merged(noted: State, before: State, after: State) -> State:
    """Return what was noted with the changes between two later states."""
    if same(before, after):
        return noted
    if isinstance(noted, list):
        assert isinstance(before, list)
        assert isinstance(after, list)
        return [*(item for item in after if item not in before), *noted]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    changed = {key: value for key, value in after.items() if not same(before.get(key, _ABSENT), value)}
    return {**{key: value for key, value in noted.items() if key in after or key not in before}, **changed}


def same(one: Any, other: Any) -> bool:
    """Say whether two states are the same; not where they can't tell, as arrays can't."""
    try:
        return bool(one == other)
    except ValueError:
        return False
