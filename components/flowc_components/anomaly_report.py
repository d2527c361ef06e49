"""TFDV's anomalies in words: which column, what, in how many rows and where first, which TFDV itself does not say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flowc import Anomalies, Dataset
from flowc_components.tensors import is_number, is_text

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


def report(anomalies: Anomalies, data: Dataset) -> Iterator[str]:
    """Yield a line for each anomaly of severity ERROR, in the order of the columns' names."""
    from tensorflow_metadata.proto.v0 import anomalies_pb2

    parsed = anomalies_pb2.Anomalies.FromString(anomalies.content)
    for name, info in sorted(parsed.anomaly_info.items()):
        if info.severity == anomalies_pb2.AnomalyInfo.ERROR:
            found = _rows(data.table, name, parsed.baseline)
            yield f"{name}: {info.description.strip()}" + (f" ({found})" if found else "")
    for reason in parsed.dataset_anomaly_info.reason:
        yield f"the whole data: {reason.description}"


def _rows(table: pa.Table, name: str, schema: Any) -> str:
    feature = next((each for each in schema.feature if each.name == name), None)
    if feature is None or name not in table.column_names:
        return ""
    column = table.column(name)
    wrong = _wrong(column, feature, schema)
    if wrong is not None and wrong.any():
        first = int(wrong.argmax())
        return f"{wrong.sum()} of {len(column)} rows, first {column[first].as_py()!r} in data row {first + 1}"
    return f"{column.null_count} of {len(column)} rows hold no value" if column.null_count else ""


def _wrong(column: pa.ChunkedArray, feature: Any, schema: Any) -> Any:
    """Return a bool for each row: text where a number is due, or outside of the domain. None where neither applies."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from tensorflow_metadata.proto.v0 import schema_pb2

    if is_text(column.type) and feature.type in (schema_pb2.INT, schema_pb2.FLOAT):
        return ~pc.match_substring_regex(column.fill_null("0"), _NUMBER).to_numpy()
    if is_text(column.type) and (allowed := _words(feature, schema)):
        known = pc.is_in(column, value_set=pa.array(allowed, column.type))
        return ~known.to_numpy() & column.is_valid().to_numpy()
    domain = feature.WhichOneof("domain_info")
    if domain in ("int_domain", "float_domain") and is_number(column.type):
        return _outside(column, getattr(feature, domain))
    return None


def _words(feature: Any, schema: Any) -> list[str]:
    if feature.WhichOneof("domain_info") == "domain":
        named = (each for each in schema.string_domain if each.name == feature.domain)
        return [word for each in named for word in each.value]
    return list(feature.string_domain.value)


def _outside(column: pa.ChunkedArray, domain: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    numbers = column.cast(pa.float64(), safe=False).to_numpy()  # null is NaN: neither below nor above
    low = domain.min if domain.HasField("min") else -np.inf
    high = domain.max if domain.HasField("max") else np.inf
    return (numbers < low) | (numbers > high)
