"""TFDV as a gate: its own protos, and a report that says which column, what and where."""

from pathlib import Path

import pyarrow as pa
import pytest

from flowc import ComponentError, Dataset
from flowc_components import validate
from flowc_components.validate import infer_schema, statistics, write_schema

SCHEMA = """
feature { name: "fare" type: FLOAT presence { min_fraction: 1.0 } float_domain { min: 0 } }
feature { name: "company" type: BYTES string_domain { value: "Blue" value: "Red" } }
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.pbtxt"
    path.write_text(SCHEMA)
    return path


def refused(table: pa.Table, schema: Path) -> list[str]:
    with pytest.raises(ComponentError) as caught:
        validate(Dataset(table), schema)
    assert caught.value.hint is not None
    return caught.value.message.splitlines()


def test_statistics_are_tfdvs_own() -> None:
    import tensorflow_data_validation as tfdv
    from tensorflow_metadata.proto.v0 import statistics_pb2

    data = Dataset(
        pa.table({"fare": [1.5, 2.0, 40.0], "company": ["Blue", "Red", "Blue"], "paid": [1, 0, 1]})
    )
    made = statistics_pb2.DatasetFeatureStatisticsList.FromString(statistics(data).content)
    assert made == tfdv.generate_statistics_from_dataframe(data.to_pandas())


def test_every_kind_of_column_has_statistics() -> None:
    from tensorflow_metadata.proto.v0 import statistics_pb2

    table = pa.table(
        {
            "when": pa.array([0, None], pa.timestamp("us")),
            "day": pa.array([0, 1], pa.date32()),
            "nothing": pa.nulls(2),
            "word": pa.array(["a", None]).dictionary_encode(),
            "long": pa.array(["a", "b"], pa.large_string()),
            "flag": pa.array([True, None]),
            "small": pa.array([1, None], pa.int8()),
            "real": pa.array([1, float("nan")], pa.float32()),
        }
    )
    made = statistics_pb2.DatasetFeatureStatisticsList.FromString(statistics(Dataset(table)).content)
    kinds = {each.path.step[0]: each.Type.Name(each.type) for each in made.datasets[0].features}
    assert kinds == {
        "when": "STRING",
        "day": "STRING",
        "nothing": "STRING",
        "word": "STRING",
        "long": "STRING",
        "flag": "INT",
        "small": "INT",
        "real": "FLOAT",
    }


def test_good_data_passes_in_the_schemas_types(schema: Path) -> None:
    checked = validate(Dataset(pa.table({"fare": [1, 2], "company": pa.nulls(2)})), schema)
    assert checked.data.table.equals(pa.table({"fare": [1.0, 2.0], "company": pa.nulls(2, pa.string())}))
    assert validate(checked.data, schema) == checked


def test_an_inferred_schema_allows_what_it_was_inferred_from(tmp_path: Path) -> None:
    data = Dataset(pa.table({"fare": [1.0, 2.5], "company": ["Blue", None]}))
    write_schema(infer_schema(statistics(data)), tmp_path / "inferred.pbtxt")
    assert validate(data, tmp_path / "inferred.pbtxt").schema == validate(data).schema


def test_text_in_a_number_and_an_unseen_column_are_both_named(schema: Path) -> None:
    table = pa.table({"fare": ["1.5", "-2e3", "twelve"], "company": ["Red"] * 3, "colour": ["x"] * 3})
    colour, fare = refused(table, schema)[1:]
    assert colour.strip() == "colour: New column (column in data but not in schema)"
    assert fare.strip().startswith("fare: Expected data of type: FLOAT but got STRING")
    assert fare.endswith("(1 of 3 rows, first 'twelve' in data row 3)")


def test_a_dropped_column_is_named(schema: Path) -> None:
    assert refused(pa.table({"company": ["Red"]}), schema)[1:] == ["  fare: Column is completely missing"]


def test_rows_outside_the_domain_are_counted(schema: Path) -> None:
    table = pa.table({"fare": [1.0, -1.0, -5.0], "company": ["Red", "Green", None]})
    company, fare = refused(table, schema)[1:]
    assert company.endswith("(1 of 3 rows, first 'Green' in data row 2)")
    assert fare.endswith("(2 of 3 rows, first -1.0 in data row 2)")


def test_missing_values_are_counted(schema: Path) -> None:
    (fare,) = refused(pa.table({"fare": [1.0, None], "company": ["Red", "Red"]}), schema)[1:]
    assert fare.endswith("(1 of 2 rows hold no value)")


def test_without_the_gate_anomalies_are_only_returned(schema: Path) -> None:
    from tensorflow_metadata.proto.v0 import anomalies_pb2

    found = validate(Dataset(pa.table({"company": ["Red"]})), schema, gate=False).anomalies
    assert list(anomalies_pb2.Anomalies.FromString(found.content).anomaly_info) == ["fare"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('feature { name: "fare" typ: FLOAT }', r"is wrong at line 1:\d+ .*typ"),
        ("", "names no column"),
        (None, "can't be read"),
    ],
)
def test_a_wrong_schema_file_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "schema.pbtxt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ComponentError, match=said):
        validate(Dataset(pa.table({"fare": [1.0]})), path)


def test_what_has_no_statistics_is_refused() -> None:
    with pytest.raises(ComponentError, match="there are no rows"):
        validate(Dataset(pa.table({"fare": pa.array([], pa.float64())})))
    with pytest.raises(ComponentError, match="of lists or structs: 'route'"):
        validate(Dataset(pa.table({"route": [[1], [2]]})))
