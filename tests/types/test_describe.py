"""Annotations become the types that a person would read in them."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict

import pyarrow as pa
import pytest
from pydantic import BaseModel, Field, SecretStr

from flowc import Dataset, Metrics, Model
from flowc.errors import UsageError
from flowc.types.column import Column
from flowc.types.describe import describe
from flowc.types.model import ArtifactType, EnumType, ModelType, ObjectType


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Trip(BaseModel):
    fare: float
    company: str | None
    miles: Annotated[float, Field(ge=0)]
    seen: datetime.datetime
    tags: list[str]


class Row(TypedDict):
    a: int


class Two(NamedTuple):
    x: int
    y: str


@dataclass
class Settings:
    depth: int = 3


class Mine(Model):
    pass


class Plain:
    pass


UserId = NewType("UserId", int)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "int"),
        (None, "None"),
        (Path, "Path"),
        (SecretStr, "SecretStr"),
        (datetime.date, "date"),
        (UserId, "int"),
        (Any, "Any"),
        (int | None, "int | None"),
        (Annotated[int, Field(ge=1, lt=9)], "int(ge=1, lt=9)"),
        (Annotated[str, Field(min_length=2, pattern="^a")], "str(min_length=2, pattern='^a')"),
        (Literal["a", 1, None], "Literal['a', 1, None]"),
        (list[int], "list[int]"),
        (Sequence[str], "Sequence[str]"),
        (set[int], "set[int]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (tuple[int, str], "tuple[int, str]"),
        (dict[str, list[float]], "dict[str, list[float]]"),
        (Callable[[int], int], "Callable"),
        (Colour, "Colour"),
        (Two, "Two"),
        (Settings, "Settings"),
        (Dataset, "Dataset"),
        (Dataset[Trip], "Dataset[Trip]"),
        (Metrics, "Metrics"),
        (pa.Table, "Table"),
        (Plain, "Plain"),
    ],
)
def test_types_read_as_they_are_written(annotation: Any, text: str) -> None:
    assert str(describe(annotation)) == text


def test_an_enum_keeps_its_members() -> None:
    assert describe(Colour) == EnumType(ref=f"{__name__}:Colour", members={"RED": 1, "BLUE": "b"})


def test_a_row_class_says_the_columns() -> None:
    described = describe(Dataset[Trip])
    assert isinstance(described, ArtifactType)
    assert described.columns == (
        Column(name="fare", type="double"),
        Column(name="company", type="string", nullable=True),
        Column(name="miles", type="double", ge=0),
        Column(name="seen", type="timestamp[us]"),
        Column(name="tags", type="list", children=(Column(name="item", type="string"),)),
    )
    assert describe(Dataset[Row]) == ArtifactType(
        ref="flowc.types.artifacts:Dataset", row=f"{__name__}:Row", columns=(Column(name="a", type="int64"),)
    )


def test_an_artifact_names_its_ancestors() -> None:
    assert describe(Mine) == ArtifactType(
        ref=f"{__name__}:Mine",
        bases=("flowc.types.artifacts:Model", "flowc.types.artifacts:FileArtifact"),
    )


def test_models_carry_their_schema_and_objects_do_not() -> None:
    described = describe(Settings)
    assert isinstance(described, ModelType)
    assert described.json_schema["properties"]["depth"] == {"default": 3, "title": "Depth", "type": "integer"}
    assert isinstance(describe(Plain), ObjectType)


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [("Nowhere", "not defined"), (Dataset[int], "a row is"), (3, "not a type")],
)
def test_what_is_no_type_is_refused(annotation: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        describe(annotation)


def test_a_column_without_an_arrow_type_is_refused_by_name() -> None:
    class Odd(BaseModel):
        good: int
        odd: complex

    with pytest.raises(UsageError, match="column 'odd' of Odd"):
        describe(Dataset[Odd])
