"""What may flow into what."""

from __future__ import annotations

import abc
import datetime
import enum
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NotRequired, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FilePath,
    FiniteFloat,
    JsonValue,
    StringConstraints,
    conint,
)
from typing_extensions import TypeAliasType, TypedDict

from flowc import Dataset, FileArtifact, Metrics, Model
from flowc.types.describe import describe
from flowc.types.flow import mismatch

T = TypeVar("T")


def even(number: int) -> int:
    return number


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


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 9


class Word(enum.StrEnum):
    A = "a"


class Box(BaseModel, Generic[T]):
    x: T


class IntBox(Box[int]):
    pass


class Narrow(TypedDict):
    a: int


class Loose(TypedDict):
    a: int
    b: NotRequired[str]


class Both(TypedDict):
    a: float
    b: str


class Closed(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    a: int


class Cat(BaseModel):
    kind: Literal["cat"]


class Fish(BaseModel):
    kind: Literal["fish"]


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...


@Shape.register
class Square:
    pass


class Circle(Shape):
    def area(self) -> float:
        return 3.0


class Named(Protocol):
    name: str

    def greet(self) -> str: ...


class Person:
    name: str

    def greet(self) -> str:
        return self.name


type_X = TypeAliasType("type_X", int | None)
Json = TypeAliasType("Json", list["Json"] | int)  # type: ignore[misc]
Floats = npt.NDArray[np.float64]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Even = Annotated[int, AfterValidator(even)]
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
        (conint(ge=5), AtLeast1),
        (Annotated[int, Field(gt=4)], AtLeast5),
        (Annotated[int, Field(multiple_of=4)], Annotated[int, Field(multiple_of=2)]),
        (Annotated[int, Field(ge=1)], Annotated[float, Field(gt=0)]),
        (Annotated[float, Field(ge=0, le=1)], FiniteFloat),
        (int, FiniteFloat),
        (Literal[5], AtLeast1),
        (Level, int),
        (Level, AtLeast1),
        (Level, Literal[1, 9, 10]),
        (Word, str),
        (Literal[Level.LOW], Level),
        (Literal[b"a"], Literal[b"a", b"b"]),
        (bool, Literal[True, False]),
        (Literal["a", "b"], Literal["a"] | Literal["b"]),
        (Colour, Literal[Colour.RED]),
        (tuple[int, int], Sequence[float]),
        (set[int], Iterable[int]),
        (Annotated[list[int], Field(min_length=2)], Annotated[list[int], Field(min_length=1)]),
        (tuple[int, int], Annotated[Sequence[int], Field(min_length=2)]),
        (Box[int], Box[float]),
        (IntBox, Box[int]),
        (Box[int], Box),
        (Loose, Narrow),
        (Narrow, Loose),
        (Narrow, dict[str, int]),
        (Cat | Fish, Annotated[Cat | Fish, Field(discriminator="kind")]),
        (Even, Even),
        (Even, int),
        (type_X, int | None),
        (Json, Json),
        (JsonValue, JsonValue),
        (AwareDatetime, datetime.datetime),
        (FilePath, Path),
        (Annotated[Decimal, Field(max_digits=4, decimal_places=1)], Annotated[Decimal, Field(max_digits=6)]),
        (Annotated[str, StringConstraints(strip_whitespace=True)], str),
        (Square, Shape),
        (Circle, Shape),
        (Person, Named),
        (Floats, np.ndarray),
        (Floats, npt.NDArray[np.floating[Any]]),
        (Matrix, Floats),
        (np.float32, float),
        (np.int64, int),
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
        (Literal[0], AtLeast1, "0 is not a int(ge=1)"),
        (Level, Annotated[int, Field(le=5)], "Level: 9 is not a int(le=5)"),
        (str, Word, "str is not a Word"),
        (Level, Literal[Level.LOW], "Level.HIGH is not among Literal[Level.LOW]"),
        (bool, int, "bool is not a int"),
        (int, Decimal, "int is not a Decimal"),
        (float, FiniteFloat, "float may break allow_inf_nan=False of float(allow_inf_nan=False)"),
        (int, Annotated[float, Field(strict=True)], "int may break strict=True of float(strict=True)"),
        (datetime.datetime, AwareDatetime, "datetime may not be a datetime(aware)"),
        (Path, FilePath, "Path may not be a Path(file)"),
        (int, Even, "int may not pass what int(even) checks"),
        (Sequence[int], list[int], "Sequence[int] is not a list[int]"),
        (list[int], Annotated[list[int], Field(min_length=1)], "list[int] may hold fewer than 1"),
        (
            Annotated[list[int], Field(max_length=3)],
            Annotated[list[int], Field(max_length=2)],
            "list[int](max_length=3) may hold more than 2",
        ),
        (Box[float], Box[int], "Box[float] is not a Box[int]: float is not a int"),
        (IntBox, Box[str], "IntBox is not a Box[str]: int is not a str"),
        (Loose, Both, "'b' of Both may be missing from Loose"),
        (Both, Narrow, "'a' of Both: float is not a int"),
        (Loose, Closed, "'b' of Loose is not in Closed"),
        (Both, dict[str, float], "str is not a float"),
        (Cat | Fish, Cat, "Fish is not a Cat"),
        (Json, JsonValue, "Json is not a JsonValue"),
        (Animal, Shape, "Animal is not a Shape"),
        (Animal, Named, "Animal is not a Named"),
        (npt.NDArray[np.int64], Floats, "ndarray[int64] is not a ndarray[float64]"),
        (Matrix, np.ndarray[tuple[int], np.dtype[Any]], "ndarray[float64, ndim=2] is not a ndarray[ndim=1]"),
        (np.float64, int, "float64 is not a int"),
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


class Special(pd.DataFrame):  # type: ignore[misc]
    """A frame that holds more than a table does."""


def test_no_table_becomes_a_subclass_of_a_frame() -> None:
    assert mismatch(describe(Special), describe(Dataset)) is None
    assert mismatch(describe(pd.DataFrame), describe(Special)) == "DataFrame is not a Special"
    assert mismatch(describe(Dataset), describe(Special)) == "Dataset is not a Special"
