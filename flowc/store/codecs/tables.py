"""Tables in their three forms (pandas, Arrow, Dataset): turned into the declared one, and held to its columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from flowc.store.codecs.codec import is_a
from flowc.types.artifacts import Dataset
from flowc.types.hold import hold_table
from flowc.types.model import ArtifactType, ObjectType, Type
from flowc.types.names import ref_of, resolve_ref

if TYPE_CHECKING:
    import pyarrow as pa

Form = Literal["frame", "table", "dataset"]

_FORMS: dict[str, Form] = {
    "pandas.core.frame:DataFrame": "frame",
    "pandas:DataFrame": "frame",
    "pyarrow.lib:Table": "table",
    ref_of(Dataset): "dataset",
}
_FILE = "table.arrow"
# Batches of one size, so that equal tables are equal files however they were put together.
_BATCH_ROWS = 1 << 20


def declared_form(type_: Type) -> Form | None:
    """Return the form of table that a type asks for, or None where it asks for none."""
    if not isinstance(type_, ArtifactType | ObjectType):
        return None
    return next((_FORMS[ref] for ref in (type_.ref, *type_.bases) if ref in _FORMS), None)


def in_declared_form(value: Any, type_: Type) -> Any:
    """Return a table in the form that its declared type asks for; anything else as it is.

    Raises ComponentError where the table lacks the columns that the type says.
    """
    wanted, form = declared_form(type_), _form(value)
    if wanted is None or form is None:
        return value
    if isinstance(type_, ArtifactType) and type_.columns is not None:
        hold_table(_table(value), type_.columns, str(type_))
    if form == wanted:
        return value
    if wanted == "frame":
        return _table(value).to_pandas()
    return _table(value) if wanted == "table" else resolve_ref(type_.ref)(_table(value))  # type: ignore[union-attr]


def _form(value: Any) -> Form | None:
    if isinstance(value, Dataset):
        return "dataset"
    if is_a(value, "pyarrow", "Table"):
        return "table"
    return "frame" if is_a(value, "pandas", "DataFrame") else None


def _table(value: Any) -> pa.Table:
    if isinstance(value, Dataset):
        return value.table
    return value if is_a(value, "pyarrow", "Table") else Dataset.from_pandas(value).table


def write_table(table: pa.Table, folder: Path) -> dict[str, Any]:
    """Write an Arrow IPC file and return what is shown of a table."""
    import pyarrow as pa

    table = table.unify_dictionaries()  # a file has one dictionary for each column
    with pa.OSFile(str(folder / _FILE), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        for start in range(0, table.num_rows, _BATCH_ROWS):
            writer.write_table(table.slice(start, _BATCH_ROWS).combine_chunks())
    return {
        "rows": table.num_rows,
        "columns": table.num_columns,
        "schema": {field.name: str(field.type) for field in table.schema},
    }


def read_table(folder: Path) -> pa.Table:
    """Return the table of an Arrow IPC file, mapped into memory: rows are read from the disk when they are used."""
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(folder / _FILE))).read_all()
