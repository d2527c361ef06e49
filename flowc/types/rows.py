"""How a component says what it does to a table's columns: `Dataset[T]` in, `Dataset[Add[T, Hour]]` out.

To a type checker each of them is `Any` as well, so that a table made this way may go where a table of a class with
these columns is wanted: which columns there are is flowc's to check, and it does.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

_Row = TypeVar("_Row")
_Names = TypeVar("_Names")
_To = TypeVar("_To")


class Add(Any, Generic[_Row, _Names]):  # type: ignore[misc]
    """The columns of a row, and those of another: `Add[T, Hour]`. One that is there already is replaced."""


class Drop(Any, Generic[_Row, _Names]):  # type: ignore[misc]
    """The columns of a row without some: `Drop[T, Literal["a", "b"]]`."""


class Select(Any, Generic[_Row, _Names]):  # type: ignore[misc]
    """Some of the columns of a row: `Select[T, Literal["a", "b"]]`."""


class Rename(Any, Generic[_Row, _Names, _To]):  # type: ignore[misc]
    """The columns of a row under other names: `Rename[T, Literal["a", "b"], Literal["x", "y"]]`, a to x, b to y."""
