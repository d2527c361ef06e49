"""The ground of all data that flowc stores or exchanges: pydantic models that never change."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Frozen(BaseModel):
    """A value that never changes and takes no unknown fields."""

    # An infinite default must not be written as null: it is written as Python's json writes it.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Variant(Frozen):
    """One of several kinds of a thing. Its `kind` is always written, also where defaults are left out."""

    @model_serializer(mode="wrap")
    def _with_kind(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": type(self).model_fields["kind"].default, **write(self)}
