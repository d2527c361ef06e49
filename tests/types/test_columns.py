"""Columns: what describes them, which of them another's may stand for, and real tables held to them."""

from __future__ import annotations

import datetime
import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypedDict, TypeVar

import annotated_types
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, Field, PositiveInt, TypeAdapter, ValidationError

from flowc import Add, ComponentError, Dataset, Drop, Rename, Select
from flowc.errors import UsageError
from flowc.types.column import Column
from flowc.types.columns import columns_of
from flowc.types.describe import describe
from flowc.types.flow import mismatch
from flowc.types.hold import hold_table
from flowc.types.model import ArtifactType

T = TypeVar("T")
UTC = annotated_types.Timezone("UTC")
SCHEMA = pa.schema(
    [
        pa.field("a", pa.int32(), nullable=False),
        pa.field("b", pa.list_(pa.struct([pa.field("x", pa.float32())]))),
        pa.field("c", pa.dictionary(pa.int8(), pa.string())),
        pa.field("d", pa.map_(pa.string(), pa.int64())),
    ]
)


class Kind(enum.Enum):
    BUS = "bus"
    TRAM = "tram"


class Stop(BaseModel):
    name: str
    lat: float | None


class Rich(BaseModel):
    fare: float = Field(ge=0, alias="Fare")
    kind: Kind
    stops: list[Stop]
    at: Annotated[datetime.datetime, UTC]
    seen: AwareDatetime | None
    price: Annotated[Decimal, Field(max_digits=6, decimal_places=2)]
    attributes: dict[str, Annotated[int, Field(ge=0)]]
    small: Annotated[int, pa.int32()]
    code: Annotated[str, Field(min_length=1, pattern="^[A-Z]")]
    _private: int = 3


class AsDict(TypedDict):
    a: int
    b: NotRequired[np.float32]


@dataclass
class AsClass(Generic[T]):
    a: T
    b: Literal["x", "y", None] = None


class AsTuple(NamedTuple):
    a: PositiveInt
    b: Sequence[bool]


class Trips(Dataset[AsDict]):
    pass


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        (
            Rich,
            [
                *("Fare: double", "kind: string", "stops: list<struct<name: string, lat: double?>>"),
                *("at: timestamp[us, tz=UTC]", "seen: timestamp[us, tz=*]?", "price: decimal"),
                *("attributes: map<string, int64>", "small: int32", "code: string"),
            ],
        ),
        (AsDict, ["a: int64", "b: float"]),
        (AsClass[int], ["a: int64", "b: string?"]),
        (AsTuple, ["a: int64", "b: list<bool>"]),
    ],
)
def test_a_row_class_says_its_columns(row: Any, columns: list[str]) -> None:
    assert [str(column) for column in columns_of(row)] == columns


def columns(annotation: Any) -> tuple[Column, ...]:
    described = describe(annotation)
    assert isinstance(described, ArtifactType)
    return described.columns or ()


def test_a_schema_says_types_exactly() -> None:
    shown = [
        "a: int32",
        "b: list<struct<x: float?>>?",
        "c: dictionary<values=string, indices=int8, ordered=0>?",
    ]
    assert [str(column) for column in columns(Annotated[Dataset, SCHEMA])] == [
        *shown,
        "d: map<string, int64>?",
    ]
    made = pa.table({"a": [1], "b": [[{"x": 1.0}]], "c": ["x"], "d": [[("k", 1)]]}, schema=SCHEMA)
    hold_table(made, columns(Annotated[Dataset, SCHEMA]), "it")
    with pytest.raises(ComponentError, match="column 'a': expected int32, found int64"):
        hold_table(pa.table({"a": [1]}), columns(Annotated[Dataset, SCHEMA])[:1], "it")


def test_a_class_of_datasets_has_the_columns_of_its_base() -> None:
    assert columns(Trips) == columns(Dataset[AsDict])


class Recursive(BaseModel):
    inner: list[Recursive]


class Undefined(TypedDict):
    x: Nowhere  # type: ignore[name-defined]  # noqa: F821


class Odd(TypedDict):
    good: int
    odd: int | str


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Recursive, "a row of Recursive holds itself, and no Arrow type is recursive"),
        (Undefined, "Undefined names 'Nowhere', which is not defined"),
        (Odd, "column 'odd' of Odd: no Arrow type stands for int | str"),
        (
            int,
            "Dataset[int]: a row is a pydantic model, a TypedDict, a dataclass, a NamedTuple or an Arrow schema",
        ),
        (Drop[AsDict, Literal["x"]], "Drop[AsDict, Literal['x']]: there is no column 'x' to drop"),
        (
            Rename[AsDict, Literal["a"], Literal["x", "y"]],
            "Rename[AsDict, Literal['a'], Literal['x', 'y']]: 1 columns get 2 names",
        ),
        (Select[AsDict, int], "Select[AsDict, int]: columns are named by a Literal of texts"),
    ],
)
def test_what_says_no_columns_is_refused(row: Any, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        describe(Dataset[row])
    assert refused.value.message == message


class Plain(TypedDict):
    a: int
    b: str


class Other(TypedDict):
    c: float
    b: int


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Add[Plain, Other], ["a: int64", "b: int64", "c: double"]),
        (Drop[Plain, Literal["a"]], ["b: string"]),
        (Select[Plain, Literal["b"]], ["b: string"]),
        (Rename[Plain, Literal["a", "b"], Literal["b", "a"]], ["b: int64", "a: string"]),
        (Add[Drop[Plain, Literal["a"]], Other], ["b: int64", "c: double"]),
    ],
)
def test_changes_to_columns(row: Any, expected: list[str]) -> None:
    assert [str(column) for column in columns(Dataset[row])] == expected


def one(hint: Any) -> Any:
    return Dataset[TypedDict("Row", {"x": hint})]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("produced", "wanted"),
    [
        (Annotated[int, pa.int8()], int),
        (np.float32, float),
        (Literal["a"], str),
        (Literal["a"], Literal["a", "b"]),
        (Kind, Literal["bus", "tram"]),
        (Annotated[datetime.datetime, UTC], AwareDatetime),
        (PositiveInt, Annotated[int, Field(ge=0)]),
        (int, int | None),
        (list[int], list[int | None]),
        (Stop, Stop | None),
        (NotRequired[int], NotRequired[int]),
        (Annotated[Decimal, Field(max_digits=4, decimal_places=1)], Decimal),
        (bool, bool),
    ],
)
def test_a_column_stands_for_another(produced: Any, wanted: Any) -> None:
    assert mismatch(describe(one(produced)), describe(one(wanted))) is None


class Bare(TypedDict):
    name: str


@pytest.mark.parametrize(
    ("produced", "wanted", "reason"),
    [
        (int, Annotated[int, pa.int8()], "is int64 in Dataset[Row], int8 in Dataset[Row]"),
        (float, np.float32, "is double in Dataset[Row], float in Dataset[Row]"),
        (int, float, "is int64 in Dataset[Row], double in Dataset[Row]"),
        (str, Literal["a"], "may be other than 'a' in Dataset[Row]"),
        (Literal["a", "c"], Literal["a"], "may be other than 'a' in Dataset[Row]"),
        (
            AwareDatetime,
            Annotated[datetime.datetime, UTC],
            "is timestamp[us, tz=*] in Dataset[Row], timestamp[us, tz=UTC] in Dataset[Row]",
        ),
        (
            datetime.datetime,
            AwareDatetime,
            "is timestamp[us] in Dataset[Row], timestamp[us, tz=*] in Dataset[Row]",
        ),
        (float, Annotated[float, Field(ge=0)], "may break ge=0 in Dataset[Row]"),
        (int | None, int, "may be null in Dataset[Row], not in Dataset[Row]"),
        (NotRequired[int], int, "may be missing from Dataset[Row], not from Dataset[Row]"),
        (list[int], list[str], "[].item' is int64 in Dataset[Row], string in Dataset[Row]"),
        (Bare, Stop, ".lat' of Dataset[Row] is not made by Dataset[Row]"),
    ],
)
def test_a_column_that_does_not(produced: Any, wanted: Any, reason: str) -> None:
    found = mismatch(describe(one(produced)), describe(one(wanted)))
    assert found is not None
    assert found.removeprefix("column 'x").removeprefix("' ") == reason


FIELDS = [
    *(("Fare", pa.float64()), ("kind", pa.string())),
    ("stops", pa.list_(pa.struct([("name", pa.string()), ("lat", pa.float64())]))),
    *(("at", pa.timestamp("us", tz="UTC")), ("seen", pa.timestamp("ms", tz="Europe/Berlin"))),
    *(("price", pa.decimal128(6, 2)), ("attributes", pa.map_(pa.string(), pa.int64()))),
    *(("small", pa.int32()), ("code", pa.string())),
]
GOOD = {
    "Fare": 1.0,
    "kind": "bus",
    "stops": [{"name": "x", "lat": None}],
    "at": datetime.datetime(2020, 1, 1),  # noqa: DTZ001
    "seen": None,
    "price": Decimal("1.25"),
    "attributes": [("k", 1)],
    "small": 1,
    "code": "AB",
}


def rich(*changes: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([GOOD | change for change in changes], schema=pa.schema(FIELDS))


BAD = rich(
    *({}, {"Fare": -1.0}, {"Fare": math.nan}, {"kind": "car"}),
    {"stops": [{"name": "x", "lat": 1.0}, {"name": None, "lat": 1.0}]},
    *({"stops": None}, {"attributes": [("k", -1)]}, {"code": "ab"}, {"code": ""}, {"small": None}),
)


def faults(table: pa.Table, row: Any = Rich) -> list[str]:
    with pytest.raises(ComponentError) as refused:
        hold_table(table, columns_of(row), "it")
    return [line.strip() for line in refused.value.message.splitlines()[1:]]


def test_a_good_table_passes() -> None:
    hold_table(rich({}, {"stops": []}), columns_of(Rich), "it")
    hold_table(rich().slice(0), columns_of(Rich), "it")


@pytest.mark.parametrize("parts", [[10], [2, 8], [4, 1, 5]])
def test_each_fault_is_told_with_its_first_row(parts: list[int]) -> None:
    ends = [sum(parts[: index + 1]) for index in range(len(parts))]
    table = pa.concat_tables([BAD.slice(end - part, part) for end, part in zip(ends, parts, strict=True)])
    assert faults(table) == [
        "column 'Fare': expected double with ge=0, found -1.0 in row 1 (2 in all)",
        "column 'kind': expected one of 'bus', 'tram', found 'car' in row 3",
        "column 'stops[].name': expected string, found null in row 4",
        "column 'stops': expected list<struct<name: string, lat: double?>>, found null in row 5",
        "column 'attributes[]': expected int64 with ge=0, found -1 in row 6",
        "column 'small': expected int32, found null in row 9",
        "column 'code': expected string with pattern='^[A-Z]', found 'ab' in row 7 (2 in all)",
        "column 'code': expected string with min_length=1, found '' in row 8",
    ]


def test_a_dictionary_is_held_by_the_values_that_rows_have() -> None:
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 0, 2]), pa.array(["bus", "car", "car"]))
    row = TypedDict("row", {"kind": Kind})  # type: ignore[misc]  # noqa: UP013
    assert faults(pa.table({"kind": kinds}), row) == [
        "column 'kind': expected one of 'bus', 'tram', found 'car' in row 2"
    ]
    hold_table(pa.table({"kind": kinds.slice(0, 2)}), columns_of(row), "it")


def test_of_many_faults_ten_are_told() -> None:
    row = TypedDict("row", {f"c{n}": int for n in range(5000)})  # type: ignore[misc]
    told = faults(pa.table({"x": [1]}), row)
    assert (len(told), told[-1]) == (11, "and 4990 more")
    hold_table(pa.table({f"c{n}": [1] for n in range(5000)}), columns_of(row), "it")
    missing = mismatch(describe(Dataset[Plain]), describe(Dataset[row]))
    assert missing == "column 'c0' of Dataset[row] is not made by Dataset[Plain] (and 4999 more columns)"


number = st.none() | st.integers(-3, 3)
BOUNDS = st.fixed_dictionaries(
    {}, optional={"ge": number, "lt": number, "multiple_of": st.sampled_from([2, 3])}
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.none() | st.integers(-5, 5), max_size=6), BOUNDS, st.booleans())
def test_a_column_of_ints_is_held_as_pydantic_holds_each_of_them(
    values: list[int | None], bounds: dict[str, Any], nullable: bool
) -> None:
    of = Annotated[int, Field(**bounds)]
    hint: Any = of | None if nullable else of
    bad = []
    for index, value in enumerate(values):
        try:
            TypeAdapter(hint).validate_python(value)
        except ValidationError:
            bad.append(index)
    table = pa.table({"x": pa.array(values, pa.int16())})
    if not bad:
        hold_table(table, columns(one(hint)), "it")
        return
    with pytest.raises(ComponentError) as refused:
        hold_table(table, columns(one(hint)), "it")
    assert f"in row {bad[0]}" in refused.value.message


def test_a_frame_is_held_as_the_table_that_it_becomes() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, None]})
    row = TypedDict("row", {"a": int, "b": float | None})  # type: ignore[misc]  # noqa: UP013
    hold_table(Dataset.from_pandas(frame).table, columns_of(row), "it")
