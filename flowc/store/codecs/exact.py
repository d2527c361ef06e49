"""Whether JSON can give a value back as it went in: by type as well as by value, and with the same identities."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel


def plain(value: Any) -> bool:
    """Say whether JSON alone gives a value back exactly, with no type to guide it."""
    kind = type(value)
    if kind is dict:
        return all(type(key) is str and plain(item) for key, item in value.items())
    if kind is list:
        return all(map(plain, value))
    return value is None or kind in (str, int, float, bool)


def twice(value: Any) -> bool:
    """Say whether an object that can change stands in a value more than once: JSON would make two of it."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        part = pending.pop()
        inner = _inner(part)
        if inner is None:
            continue
        if id(part) in seen and type(part) not in (tuple, frozenset):
            return True
        if id(part) not in seen:
            seen.add(id(part))
            pending += inner
    return False


def _inner(part: Any) -> Iterable[Any] | None:
    """Return what a value holds; None for one that holds nothing."""
    match part:
        case dict():
            return part.values()
        case list() | tuple() | set() | frozenset():
            return part
    return None


def same(one: Any, other: Any) -> bool:
    """Say whether two values are equal and of the same types, all the way down; NaN equals NaN here."""
    if type(one) is not type(other):
        return False
    match one:
        case float():
            return bool(one == other) or (math.isnan(one) and math.isnan(other))
        case datetime.datetime() | datetime.time():
            return _same_time(one, other)
        case dict():
            return _same_items(one.items(), other.items())
        case list() | tuple():
            return _same_items(one, other)
        case set() | frozenset():
            return {(type(item), item) for item in one} == {(type(item), item) for item in other}
        case BaseModel():
            return same(_state(one), _state(other))
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other)


def _same_items(one: Iterable[Any], other: Iterable[Any]) -> bool:
    ours, theirs = list(one), list(other)
    return len(ours) == len(theirs) and all(map(same, ours, theirs))


def _same_time(one: Any, other: Any) -> bool:
    # A fixed offset comes back as a fixed offset; a time zone with its rules would not.
    fixed = one.tzinfo is None or isinstance(one.tzinfo, datetime.timezone | type(other.tzinfo))
    return bool(one == other) and one.utcoffset() == other.utcoffset() and one.fold == other.fold and fixed


def _state(model: BaseModel) -> list[Any]:
    return [vars(model), model.__pydantic_extra__, model.__pydantic_private__]
