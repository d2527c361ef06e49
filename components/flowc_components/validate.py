"""TensorFlow Data Validation as a gate: data that its schema does not allow never reaches training.

Statistics, schema and anomalies are TFDV's own protos, made by TFDV's own code straight from Arrow.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flowc import Anomalies, ComponentError, Dataset, Schema, Statistics, component
from flowc_components.anomaly_report import report

if TYPE_CHECKING:
    import pyarrow as pa


class Validation(NamedTuple):
    """What was found out about the data, and the data itself in the schema's types, for those who need it checked."""

    data: Dataset
    statistics: Statistics
    schema: Schema
    anomalies: Anomalies


@component(role="validate")
def validate(data: Dataset, schema: Path | None = None, gate: bool = True) -> Validation:
    """Hold data to a schema file (`schema.pbtxt`), or infer a schema where none is given.

    Integers become floats where the schema says FLOAT: a column of whole numbers is no anomaly. With the gate,
    ComponentError shows every anomaly; without it they are in the result alone.
    """
    _tfdv()  # first, so that it is named if it is not installed
    wanted = read_schema(schema) if schema is not None else None
    checked = data if wanted is None else conformed(data, wanted)
    measured = statistics(checked)
    wanted = wanted or infer_schema(measured)
    found = find_anomalies(measured, wanted)
    if gate:
        refuse_anomalies(found, checked)
    return Validation(checked, measured, wanted, found)


@component(role="validate")
def statistics(data: Dataset) -> Statistics:
    """Return TFDV's statistics of a table. Dates and times count as text."""
    if not len(data):
        raise ComponentError("there are no rows to make statistics of")
    tfdv = _tfdv()
    from tensorflow_data_validation.statistics.stats_impl import generate_statistics_in_memory
    from tfx_bsl.arrow.table_util import CanonicalizeRecordBatch

    (batch,) = _plain(data.table).combine_chunks().to_batches()
    made = generate_statistics_in_memory(CanonicalizeRecordBatch(batch), tfdv.StatsOptions())
    return Statistics(made.SerializeToString(deterministic=True))


@component(role="validate")
def infer_schema(statistics: Statistics) -> Schema:
    """Return the schema that TFDV infers from statistics: types, domains, presence."""
    tfdv = _tfdv()
    return Schema(tfdv.infer_schema(_parsed_statistics(statistics)).SerializeToString(deterministic=True))


@component(role="validate")
def find_anomalies(statistics: Statistics, schema: Schema) -> Anomalies:
    """Return what TFDV finds in the statistics that the schema does not allow."""
    found = _tfdv().validate_statistics(_parsed_statistics(statistics), _parsed_schema(schema))
    return Anomalies(found.SerializeToString(deterministic=True))


@component(role="validate")
def refuse_anomalies(anomalies: Anomalies, data: Dataset) -> None:
    """Raise ComponentError with a line for each anomaly of severity ERROR: which column, what, how many rows."""
    lines = list(report(anomalies, data))
    if lines:
        raise ComponentError(
            f"the data is not what its schema says ({len(data)} rows):\n  " + "\n  ".join(lines),
            hint="mend the data, or change the schema file if the data is right",
        )


def read_schema(path: Path) -> Schema:
    """Return the schema in a text file (`schema.pbtxt`). ComponentError says where it is wrong."""
    from google.protobuf import text_format
    from tensorflow_metadata.proto.v0 import schema_pb2

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise ComponentError(
            f"the schema file {path} can't be read: {error}",
            hint="make one with flowc_components.validate.write_schema(infer_schema(statistics(data)), path)",
        ) from error
    try:
        parsed = text_format.Parse(text, schema_pb2.Schema())
    except text_format.ParseError as error:
        raise ComponentError(f"the schema file {path} is wrong at line {error}") from error
    if not parsed.feature:
        raise ComponentError(f"the schema file {path} names no column")
    return Schema(parsed.SerializeToString(deterministic=True))


def write_schema(schema: Schema, path: Path) -> None:
    """Write a schema as text, to be curated by hand and kept with the code."""
    from google.protobuf import text_format

    path.write_text(text_format.MessageToString(_parsed_schema(schema)), encoding="utf-8")


def conformed(data: Dataset, schema: Schema) -> Dataset:
    """Return the data with integers as floats where the schema says FLOAT, and empty columns in the schema's types."""
    import pyarrow as pa
    from tensorflow_metadata.proto.v0 import schema_pb2

    arrow = {schema_pb2.FLOAT: pa.float64(), schema_pb2.INT: pa.int64(), schema_pb2.BYTES: pa.string()}
    table = data.table
    for feature in _parsed_schema(schema).feature:
        if feature.name not in table.column_names or feature.type not in arrow:
            continue
        found = table.schema.field(feature.name).type
        whole = feature.type == schema_pb2.FLOAT and pa.types.is_integer(found)
        if whole or pa.types.is_null(found):
            position = table.column_names.index(feature.name)
            cast = table.column(position).cast(arrow[feature.type])
            table = table.set_column(position, feature.name, cast)
    return Dataset(table)


def _plain(table: pa.Table) -> pa.Table:
    """Return the table in the few types that TFDV takes."""
    import pyarrow as pa

    def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
        kind = column.type
        if pa.types.is_dictionary(kind):
            return plain(column.cast(kind.value_type))
        if pa.types.is_large_string(kind) or pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
            return column.cast(pa.string())
        return column.cast(pa.int8()) if pa.types.is_boolean(kind) else column

    refused = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    if refused:
        raise ComponentError(
            f"statistics are made of plain columns; of lists or structs: {', '.join(map(repr, refused))}",
            hint="flatten or drop these columns first",
        )
    return pa.table({name: plain(table.column(name)) for name in table.column_names})


def _parsed_statistics(statistics: Statistics) -> Any:
    from tensorflow_metadata.proto.v0 import statistics_pb2

    return statistics_pb2.DatasetFeatureStatisticsList.FromString(statistics.content)


def _parsed_schema(schema: Schema) -> Any:
    from tensorflow_metadata.proto.v0 import schema_pb2

    return schema_pb2.Schema.FromString(schema.content)


def _tfdv() -> Any:
    try:
        import tensorflow_data_validation
    except ModuleNotFoundError as error:
        raise ComponentError(
            f"validate needs {error.name}, which is not installed", hint="install flowc[tfdv]"
        ) from error
    return tensorflow_data_validation
