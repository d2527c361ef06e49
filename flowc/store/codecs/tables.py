"""Tables in their three forms (pandas, Arrow, Dataset): turned into the declared one, and held to its columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowc.types.artifacts import Dataset
from flowc.types.forms import form_of, other_form
from flowc.types.hold import hold_table
from flowc.types.model import ArtifactType, ObjectType, Type
from flowc.types.names import ref_of, resolve_ref

if TYPE_CHECKING:
    import pyarrow as pa

_FILE = "table.arrow"
# Batches of one size, so that equal tables are equal files however they were put together.
_BATCH_ROWS = 1 << 20


def declared_form(type_: Type) -> str | None:
    """Return the form of table that a type asks for, or None where it asks for none."""
    if not isinstance(type_, ArtifactType | ObjectType):
        return None
    return form_of((type_.ref, *type_.bases))


def in_declared_form(value: Any, type_: Type) -> Any:
    """Return a table in the form that its declared type asks for; anything else as it is.

    Raises ComponentError where the table lacks the columns that the type says.
    """
    wanted = declared_form(type_)
    form = wanted and form_of(tuple(map(ref_of, type(value).__mro__)))
    if wanted is None or form is None:
        return value
    if isinstance(type_, ArtifactType) and type_.columns:
        hold_table(_table(value, form), type_.columns, str(type_))
    return value if form == wanted else _in_form(_table(value, form), wanted, type_)


def _in_form(table: pa.Table, form: str, type_: Type) -> Any:
    match form:
        case "frame":
            return table.to_pandas()
        case "table":
            return table
        case "dataset" if isinstance(type_, ArtifactType):
            return resolve_ref(type_.ref)(table)
    return other_form(form).from_table(table)


def _table(value: Any, form: str) -> pa.Table:
    match form:
        case "dataset":
            return value.table
        case "table":
            return value
        case "frame":
            return Dataset.from_pandas(value).table
    return other_form(form).to_table(value)


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
