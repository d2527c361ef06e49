"""Plain values, records, bytes, files and pickles: what goes in comes back, in value and in type."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
import os
import threading
import uuid
import zoneinfo
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from flowc.errors import CodecError
from flowc.store.artifacts import INLINE_LIMIT, ArtifactStore
from flowc.store.stored import Stored
from flowc.types.artifacts import BytesArtifact, FileArtifact, Html, Metrics, Model, RecordArtifact
from flowc.types.describe import describe

AS_PLAIN = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
UTC_PLUS_2 = datetime.timezone(datetime.timedelta(hours=2))


class Colour(enum.Enum):
    RED = "red"
    BLUE = 3


class Point(NamedTuple):
    x: int
    y: float


@dataclasses.dataclass(frozen=True)
class Range:
    low: datetime.date
    names: tuple[str, ...]


class Settings(BaseModel):
    rate: float = 0.1
    where: Path
    colour: Colour


T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    x: T


class Folders(TypedDict):
    where: Path


class SpecialSettings(Settings):
    extra: int


class Login(BaseModel):
    name: str
    password: SecretStr


class LabelledModel(Model):
    def __init__(self, path: Path, labels: list[str]) -> None:
        super().__init__(path)
        self.labels = labels


class Report(RecordArtifact):
    day: datetime.date
    score: float
    notes: dict[str, Any] = {}


class Session:
    def __init__(self) -> None:
        self.retries = 3
        self._ssl = threading.Lock()


class Estimator:
    def __init__(self) -> None:
        self.weights = [1.0, 2.0]
        self.session = Session()


def there_and_back(store: ArtifactStore, value: Any, annotation: Any = Any) -> tuple[Any, Stored]:
    type_ = describe(annotation)
    stored = store.save(value, type_)
    # Another store object knows nothing of what this one has verified.
    return ArtifactStore(store.root).load(stored, type_), stored


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_one_list_that_stands_twice_stays_one(store: ArtifactStore) -> None:
    inner = [1]
    back, stored = there_and_back(store, {"a": inner, "b": [inner, (inner,)]})
    assert back == {"a": [1], "b": [[1], ([1],)]}
    assert back["a"] is back["b"][0] is back["b"][1][0]
    assert stored.codec == "pickle"


@AS_PLAIN
@given(json_values)
def test_plain_json_comes_back_and_equal_values_have_equal_digests(store: ArtifactStore, value: Any) -> None:
    back, stored = there_and_back(store, value)
    assert back == value
    assert repr(back) == repr(value)  # types too, and the order of keys
    assert stored.codec == "json"
    assert store.save(back, describe(Any)).digest == stored.digest


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (tuple[int, ...], (1, 2)),
        (tuple[int, str], (1, "a")),
        (set[str], {"a", "b", "c"}),
        (Decimal, Decimal("1.50")),
        (uuid.UUID, uuid.UUID(int=7)),
        (Literal[b"\xff"], b"\xff"),
        (Box[int], Box[int](x=1)),
        (Folders, {"where": Path("a")}),
        (frozenset[int], frozenset((1, 2))),
        (dict[int, Path], {1: Path("a/b")}),
        (Path, Path("/x/y.csv")),
        (datetime.date, datetime.date(2026, 2, 28)),
        (datetime.datetime, datetime.datetime(2026, 2, 28, 1, 2, 3, 4)),  # noqa: DTZ001  # naive on purpose
        (datetime.datetime, datetime.datetime(2026, 2, 28, tzinfo=UTC_PLUS_2)),
        (datetime.timedelta, datetime.timedelta(days=3, microseconds=7)),
        (bytes, b"text"),
        (Colour, Colour.BLUE),
        (Literal["a", "b"], "b"),
        (Point, Point(1, 2.5)),
        (Range, Range(datetime.date(2020, 1, 1), ("a",))),
        (Settings, Settings(where=Path("w"), colour=Colour.RED)),
        (list[Settings], [Settings(where=Path("w"), colour=Colour.RED)]),
        (int | None, None),
    ],
)
def test_what_a_type_describes_comes_back_also_where_the_reader_declares_none(
    store: ArtifactStore, annotation: Any, value: Any
) -> None:
    stored = store.save(value, describe(annotation))
    assert stored.codec in ("json", "typed")
    for reader in (annotation, Any):
        back = store.load(stored, describe(reader))
        assert back == value
        assert type(back) is type(value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Any, (1, 2)),
        (Any, {1: "a"}),
        (Any, {1, 2}),
        (Any, 2 + 3j),
        (bytes, b"\xff\x00"),
        (dict[str, Path | str], {"a": Path("b")}),
        (dict[str, Any], {"a": (1,)}),
        (Settings, SpecialSettings(where=Path("w"), colour=Colour.RED, extra=1)),
        (datetime.datetime, datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))),
        (Any, range(3)),
        pytest.param(Any, 10**5000, id="more digits than JSON may have"),
    ],
)
def test_what_json_would_change_is_pickled(store: ArtifactStore, annotation: Any, value: Any) -> None:
    back, stored = there_and_back(store, value, annotation)
    assert stored.codec == "pickle"
    assert back == value
    assert type(back) is type(value)


def test_cycles_and_deep_nesting_come_back(store: ArtifactStore) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    back, _ = there_and_back(store, cycle)
    assert back[0] is back


def test_not_a_number_and_infinity(store: ArtifactStore) -> None:
    back, stored = there_and_back(store, [math.nan, math.inf, -math.inf, -0.0])
    assert math.isnan(back[0])
    assert back[1:3] == [math.inf, -math.inf]
    assert math.copysign(1, back[3]) == -1
    assert stored.summary == {"value": ["nan", "inf", "-inf", -0.0]}


def test_a_value_is_held_to_its_declared_type(store: ArtifactStore) -> None:
    back, _ = there_and_back(store, 3, float)
    assert type(back) is float
    with pytest.raises(CodecError, match=r"expected int: .*\(a value of type str\)"):
        store.save("three", describe(int))
    with pytest.raises(CodecError, match="expected Metrics, got a value of type dict"):
        store.save({"values": {}}, describe(Metrics))


def test_small_values_are_inline_and_touch_no_disk(store: ArtifactStore) -> None:
    longest = "x" * (INLINE_LIMIT - 2)  # and two quotes
    assert store.save(longest, describe(str)).inline == f'"{longest}"'.encode()
    assert not store.root.exists()
    larger = store.save(longest + "x", describe(str))
    assert larger.inline is None
    assert larger.size == INLINE_LIMIT + 1
    assert store.load(larger, describe(str)) == longest + "x"


def test_the_same_text_as_path_and_as_text_are_two_artifacts(store: ArtifactStore) -> None:
    assert store.save("a", describe(str)).digest != store.save(Path("a"), describe(Path)).digest


def test_records_come_back_as_their_class(store: ArtifactStore) -> None:
    report = Report(day=datetime.date(2026, 1, 2), score=math.inf, notes={"a": [1]})
    back, stored = there_and_back(store, report, RecordArtifact)
    assert back == report
    assert stored.codec == "record"
    assert stored.python_type.endswith(":Report")
    metrics, stored = there_and_back(store, Metrics(values={"auc": 0.5}), Metrics)
    assert metrics["auc"] == 0.5
    assert stored.summary == {"value": {"values": {"auc": 0.5}}}


def test_a_record_with_what_json_would_change_is_pickled(store: ArtifactStore) -> None:
    report = Report(day=datetime.date(2026, 1, 2), score=1, notes={"a": (1,)})
    back, stored = there_and_back(store, report, Report)
    assert back == report
    assert stored.codec == "pickle"


def test_bytes_are_a_file_with_their_suffix(store: ArtifactStore) -> None:
    back, stored = there_and_back(store, Html(b"<p>"), Html)
    assert back == Html(b"<p>")
    assert (store.path(stored.digest) / "content.html").read_bytes() == b"<p>"

    class Local(BytesArtifact):
        pass

    local, stored = there_and_back(store, Local(b"x"))
    assert local.content == b"x"
    assert stored.codec == "pickle"  # no other process could find the class by its name


def test_a_file_keeps_its_suffix_and_its_attributes_and_not_its_name(
    store: ArtifactStore, tmp_path: Path
) -> None:
    stored = []
    for name in ("one.csv", "other.csv"):
        (tmp_path / name).write_text("a,b\n")
        stored.append(store.save(LabelledModel(tmp_path / name, ["x"]), describe(Model)))
    assert stored[0].digest == stored[1].digest
    assert stored[1].summary == {"file": "content.csv", "name": "other.csv"}
    (tmp_path / "one.csv").unlink()
    back = store.load(stored[0], describe(Model))
    assert type(back) is LabelledModel
    assert back.labels == ["x"]
    assert back.path == store.path(stored[0].digest) / "content.csv"
    assert back.path.read_text() == "a,b\n"
    assert back.path.stat().st_mode & 0o777 == 0o444


def test_a_folder_counts_by_names_and_contents_whatever_the_times(
    store: ArtifactStore, tmp_path: Path
) -> None:
    digests = []
    for name, moment in (("a", 1_000_000_000), ("b", 1_700_000_000)):
        folder = tmp_path / name
        (folder / "1" / "variables").mkdir(parents=True)
        (folder / "1" / "saved_model.pb").write_bytes(b"graph")
        os.utime(folder / "1" / "saved_model.pb", (moment, moment))
        digests.append(store.save(FileArtifact(folder), describe(FileArtifact)).digest)
    (tmp_path / "b" / "1" / "empty").mkdir()
    digests.append(store.save(FileArtifact(tmp_path / "b"), describe(FileArtifact)).digest)
    assert digests[0] == digests[1] != digests[2]
    assert sorted(path.name for path in store.path(digests[2]).rglob("*")) == [
        "1",
        "content",
        "empty",
        "saved_model.pb",
        "variables",
    ]


def test_files_that_are_not_there(store: ArtifactStore, tmp_path: Path) -> None:
    with pytest.raises(CodecError, match="Model: there is no file or folder at"):
        store.save(Model(tmp_path / "none"), describe(Model))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "none")
    with pytest.raises(CodecError, match="link is a link to nothing"):
        store.save(Model(tmp_path / "folder"), describe(Model))
    (tmp_path / "folder" / "link").unlink()
    with pytest.raises(CodecError, match=r"LabelledModel\.labels is a set"):
        store.save(LabelledModel(tmp_path / "folder", {"x"}), describe(Model))  # type: ignore[arg-type]


def test_what_cannot_be_pickled_is_named_by_its_place(store: ArtifactStore) -> None:
    with pytest.raises(CodecError, match=r"Estimator\.session\._ssl, of type lock, can't be stored"):
        store.save(Estimator(), describe(Any))
    with pytest.raises(CodecError, match=r"dict\['a'\]\[1\], of type lock, can't be stored"):
        store.save({"a": [1, threading.Lock()]}, describe(Any))
    with (Path(__file__)).open() as file, pytest.raises(CodecError, match="of type TextIOWrapper"):
        store.save([file], describe(Any))


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (SecretStr, SecretStr("hunter2")),
        (Any, {"a": [SecretStr("hunter2")]}),
        (Login, Login(name="me", password=SecretStr("hunter2"))),
    ],
)
def test_a_secret_is_refused_and_nothing_of_it_is_stored(
    store: ArtifactStore, annotation: Any, value: Any
) -> None:
    with pytest.raises(CodecError, match="a secret can't be the output") as caught:
        store.save(value, describe(annotation))
    assert "hunter2" not in str(caught.value)
    assert not store.root.exists()


def test_functions_and_classes_travel_by_value(store: ArtifactStore) -> None:
    factor = 3

    def scaled(x: int) -> int:
        return factor * x

    back, stored = there_and_back(store, scaled)
    assert back(2) == 6
    assert stored.codec == "pickle"
