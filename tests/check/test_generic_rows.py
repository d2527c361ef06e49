"""Columns flow through components that say what they do to a table, and TypeVars mean one thing in each call."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, TypeVar

import pytest

from flowc import Add, Dataset, Drop, Rename, Select, component, pipeline
from flowc.check import check_pipeline
from flowc.check.ports import solved_outputs
from flowc.errors import CompileError
from flowc.ir import Pipeline

T = TypeVar("T")


class HasTime(TypedDict):
    time: int


class Trip(HasTime):
    fare: float
    tip: float


class Hour(TypedDict):
    hour: int


class HourTrip(Trip):
    hour: int


class Paid(TypedDict):
    price: float
    hour: int


Timed = TypeVar("Timed", bound=HasTime)


@component
def read() -> Dataset[Trip]: ...


@component
def read_anything() -> Dataset: ...


@component
def add_hour(trips: Dataset[Timed]) -> Dataset[Add[Timed, Hour]]: ...


@component
def tidy(
    trips: Dataset[T],
) -> Dataset[Rename[Drop[T, Literal["tip"]], Literal["fare"], Literal["price"]]]: ...


@component
def fares(trips: Dataset[T]) -> Dataset[Select[T, Literal["fare"]]]: ...


@component
def use(trips: Dataset[HourTrip]) -> None: ...


@component
def bill(trips: Dataset[Paid]) -> None: ...


@component
def sample(trips: Dataset[T], rows: int = 3) -> tuple[Dataset[T], int]: ...


@component
def same(value: T, others: list[T]) -> dict[str, T]: ...


@component
def wants_text(values: dict[str, str]) -> None: ...


def outputs(made: Pipeline) -> dict[str, str]:
    types = {name: type_ for (name, _), type_ in solved_outputs(made)[0].items()}
    return {
        name: f"{type_}: " + ", ".join(str(column) for column in getattr(type_, "columns", None) or ())
        for name, type_ in types.items()
    }


def test_columns_flow_through_a_chain() -> None:
    @pipeline
    def chain() -> None:
        trips = add_hour(read())
        use(trips)
        bill(tidy(trips))
        fares(trips)

    made = chain.compile()
    assert check_pipeline(made).diagnostics == ()
    assert outputs(made) == {
        "read": "Dataset[Trip]: time: int64, fare: double, tip: double",
        "add_hour": "Dataset[Add[Trip, Hour]]: time: int64, fare: double, tip: double, hour: int64",
        "tidy": "Dataset[Rename[Drop[Add[Trip, Hour], Literal['tip']], Literal['fare'], Literal['price']]]: "
        "time: int64, price: double, hour: int64",
        "fares": "Dataset[Select[Add[Trip, Hour], Literal['fare']]]: fare: double",
    }
    # The IR stays as it was written: it says what the components say.
    assert str(made.components["add_hour"].outputs[0].type) == "Dataset[Add[Timed, Hour]]"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            lambda: use(read()),
            "task 'use', input 'trips' takes Dataset[HourTrip]: task 'read' makes Dataset[Trip] here; "
            "column 'hour' of Dataset[HourTrip] is not made by Dataset[Trip]",
        ),
        (
            lambda: use(tidy(add_hour(read()))),  # two columns went on the way: both are told
            "column 'fare' of Dataset[HourTrip] is not made by Dataset[Rename[Drop[Add[Trip, Hour], Literal['tip']], "
            "Literal['fare'], Literal['price']]] (and 1 more columns)",
        ),
        (
            lambda: add_hour(fares(read())),
            "column 'time' of Dataset[Timed] is not made by Dataset[Select[Trip, Literal['fare']]]",
        ),
        (
            lambda: tidy(fares(read())),
            "there is no column 'tip' to drop in Dataset[Select[Trip, Literal['fare']]]",
        ),
    ],
)
def test_a_column_that_is_gone_is_missed_at_compile_time(body: Any, message: str) -> None:
    @pipeline
    def wrong() -> None:
        body()

    with pytest.raises(CompileError) as refused:
        check_pipeline(wrong.compile())
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "FC301"
    assert message in diagnostic.message


def test_what_is_not_known_is_not_refused() -> None:
    @pipeline
    def untyped() -> None:
        bill(tidy(add_hour(read_anything())))

    made = untyped.compile()
    assert check_pipeline(made).diagnostics == ()
    notes = [each for each in check_pipeline(made, strict=True).diagnostics if each.code == "FC311"]
    assert [(note.severity, note.message.partition(", which")[0]) for note in notes] == [
        (
            "note",
            "task 'add_hour', input 'trips' wants the columns of Dataset[Timed]: 'read_anything' makes Dataset",
        ),
        (
            "note",
            "task 'bill', input 'trips' wants the columns of Dataset[Paid]: 'tidy' makes Dataset[Rename[Drop[Add[Any, "
            "Hour], Literal['tip']], Literal['fare'], Literal['price']]]",
        ),
    ]


def test_columns_that_are_known_are_no_note() -> None:
    @pipeline
    def typed() -> None:
        use(add_hour(read()))

    assert check_pipeline(typed.compile(), strict=True).diagnostics == ()


def test_a_variable_means_one_type_in_each_call() -> None:
    @component
    def number() -> int: ...

    @component
    def texts() -> list[str]: ...

    @pipeline
    def both() -> None:
        wants_text(same(number(), texts()))

    with pytest.raises(CompileError, match=r"makes dict\[str, int \| str\] here; int is not a str"):
        check_pipeline(both.compile())
