"""What may flow into what."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from flowc import Dataset, FileArtifact, Metrics, Model
from flowc.types.describe import describe
from flowc.types.flow import mismatch
from flowc.types.validate import python_type


class Raw(BaseModel):
    fare: float | None
    company: str
    extra: int


class Clean(BaseModel):
    fare: float
    company: str


class Wide(BaseModel):
    company: str
    extra: float


class Base(BaseModel):
    a: int


class Derived(Base):
    b: int


class Colour(enum.Enum):
    RED = 1


class Animal:
    pass


class Dog(Animal):
    pass


AtLeast1 = Annotated[int, Field(ge=1)]
AtLeast5 = Annotated[int, Field(ge=5)]
Above0 = Annotated[int, Field(gt=0)]


@pytest.mark.parametrize(
    ("produced", "wanted"),
    [
        (int, int),
        (int, float),
        (int, int | None),
        (int | None, float | None),
        (Literal["a"], str),
        (Literal["a"], Literal["a", "b"]),
        (AtLeast5, AtLeast1),
        (AtLeast1, int),
        (Above0, Annotated[int, Field(ge=0)]),
        (list[int], list[float]),
        (tuple[int, int], tuple[int, ...]),
        (dict[str, int], dict[str, float]),
        (Derived, Base),
        (Dog, Animal),
        (Model, FileArtifact),
        (Dataset[Raw], Dataset),
        (Dataset, Dataset[Raw]),
        (Dataset[Clean], Dataset[Clean]),
        (pd.DataFrame, Dataset),
        (Dataset[Raw], pa.Table),
        (pa.Table, pd.DataFrame),
        (Any, int),
        (int, Any),
    ],
)
def test_accepted(produced: Any, wanted: Any) -> None:
    assert mismatch(describe(produced), describe(wanted)) is None


@pytest.mark.parametrize(
    ("produced", "wanted", "reason"),
    [
        (float, int, "float is not a int"),
        (str, int, "str is not a int"),
        (bool, float, "bool is not a float"),
        (int | None, int, "None is not a int"),
        (Literal["a", "c"], Literal["a", "b"], "'c' is not among Literal['a', 'b']"),
        (Literal[1], str, "int is not a str"),
        (Literal[True], Literal[1], "True is not among Literal[1]"),
        (AtLeast1, AtLeast5, "int(ge=1) may break ge=5 of int(ge=5)"),
        (int, AtLeast1, "int may break ge=1 of int(ge=1)"),
        (list[str], list[int], "str is not a int"),
        (set[int], list[int], "set[int] is not a list[int]"),
        (tuple[int, int], tuple[int], "tuple[int, int] has 2 items, tuple[int] has 1"),
        (Base, Derived, "Base is not a Derived"),
        (Animal, Dog, "Animal is not a Dog"),
        (Metrics, Model, "Metrics is not a Model"),
        (FileArtifact, Model, "FileArtifact is not a Model"),
        (Colour, int, "Colour is not a int"),
        (pd.DataFrame, Model, "DataFrame is not a Model"),
        (Dataset[Raw], Dataset[Clean], "column 'fare' may be null in Dataset[Raw], not in Dataset[Clean]"),
        (Dataset[Clean], Dataset[Wide], "column 'extra' of Dataset[Wide] is not made by Dataset[Clean]"),
        (Dataset[Raw], Dataset[Wide], "column 'extra' is int64 in Dataset[Raw], double in Dataset[Wide]"),
    ],
)
def test_refused_with_the_reason(produced: Any, wanted: Any, reason: str) -> None:
    assert mismatch(describe(produced), describe(wanted)) == reason


bounds = st.one_of(st.none(), st.integers(-3, 3))
ints = st.builds(
    lambda ge, lt: Annotated[int, Field(ge=ge, lt=lt)] if ge is not None or lt is not None else int,
    bounds,
    bounds,
)
scalars = st.one_of(
    st.sampled_from([float, str, bool, None, Literal["a"], Literal["a", "b"], Literal[1]]), ints
)
annotations = st.recursive(
    scalars,
    lambda inner: st.one_of(
        inner.map(lambda item: list[item]),  # type: ignore[valid-type]
        inner.map(lambda item: dict[str, item]),  # type: ignore[valid-type]
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1] if pair[0] or pair[1] else None),
    ),
    max_leaves=4,
)
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 5), st.floats(-5, 5), st.sampled_from(["a", "b", "c"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.just("k"), inner, max_size=1)),
    max_leaves=4,
)


@given(annotations)
def test_every_type_flows_into_itself(annotation: Any) -> None:
    assert mismatch(describe(annotation), describe(annotation)) is None


@given(annotations, annotations, annotations)
def test_flow_is_transitive(first: Any, second: Any, third: Any) -> None:
    a, b, c = describe(first), describe(second), describe(third)
    if mismatch(a, b) is None and mismatch(b, c) is None:
        assert mismatch(a, c) is None


@given(annotations, annotations, values)
def test_a_value_of_an_accepted_type_is_valid_for_the_consumer(
    produced: Any, wanted: Any, value: Any
) -> None:
    a, b = describe(produced), describe(wanted)
    if mismatch(a, b) is not None:
        return
    try:
        made = TypeAdapter(python_type(a)).validate_python(value, strict=True)
    except ValidationError:
        return
    TypeAdapter(python_type(b)).validate_python(made, strict=True)
