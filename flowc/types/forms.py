"""The classes of table that turn into each other for free and without loss: ours, and those that packages name.

Another package's class comes in by the entry point group `flowc.tables`: its name is the class as "module:qualname",
what it points at a `TableForm`, loaded when a value has to be turned and not before. Artifact classes need no entry:
a class is found by its own name, wherever it is from.
"""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from flowc.errors import CodecError
from flowc.types.model import ArtifactType, ObjectType, Type

if TYPE_CHECKING:
    import pyarrow as pa

GROUP: Final = "flowc.tables"
Form = Literal["frame", "table", "dataset"]
OURS: Final[dict[str, Form]] = {
    "pandas.core.frame:DataFrame": "frame",
    "pandas:DataFrame": "frame",
    "pyarrow.lib:Table": "table",
    "flowc.types.artifacts:Dataset": "dataset",
}


class TableForm(Protocol):
    """How values of a class of table turn into Arrow tables and back. What comes back is what went in."""

    def to_table(self, value: Any) -> pa.Table: ...

    def from_table(self, table: pa.Table) -> Any: ...


def _table_class(refs: tuple[str, ...]) -> str | None:
    return next((ref for ref in refs if ref in OURS), None) or next(
        (ref for ref in refs if ref in _others()), None
    )


def form_of(refs: tuple[str, ...]) -> str | None:
    """Return the form of table that a class, given by its and its ancestors' names, is of: one of `Form`, or the
    name of another package's class."""
    ref = _table_class(refs)
    return None if ref is None else OURS.get(ref, ref)


def turns_into(produced: Type, wanted: Type) -> bool:
    """Say whether both are tables, and one becomes the other for free and without loss.

    A subclass of DataFrame can't be made of a table, since what else it holds is not known; one of Dataset can.
    """
    if not isinstance(produced, ArtifactType | ObjectType) or not isinstance(
        wanted, ArtifactType | ObjectType
    ):
        return False
    target = (wanted.ref, *(wanted.bases if isinstance(wanted, ArtifactType) else ()))
    return form_of(target) is not None and form_of((produced.ref, *produced.bases)) is not None


@functools.cache
def other_form(ref: str) -> TableForm:
    """Return what turns another package's tables. Raises CodecError where it can't be loaded."""
    entry = _others()[ref]
    try:
        form: TableForm = entry.load()()
    except Exception as error:
        owner = entry.dist.name if entry.dist else "an installed package"
        raise CodecError(
            f"what {owner} has for tables of {ref} ({entry.value}) can't be loaded: {error}",
            hint=f"update or uninstall {owner}",
        ) from error
    return form


@functools.cache
def _others() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
