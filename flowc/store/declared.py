"""A value held to what its port declares, when it is stored and when it is read."""

from __future__ import annotations

from typing import Any

from flowc.errors import CodecError, NotFoundError, UsageError
from flowc.store.codecs.codec import is_a
from flowc.store.codecs.tables import in_declared_form
from flowc.types.model import AnyType, ArtifactType, ScalarType, Type
from flowc.types.names import ref_of
from flowc.types.validate import is_value, validated


def as_declared(value: Any, type_: Type) -> Any:
    """Return the value as its type has it: plain values as pydantic converts them, tables in the type's form.

    Raises CodecError where the value is not of the type, ComponentError where a table lacks declared columns.
    """
    if isinstance(type_, ScalarType) and is_a(value, "numpy", "generic"):
        value = value.item()
    if isinstance(type_, AnyType):
        return value
    if is_value(type_):
        return _validated(value, type_)
    value = in_declared_form(value, type_)
    if isinstance(type_, ArtifactType) and type_.ref not in map(ref_of, type(value).__mro__):
        raise _mismatch(f"expected {type_}, got a value of type {type(value).__name__}")
    return value


def _validated(value: Any, type_: Type) -> Any:
    try:
        return validated(type_, value)
    except NotFoundError:
        return value  # its class is known only where it was made, as in a notebook: nothing to hold it to
    except UsageError as error:
        raise _mismatch(f"{error} (a value of type {type(value).__name__})") from error


def _mismatch(message: str) -> CodecError:
    return CodecError(message, hint="make the value what the annotation says, or change the annotation")
