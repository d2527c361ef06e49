"""Files become tables: CSV and Parquet, by Arrow. Nothing is dropped or guessed at in silence."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flowc import ComponentError, Dataset, component
from flowc.errors import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
_SHOWN = 5


@component(role="ingest")
def ingest(
    path: Path,
    file_format: Literal["auto", "csv", "parquet"] = "auto",
    delimiter: str = ",",
    encoding: str = "utf-8",
    null_values: list[str] | None = None,
) -> Dataset:
    """Read a CSV or Parquet file into a table.

    Column types of a CSV come from all of its rows. A field that is empty or among `null_values` (by default
    Arrow's: "", "NA", "NaN", "null", ...) is null. Raises ComponentError for a file that is missing, empty,
    without rows or not in the given encoding, for a name that two columns have, and for rows with too many or
    too few fields, each with its line.
    """
    _refuse_absent(path)
    if _format_of(path, file_format) == "parquet":
        table = _read_parquet(path)
    else:
        table = _read_csv(path, delimiter, encoding, null_values)
    if table.num_rows == 0:
        raise ComponentError(f"{path} has columns but no rows", hint="give a file with data in it")
    return Dataset(table)


def _refuse_absent(path: Path) -> None:
    if path.is_dir():
        raise ComponentError(f"{path} is a folder, not a file", hint="name one file in it")
    if path.exists():
        return
    near = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    raise ComponentError(
        f"there is no file {path}", hint=did_you_mean(path.name, near) or "check the path; it may be absolute"
    )


def _format_of(path: Path, file_format: str) -> str:
    if file_format != "auto":
        return file_format
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".bz2")]
    found = _FORMATS.get(suffixes[-1].lower()) if suffixes else None
    if found is None:
        raise ComponentError(
            f"the name {path.name} does not say what format the file has",
            hint='give file_format="csv" or file_format="parquet"',
        )
    return found


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Not pq.read_table, which makes columns of folders named like `year=2013`.
        return pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise ComponentError(f"{path} can't be read as Parquet: {error}") from error


def _read_csv(path: Path, delimiter: str, encoding: str, null_values: list[str] | None) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if len(delimiter) != 1:
        raise ComponentError(f"a delimiter is one character, not {delimiter!r}")
    options = {} if null_values is None else {"null_values": null_values}
    try:
        table = arrow_csv.read_csv(
            path,
            read_options=arrow_csv.ReadOptions(encoding=encoding),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(strings_can_be_null=True, **options),
        )
        # A column that is not UTF-8 comes as binary, without a word.
        failure = None if not any(map(pa.types.is_binary, table.schema.types)) else "bytes that are no text"
    except (pa.ArrowException, OSError, UnicodeError, LookupError) as error:
        table, failure = None, str(error)
    if failure is not None:
        _explain(path, delimiter, encoding)
        raise ComponentError(f"{path} can't be read as CSV: {failure}")
    _refuse_double(path, table.column_names)
    return table


def _refuse_double(path: Path, names: list[str]) -> None:
    double = [repr(name) for name, count in Counter(names).items() if count > 1]
    if double:
        raise ComponentError(
            f"{path}, line 1: more than one column is named {', '.join(double)}",
            hint="rename them in the header",
        )


def _explain(path: Path, delimiter: str, encoding: str) -> None:
    """Look through a CSV file that Arrow could not read, and raise for what is wrong with it and where."""
    text = _decoded(path, encoding)
    if not text.strip():
        raise ComponentError(f"{path} is empty", hint="a CSV file begins with a line of column names")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = next(row for row in reader if row)
        bad = _bad_rows(reader, len(header))
        shown = list(islice(bad, _SHOWN))
        rest = sum(1 for _ in bad)
    except csv.Error as error:
        raise ComponentError(f"{path}, line {reader.line_num}: {error}") from error
    if shown:
        more = f"\n  and {rest} more" if rest else ""
        raise ComponentError(
            f"{path}: the header has {len(header)} fields, but not every row\n  " + "\n  ".join(shown) + more,
            hint='quote a field that holds the delimiter: "Springfield, IL"',
        )


def _bad_rows(reader: Iterator[list[str]], width: int) -> Iterator[str]:
    first = reader.line_num + 1  # type: ignore[attr-defined]  # typeshed's reader has no public type
    for row in reader:
        if row and len(row) != width:
            yield f"line {first}: {len(row)} fields, it begins {', '.join(row[:3])!r}"
        first = reader.line_num + 1  # type: ignore[attr-defined]


def _decoded(path: Path, encoding: str) -> str:
    import pyarrow as pa

    with pa.input_stream(str(path), compression="detect") as stream:
        content: bytes = stream.read()
    try:
        return content.decode(encoding)
    except LookupError as error:
        raise ComponentError(f"there is no encoding {encoding!r}", hint='for example "latin-1"') from error
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = content.count(b"\n", 0, start) + 1
        raise ComponentError(
            f"{path}, line {line}: the file is not {encoding} (byte {content[start]:#04x})",
            hint='save it as UTF-8, or say what it is, as in encoding="latin-1"',
        ) from error
