"""Arrow tables, datasets, pandas frames and numpy arrays: exact dtypes, labels and kinds come back."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pydantic import BaseModel

from flowc.errors import ComponentError
from flowc.store.artifacts import ArtifactStore
from flowc.store.stored import Stored
from flowc.types.artifacts import Dataset
from flowc.types.describe import describe

AS_TABLES = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)


class Trip(BaseModel):
    fare: float
    company: str


class Trips(Dataset[Trip]):
    """A user's own dataset class."""


def there_and_back(store: ArtifactStore, value: Any, annotation: Any = Any) -> tuple[Any, Stored]:
    stored = store.save(value, describe(annotation))
    return ArtifactStore(store.root).load(stored, describe(annotation)), stored


tables = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1) | st.none(),
        st.floats(allow_nan=False) | st.none(),
        st.text(st.characters(codec="utf-8")) | st.none(),
        st.lists(st.booleans(), max_size=3) | st.none(),
    )
).map(
    lambda rows: pa.table(
        {
            "i": pa.array([row[0] for row in rows], pa.int64()),
            "f": pa.array([row[1] for row in rows], pa.float64()),
            "s": pa.array([row[2] for row in rows], pa.string()),
            "l": pa.array([row[3] for row in rows], pa.list_(pa.bool_())),
        }
    )
)


@AS_TABLES
@given(tables)
def test_tables_come_back_with_their_schema(store: ArtifactStore, table: pa.Table) -> None:
    back, stored = there_and_back(store, table)
    assert back.equals(table)
    assert back.schema.equals(table.schema, check_metadata=True)
    assert stored.codec == "arrow"
    assert stored.summary["rows"] == table.num_rows
    assert stored.summary["schema"] == {"i": "int64", "f": "double", "s": "string", "l": "list<item: bool>"}


def test_equal_tables_have_equal_digests_however_they_were_put_together(store: ArtifactStore) -> None:
    whole = pa.table({"a": [1, 2, 3, 4], "s": ["w", "x", "y", "z"]})
    parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 3)])
    assert parts.column("a").num_chunks == 2
    assert store.save(whole, describe(Any)).digest == store.save(parts, describe(Any)).digest


def test_chunks_with_different_dictionaries_come_back(store: ArtifactStore) -> None:
    chunks = [pa.array(words).dictionary_encode() for words in (["a", "b"], ["c", "a"])]
    table = pa.table({"d": pa.chunked_array(chunks)})
    back, _ = there_and_back(store, table)
    assert back.column("d").to_pylist() == ["a", "b", "c", "a"]
    assert back.schema.equals(table.schema)


def test_a_table_is_mapped_and_not_read(store: ArtifactStore) -> None:
    table = pa.table({"a": np.arange(1_000_000)})
    before = pa.total_allocated_bytes()
    stored = store.save(table, describe(Any))
    back = store.load(stored, describe(Any))
    assert back.equals(table)
    assert pa.total_allocated_bytes() - before < 100_000  # the column has 8,000,000


def test_datasets_keep_their_class_and_are_held_to_their_columns(store: ArtifactStore) -> None:
    trips = Trips(pa.table({"fare": [1.5], "company": ["x"]}))
    back, stored = there_and_back(store, trips, Trips)
    assert type(back) is Trips
    assert back == trips
    assert type(store.load(stored, describe(Any))) is Trips
    wrong = Dataset(pa.table({"fare": ["1.5"]}))
    with pytest.raises(ComponentError) as caught:
        store.save(wrong, describe(Dataset[Trip]))
    assert "column 'fare': expected double, found string" in caught.value.message
    assert "column 'company' is missing" in caught.value.message
    undeclared = store.save(wrong, describe(Any))
    with pytest.raises(ComponentError, match="column 'company' is missing"):
        store.load(undeclared, describe(Dataset[Trip]))


FRAMES = {
    "numbers": pd.DataFrame({"a": np.array([1, 2], "int8"), "b": [1.5, np.nan], "c": [True, False]}),
    "texts": pd.DataFrame({"s": ["x", None], "b": [b"x", b""], "d": [datetime.date(2020, 1, 2), None]}),
    "named index": pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="key")),
    "range index": pd.DataFrame({"a": [1, 2]}, index=pd.RangeIndex(10, 14, 2)),
    "multi index": pd.DataFrame({"a": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, "x"), (2, "y")])),
    "category": pd.DataFrame({"c": pd.Categorical(["lo", "hi"], ["hi", "lo", "no"], ordered=True)}),
    "times": pd.DataFrame({"t": pd.to_datetime(["2020-01-01", None]), "d": pd.to_timedelta([1, 2], "s")}),
    "zones": pd.DataFrame({"t": pd.to_datetime(["2020-07-01"]).tz_localize("Europe/Berlin")}),
    "nullable": pd.DataFrame({"i": pd.array([1, None], "Int64"), "s": pd.array(["a", None], "string")}),
    "missing texts as NaN": pd.DataFrame({"n": [1, 2], "a": ["x", np.nan], "b": [np.nan, True]}),
    "nothing but NaN": pd.DataFrame({"a": pd.Series([np.nan, np.nan], dtype=object)}),
    "number labels": pd.DataFrame({0: [1], 1: [2]}),
    "no rows": pd.DataFrame({"a": np.array([], "float32")}),
}
ONLY_PICKLED = {
    "mixed kinds": pd.DataFrame({"a": [1, "2", None]}),
    "None and NaN": pd.DataFrame({"a": ["x", None, np.nan]}),
    "texts and a number": pd.DataFrame({"a": ["x", 1.5]}),
    "decimals": pd.DataFrame({"a": [Decimal("1.0"), Decimal("1.00")]}),
    "lists": pd.DataFrame({"a": [[1], [2, 3]]}),
    "complex": pd.DataFrame({"a": [1j]}),
    "twice the same label": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "frequency": pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2020-01-01", periods=2)),
}


@pytest.mark.parametrize("name", [*FRAMES, *ONLY_PICKLED])
def test_frames_come_back_with_dtypes_labels_and_kinds(store: ArtifactStore, name: str) -> None:
    frame = {**FRAMES, **ONLY_PICKLED}[name]
    back, stored = there_and_back(store, frame)
    assert stored.codec == ("pandas" if name in FRAMES else "pickle")
    pd.testing.assert_frame_equal(back, frame, check_exact=True, check_freq=True, check_index_type="exact")
    for column in range(frame.shape[1]):
        kinds = [list(map(type, each.iloc[:, column])) for each in (back, frame)]
        assert kinds[0] == kinds[1]
    assert store.save(frame.copy(), describe(Any)).digest == stored.digest


def test_a_loaded_frame_can_be_written_to(store: ArtifactStore) -> None:
    back, _ = there_and_back(store, pd.DataFrame({"a": [1.5, 2.5], "i": [1, 2]}))
    back.loc[0, "a"] = 7.0
    back["i"] += 1
    assert back.to_dict("list") == {"a": [7.0, 2.5], "i": [2, 3]}


@pytest.mark.parametrize("name", ["fare", None, 3, ("a", "b")])
def test_series_keep_their_name(store: ArtifactStore, name: Any) -> None:
    series = pd.Series([1.5, 2.5], index=["x", "y"], name=name)
    back, stored = there_and_back(store, series)
    pd.testing.assert_series_equal(back, series, check_exact=True)
    assert stored.codec == ("pickle" if isinstance(name, tuple) else "pandas")


@pytest.mark.parametrize("frame", [FRAMES["named index"], ONLY_PICKLED["frequency"]])
def test_a_frame_is_read_as_table_or_dataset_without_its_index(
    store: ArtifactStore, frame: pd.DataFrame
) -> None:
    stored = store.save(frame, describe(pd.DataFrame))
    columns = pa.table({"a": [1, 2]})
    assert store.load(stored, describe(pa.Table)).equals(columns)
    assert store.load(stored, describe(Dataset)) == Dataset(columns)


def test_tables_and_datasets_are_read_in_each_other_form(store: ArtifactStore) -> None:
    table = pa.table({"fare": [1.5], "company": ["x"]})
    for value in (table, Dataset(table)):
        stored = store.save(value, describe(Any))
        assert store.load(stored, describe(pa.Table)).equals(table)
        assert store.load(stored, describe(Dataset[Trip])) == Dataset(table)
        frame = store.load(stored, describe(pd.DataFrame))
        assert frame.to_dict("list") == {"fare": [1.5], "company": ["x"]}


def test_a_producer_may_return_another_form_than_it_declares(store: ArtifactStore) -> None:
    frame = pd.DataFrame({"fare": [1.5], "company": ["x"]})
    stored = store.save(frame, describe(Dataset[Trip]))
    assert stored.codec == "arrow"
    back = store.load(stored, describe(Any))
    assert back == Dataset(pa.table({"fare": [1.5], "company": ["x"]}))


ARRAYS = hnp.arrays(
    hnp.integer_dtypes() | hnp.floating_dtypes() | hnp.boolean_dtypes() | hnp.datetime64_dtypes(),
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=4),
)


@AS_TABLES
@given(ARRAYS)
def test_arrays_come_back_with_shape_and_dtype(store: ArtifactStore, array: np.ndarray[Any, Any]) -> None:
    back, stored = there_and_back(store, array)
    assert type(back) is np.ndarray
    assert back.dtype == array.dtype
    assert back.tobytes() == array.tobytes()
    assert stored.codec == "numpy"
    assert stored.summary == {"shape": list(array.shape), "dtype": str(array.dtype)}


def test_arrays_that_a_file_cannot_say_are_pickled(store: ArtifactStore) -> None:
    objects = np.array([1, "a", None], dtype=object)
    masked: Any = np.ma.masked_array([1, 2], mask=[True, False])  # type: ignore[no-untyped-call]
    for array in (objects, masked):
        back, stored = there_and_back(store, array)
        assert stored.codec == "pickle"
        assert type(back) is type(array)
        assert back.tolist() == array.tolist()
    structured = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
    back, stored = there_and_back(store, structured)
    assert stored.codec == "numpy"
    assert back.dtype == structured.dtype


@pytest.mark.parametrize("scalar", [np.float32(1.5), np.int8(3), np.bool_(True), np.datetime64("2020-01-02")])
def test_scalars_keep_their_type_and_are_inline(store: ArtifactStore, scalar: Any) -> None:
    back, stored = there_and_back(store, scalar)
    assert type(back) is type(scalar)
    assert back == scalar
    assert stored.inline is not None


def test_a_scalar_becomes_what_was_declared(store: ArtifactStore) -> None:
    back, _ = there_and_back(store, np.float32(0.5), float)
    assert type(back) is float
    back, _ = there_and_back(store, {"a": np.float64(0.5)}, dict[str, float])
    assert back == {"a": 0.5}
