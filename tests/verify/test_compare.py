"""Which values count as the same, and where two that are not differ first."""

from __future__ import annotations

import collections
import datetime
import enum
import functools
import threading
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from flowc.notebook.compare import NotComparableError, first_difference

NAN = float("nan")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: float
    y: Any = None


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a: object) -> None:
        self.a = a


class Pair(NamedTuple):
    left: Any
    right: Any


class Ring:
    """Holds others, and they it."""

    def __init__(self, *names: str) -> None:
        self.name = names[0]
        self.next = Ring(*names[1:]) if names[1:] else self
        self.next.back = self

    back: Any = None


class Stateful:
    """Says itself what is its state."""

    def __init__(self, kept: int, dropped: int) -> None:
        self.kept = kept
        self.dropped = dropped

    def __getstate__(self) -> dict[str, int]:
        return {"kept": self.kept}


def _local(a: int, grown: int = 1) -> Any:
    class Local:
        def grow(self) -> int:
            return self.a + grown

        def __init__(self, a: int) -> None:
            self.a = a

    return Local(a)


class Lenient:
    """Claims to equal anything."""

    def __init__(self, a: int) -> None:
        self.a = a

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Remembering:
    def __init__(self) -> None:
        self.a = 1

    @functools.cached_property
    def squared(self) -> int:
        return self.a**2


def _remembering() -> Remembering:
    value = Remembering()
    assert value.squared == 1
    return value


def _in_itself() -> list[Any]:
    value: list[Any] = [1]
    value.append(value)
    return value


def _frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def _tree(seed: int) -> DecisionTreeClassifier:
    data = np.random.default_rng(0).normal(size=(60, 4))
    return DecisionTreeClassifier(random_state=seed, max_features=1).fit(data, data[:, 0] > 0)


def _adder(n: int) -> Any:
    return lambda x: x + n


SAME = [
    (NAN, float("nan")),
    ([1, "a", None, b"b"], [1, "a", None, b"b"]),
    ({"a": {1: (NAN,)}}, {"a": {1: (NAN,)}}),
    ({3, 1, 2}, {2, 1, 3}),
    (np.array([1.0, NAN]), np.array([1.0, NAN])),
    (np.array(["2020", "NaT"], "M8[D]"), np.array(["2020", "NaT"], "M8[D]")),
    (np.array([[1], "x", None], object), np.array([[1], "x", None], object)),
    (np.float32(0.1), np.float32(0.1)),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[0, 1])),
    (np.random.default_rng(1), np.random.default_rng(1)),
    (np.random.RandomState(1), np.random.RandomState(1)),
    (_frame(a=[1, 2], b=["x", NAN]), _frame(a=[1, 2], b=["x", NAN])),
    (pd.Series([1, None], dtype="Int64"), pd.Series([1, None], dtype="Int64")),
    (pd.Categorical(["a", "b"]), pd.Categorical(["a", "b"])),
    (pd.MultiIndex.from_tuples([(1, "a")]), pd.MultiIndex.from_tuples([(1, "a")])),
    (pd.date_range("2020", periods=3), pd.date_range("2020", periods=3)),
    (pa.table({"a": [1]}), pa.table({"a": [1]})),
    (Colour.RED, Colour.RED),
    (Point(1.0, [NAN]), Point(1.0, [NAN])),
    (Slotted([1]), Slotted([1])),
    (Pair(1, [NAN]), Pair(1, [NAN])),
    (Ring("a", "b", "c"), Ring("a", "b", "c")),
    (Stateful(1, 2), Stateful(1, 3)),
    (_local(1), _local(1)),
    (Path("a"), Path("a")),
    (Decimal("1.0"), Decimal("1.0")),
    (datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)),
    (collections.defaultdict(list, a=[1]), collections.defaultdict(list, a=[1])),
    (collections.deque([1, 2], 5), collections.deque([1, 2], 5)),
    (_adder(1), _adder(1)),
    (functools.partial(len, "a"), functools.partial(len, "a")),
    (_in_itself(), _in_itself()),
    (Remembering(), _remembering()),
    (_tree(0), _tree(0)),
    (LogisticRegression(C=2), LogisticRegression(C=2)),
]

DIFFERENT = [
    (1, True, ""),
    (1, 1.0, ""),
    (0.1 + 0.2, 0.3, ""),
    (0.0, -0.0, ""),
    ("a", np.str_("a"), ""),
    ([1, [2, 3]], [1, [2, 4]], "[1][1]"),
    ([1], [1, 2], ""),
    ({"a": 1}, {"a": 2}, "['a']"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, " key"),
    ({1}, {1.0}, ""),
    (np.array([1.0, 2.0]), np.array([1.0, 2.5]), "[1]"),
    (np.array([0.0]), np.array([-0.0]), "[0]"),
    (np.array([1], "i4"), np.array([1], "i8"), ""),
    (np.zeros(2), np.zeros((2, 1)), ""),
    (np.array([[1, "x"]], object), np.array([[1, "y"]], object), "[0, 1]"),
    (np.random.default_rng(1), np.random.default_rng(2), None),
    (_frame(a=[1, 2]), _frame(a=[1, 3]), "['a'][1]"),
    (_frame(a=[1]), _frame(a=[1.0]), None),
    (_frame(a=[None]), _frame(a=[NAN]).astype(object), None),
    (_frame(a=[1]), _frame(a=[1]).set_axis([7]), None),
    (_frame(a=[1], b=[2]), _frame(b=[2], a=[1]), ".columns[0]"),
    (pd.Series([1, None], dtype="Int64"), pd.Series([1, 2], dtype="Int64"), None),
    (pd.Series([1], name="a"), pd.Series([1], name="b"), ".name"),
    (pd.Categorical(["a"], ["a", "b"]), pd.Categorical(["a"], ["b", "a"]), None),
    (pa.table({"a": [1]}), pa.table({"a": [2]}), "['a'][0]"),
    (Colour.RED, Colour.BLUE, None),
    (Point(1.0), Point(2.0), ".x"),
    (Slotted([1]), Slotted([2]), ".a[0]"),
    (Pair(1, [2]), Pair(1, [3]), ".right[0]"),
    (Ring("a", "b", "c"), Ring("a", "b", "d"), ".next.next.name"),
    (Stateful(1, 2), Stateful(2, 2), ".kept"),
    (_local(1), _local(2), ".a"),
    (_local(1, 1), _local(1, 2), None),
    (Lenient(1), Lenient(2), ".a"),
    (_adder(1), _adder(2), " (n)"),
    (collections.defaultdict(list), collections.defaultdict(dict), None),
    (_tree(0), _tree(1), None),
    (LogisticRegression(C=2), LogisticRegression(C=3), ".C"),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=lambda value: type(value).__name__)
def test_same(one: Any, other: Any) -> None:
    assert first_difference(one, other) is None


@pytest.mark.parametrize(("one", "other", "place"), DIFFERENT, ids=lambda value: type(value).__name__)
def test_different(one: Any, other: Any, place: str | None) -> None:
    found = first_difference(one, other)
    assert found is not None
    if place is not None:
        assert found.place == place
    assert first_difference(other, one) is not None


@pytest.mark.parametrize("make", [threading.Lock, lambda: (n for n in [1]), lambda: type("C", (), {})])
def test_what_shows_nothing_of_its_content_is_not_called_the_same(make: Any) -> None:
    with pytest.raises(NotComparableError):
        first_difference({"a": [make()]}, {"a": [make()]})


def test_what_is_nested_too_deeply_is_not_called_the_same() -> None:
    one: list[Any] = []
    other: list[Any] = []
    for _ in range(100_000):
        one, other = [one], [other]
    with pytest.raises(NotComparableError, match="too deeply"):
        first_difference(one, other)
