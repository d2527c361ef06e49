"""Arrow tables and datasets, as Arrow IPC files."""

from __future__ import annotations

from typing import Any

from flowc.store.codecs.codec import Content, Draft, class_of, importable, is_a
from flowc.store.codecs.tables import read_table, write_table
from flowc.types.artifacts import Dataset


class ArrowCodec:
    """Leaves a dataset class that holds more than its table to pickle."""

    name = "arrow"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        if is_a(value, "pyarrow", "Table"):
            return write_table(value, draft.folder)
        if isinstance(value, Dataset) and vars(value).keys() == {"table"} and importable(type(value)):
            return write_table(value.table, draft.folder)
        return None

    def read(self, content: Content) -> Any:
        table = read_table(content.folder)
        if content.python_type == "pyarrow.lib:Table":
            return table
        cls = class_of(content)
        value = cls.__new__(cls)
        value.table = table
        return value
