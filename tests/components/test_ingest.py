"""Files become tables, and what is wrong with a file is said with its line."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowc import ComponentError
from flowc_components import ingest


def written(folder: Path, content: str | bytes, name: str = "trips.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_types_come_from_all_rows_and_empty_fields_are_null(tmp_path: Path) -> None:
    path = written(tmp_path, "fare,company,hour\n1,,3\n2.5,Blue Ribbon,NA\n")
    table = ingest(path).table
    assert table.schema.names == ["fare", "company", "hour"]
    assert table.to_pydict() == {"fare": [1.0, 2.5], "company": [None, "Blue Ribbon"], "hour": [3, None]}
    assert str(table.schema.field("hour").type) == "int64"


def test_quoted_fields_hold_delimiters_and_line_ends(tmp_path: Path) -> None:
    path = written(tmp_path, 'place,fare\n"Springfield, IL",1\n"two\nlines",2\n')
    assert ingest(path).table["place"].to_pylist() == ["Springfield, IL", "two\nlines"]


def test_null_values_are_the_callers_choice(tmp_path: Path) -> None:
    path = written(tmp_path, "country\nNA\n-\n")
    assert ingest(path, null_values=["-"]).table["country"].to_pylist() == ["NA", None]


def test_other_delimiters_encodings_and_compression(tmp_path: Path) -> None:
    tabs = written(tmp_path, "a\tb\n1\t2\n", "t.tsv")
    assert ingest(tabs, delimiter="\t").table.to_pydict() == {"a": [1], "b": [2]}
    latin = written(tmp_path, "name\nJosé\n".encode("latin-1"))
    assert ingest(latin, encoding="latin-1").table["name"].to_pylist() == ["José"]
    packed = written(tmp_path, gzip.compress(b"a,b\n1,2\n"), "t.csv.gz")
    assert ingest(packed).table.to_pydict() == {"a": [1], "b": [2]}


def test_parquet_is_read_as_it_is_even_below_folders_that_look_like_partitions(tmp_path: Path) -> None:
    folder = tmp_path / "year=2013"
    folder.mkdir()
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    pq.write_table(table, folder / "t.parquet")
    assert ingest(folder / "t.parquet").table.equals(table)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("fare,tips\n", "has columns but no rows"),
        ("fare,tips\n1,2\n3,4,5\n6,7\n", "line 3: 3 fields, it begins '3, 4, 5'"),
        ("fare,tips\n1,2\n3\n", "line 3: 1 fields"),
        ('\nfare,tips\n"1\n",2\n3,4,5\n', "line 5: 3 fields"),
        ("fare,fare\n1,2\n", "more than one column is named 'fare'"),
        (b"fare,tips\n1,2\n3,caf" + b"\xe9\n", "line 3: the file is not utf-8 (byte 0xe9)"),
    ],
)
def test_bad_csv_files_are_refused_with_the_place(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(ComponentError) as caught:
        ingest(written(tmp_path, content))
    assert said in caught.value.message
    assert "trips.csv" in caught.value.message


def test_many_bad_rows_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n" + "1,2,3\n" * 8)
    with pytest.raises(ComponentError, match="and 3 more"):
        ingest(path)


def test_a_missing_file_is_named_with_its_likely_neighbour(tmp_path: Path) -> None:
    written(tmp_path, "a\n1\n")
    with pytest.raises(ComponentError) as caught:
        ingest(tmp_path / "trip.csv")
    assert str(tmp_path / "trip.csv") in caught.value.message
    assert caught.value.hint == "did you mean 'trips.csv'?"


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match="is a folder"):
        ingest(tmp_path)
    with pytest.raises(ComponentError, match="does not say what format"):
        ingest(written(tmp_path, "a\n1\n", "trips.dat"))
    with pytest.raises(ComponentError, match="can't be read as Parquet"):
        ingest(written(tmp_path, "a\n1\n", "trips.parquet"))
