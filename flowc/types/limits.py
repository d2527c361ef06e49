"""Bounds on values, by pydantic's names, and which of them follow from others."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

from pydantic import TypeAdapter

from flowc.frozen import Frozen

Bound = int | float | str  # a date, a time or a Decimal is written as text

CONSTRAINTS = (
    *("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern"),
    *("max_digits", "decimal_places", "allow_inf_nan", "strict"),
)
_LOWER = {"ge": False, "gt": True}  # whether the bound itself is outside
_UPPER = {"le": False, "lt": True}
_TEXTUAL: dict[str, Any] = {
    "decimal": Decimal,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
}


class Limits(Frozen):
    """What a value is held to beyond its type."""

    ge: Bound | None = None
    gt: Bound | None = None
    le: Bound | None = None
    lt: Bound | None = None
    multiple_of: Bound | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    max_digits: int | None = None
    decimal_places: int | None = None
    allow_inf_nan: bool | None = None
    strict: bool | None = None

    def constraints(self) -> dict[str, Any]:
        """Return the constraints that are set, by pydantic's names."""
        values = ((name, getattr(self, name)) for name in CONSTRAINTS)
        return {name: value for name, value in values if value is not None}


def written(value: Any) -> Bound:
    """Return a bound in the form that travels as JSON."""
    if isinstance(value, int | float):
        return value
    return str(value) if isinstance(value, Decimal) else str(TypeAdapter(Any).dump_python(value, mode="json"))


def meant(name: str, bound: Bound) -> Any:
    """Return the value that a bound of the scalar type `name` stands for."""
    of = _TEXTUAL.get(name)
    return bound if of is None or not isinstance(bound, str) else TypeAdapter(of).validate_python(bound)


def broken(own: Limits, own_name: str, wanted: Limits, wanted_name: str) -> str | None:
    """Return the first constraint of `wanted` that values within `own` may break, or None. Names are of scalars."""
    for name, limit in wanted.constraints().items():
        if name == "strict" and limit:
            follows = own_name == wanted_name
        elif name in _LOWER or name in _UPPER:
            follows = _bounded(own, own_name, name, meant(wanted_name, limit))
        elif name == "allow_inf_nan":
            follows = limit or own_name != "float" or own.allow_inf_nan is False or _is_finite(own)
        elif name in ("max_digits", "decimal_places"):
            follows = _digits_fit(own, wanted)
        else:
            follows = _follows(own.constraints(), name, limit, own_name == wanted_name)
        if not follows:
            return f"{name}={limit!r}"
    return None


def _follows(own: dict[str, Any], name: str, limit: Any, same: bool) -> bool:
    have = own.get(name)
    match name:
        case "min_length":
            return limit <= 0 or (have is not None and have >= limit)
        case "max_length":
            return have is not None and have <= limit
        case "multiple_of" if isinstance(limit, int) and isinstance(have, int):
            return same and have % limit == 0
    return same and have == limit


def _bounded(own: Limits, own_name: str, name: str, limit: Any) -> bool:
    lower = name in _LOWER
    edge, outside = _edge(own, own_name, lower)
    if edge is None:
        return False
    try:
        if isinstance(limit, float) and isinstance(edge, int):
            edge = float(edge)  # an int into a float is compared when it is one
        if edge == limit:
            return outside or name in ("ge", "le")
        return bool(edge > limit if lower else edge < limit)
    except (TypeError, OverflowError):  # a time with a zone and one without; a number that no float can be
        return False


def _edge(own: Limits, own_name: str, lower: bool) -> tuple[Any, bool]:
    """Return the tightest bound on one side, and whether it is itself outside; an int's is always inside."""
    side = _LOWER if lower else _UPPER
    found = [(meant(own_name, value), side[key]) for key, value in own.constraints().items() if key in side]
    if not found:
        return None, False
    pick = max if lower else min
    edge, outside = pick(found, key=lambda pair: (pair[0], pair[1] if lower else not pair[1]))
    if own_name != "int" or (isinstance(edge, float) and not math.isfinite(edge)):
        return edge, outside
    inside = math.ceil(edge) if lower else math.floor(edge)
    if inside == edge and outside:
        inside += 1 if lower else -1
    return inside, False


def _is_finite(own: Limits) -> bool:
    edges = (_edge(own, "float", lower) for lower in (True, False))  # no NaN is within any bound
    return all(edge is not None and (math.isfinite(edge) or outside) for edge, outside in edges)


def _digits_fit(own: Limits, wanted: Limits) -> bool:
    """Say whether numbers of these digits have a place in what is wanted, before and after the point."""
    places = wanted.decimal_places
    if places is not None and (own.decimal_places is None or own.decimal_places > places):
        return False
    if wanted.max_digits is None:
        return True
    if own.max_digits is None or own.max_digits > wanted.max_digits:
        return False
    return own.max_digits - (own.decimal_places or 0) <= wanted.max_digits - (places or 0)
