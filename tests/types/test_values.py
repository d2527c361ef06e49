"""Values, held to types: from Python, from JSON, from the text of a command line; paths inside them; tables."""

from __future__ import annotations

import datetime
import enum
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from pydantic import BaseModel, SecretStr

from flowc import Dataset
from flowc.errors import ComponentError, UsageError
from flowc.types.column import Column
from flowc.types.describe import describe
from flowc.types.hold import hold_table
from flowc.types.paths import anchored, portable
from flowc.types.validate import to_json, validated, validated_json, validated_text


class Colour(enum.Enum):
    RED = 1


class Settings(BaseModel):
    depth: int


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, "-3", -3),
        (float, "1e-3", 0.001),
        (bool, "true", True),
        (str, "it's", "it's"),
        (str, "5", "5"),
        (Path, "a b/c", Path("a b/c")),
        (datetime.date, "2026-12-01", datetime.date(2026, 12, 1)),
        (int | None, "5", 5),
        (int | None, "None", None),
        (int | None, "null", None),
        (Literal["a", "b"], "b", "b"),
        (Colour, "1", Colour.RED),
        (Colour, "RED", Colour.RED),
        (list[str], '["a", "b"]', ["a", "b"]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (tuple[int, ...], "[1, 2]", (1, 2)),
        (Settings, '{"depth": 2}', Settings(depth=2)),
    ],
)
def test_text_becomes_the_value_it_stands_for(annotation: Any, text: str, value: Any) -> None:
    parsed = validated_text(describe(annotation), text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("annotation", "text", "reason"),
    [
        (int, "1.5", "expected int, got '1.5'"),
        (int, "", "expected int, got ''"),
        (Literal["a"], "b", "expected Literal['a'], got 'b'"),
        (list[int], "[1", "expected list[int], got '[1'"),
        (Settings, '{"depth": "x"}', "depth: Input should be a valid integer"),
    ],
)
def test_text_of_the_wrong_type_is_refused(annotation: Any, text: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        validated_text(describe(annotation), text)
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Path, Path("x")),
        (set[int], {1, 2}),
        (tuple[int, str], (1, "a")),
        (Colour, Colour.RED),
        (datetime.timedelta, datetime.timedelta(seconds=90)),
        (float, float("inf")),
        (Settings, Settings(depth=1)),
        (int | str, "3"),
    ],
)
def test_json_and_back_gives_the_same_value(annotation: Any, value: Any) -> None:
    type_ = describe(annotation)
    back = validated_json(type_, to_json(type_, value))
    assert back == value
    assert type(back) is type(value)


def test_a_secret_never_shows() -> None:
    type_ = describe(SecretStr)
    assert "hunter2" not in str(to_json(type_, validated(type_, "hunter2")))


def test_paths_are_written_relative_and_read_back_absolute(tmp_path: Path) -> None:
    folder = tmp_path / "project" / "taxi"
    type_ = describe(dict[str, list[Path] | None])
    value = {"a": [folder / "x.csv", tmp_path / "project" / "y.csv", Path("/elsewhere")], "b": None}
    written = portable(type_, value, folder, tmp_path / "project")
    assert written == {"a": [Path("x.csv"), Path("../y.csv"), Path("/elsewhere")], "b": None}
    assert anchored(type_, written, folder) == {
        "a": [folder / "x.csv", folder / "../y.csv", Path("/elsewhere")],
        "b": None,
    }


def test_a_table_is_held_to_its_columns() -> None:
    table = pa.table({"fare": pa.array([1.0, None]), "name": ["a", "b"], "when": [1, 2]})
    hold_table(table, (Column(name="fare", type="double", nullable=True),), "the table")
    columns = (
        Column(name="fare", type="double"),
        Column(name="names", type="string"),
        Column(name="when", type="timestamp[us]"),
    )
    with pytest.raises(ComponentError) as caught:
        hold_table(table, columns, "output 'x'")
    assert caught.value.message.splitlines() == [
        "output 'x' does not hold what its type says:",
        "  column 'fare': expected double, found null in row 1",
        "  column 'names' is missing; did you mean 'name'?",
        "  column 'when': expected timestamp[us], found int64",
    ]


def test_a_dataset_takes_only_a_table() -> None:
    with pytest.raises(TypeError, match=r"not list; see Dataset\.from_pandas"):
        Dataset([1])  # type: ignore[arg-type]
