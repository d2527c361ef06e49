"""Which of the values that are left at a notebook's end, and that no step reads, are worth keeping: data and models.

Figures, files, functions and what holds such things are not.
"""

from __future__ import annotations

import copyreg
import enum
import types
from collections.abc import Iterable, Mapping, Set
from typing import Any

_KEPT_MODULES = frozenset(
    (
        *("numpy", "pandas", "pyarrow", "polars", "scipy", "sklearn", "keras", "torch", "xgboost", "flowc"),
        *("collections", "datetime", "decimal", "fractions", "pathlib", "uuid"),
    )
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, tuple, set, frozenset, dict)
_NEVER = (type, types.ModuleType, types.FunctionType, types.MethodType)
_DEEPEST = 50
_MOST_OBJECTS = 100_000


def is_result(value: Any, definitions: str) -> bool:
    """Say whether a value is worth keeping; `definitions` is the module of the notebook's own classes."""
    return _Look(definitions).is_result(value, 0)


class _Look:
    """One look through a value: each object once, so that those which hold each other come to an end."""

    def __init__(self, definitions: str) -> None:
        self._definitions = definitions
        self._seen: set[int] = set()

    def is_result(self, value: Any, depth: int) -> bool:
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return True
        if isinstance(value, _NEVER) or depth > _DEEPEST or len(self._seen) > _MOST_OBJECTS:
            return False
        self._seen.add(id(value))
        if isinstance(value, _CONTAINERS):
            return self._all(_items(value), depth)
        if type(value).__module__ == self._definitions:
            return isinstance(value, enum.Enum) or self._all(_state(value), depth)
        return type(value).__module__.partition(".")[0] in _KEPT_MODULES

    def _all(self, values: Iterable[Any], depth: int) -> bool:
        return all(self.is_result(each, depth + 1) for each in values)


def _items(value: list[Any] | tuple[Any, ...] | Set[Any] | Mapping[Any, Any]) -> Iterable[Any]:
    return [*value, *value.values()] if isinstance(value, Mapping) else value


def _state(value: Any) -> list[Any]:
    """Return what an instance holds, in slots or in its dictionary."""
    slots: list[str] = copyreg._slotnames(type(value))  # type: ignore[attr-defined]  # what pickle itself goes by
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in slots)]
