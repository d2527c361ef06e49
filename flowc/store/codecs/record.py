"""Record artifacts (metrics, evaluations, blessings) as JSON, by their own class."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import PydanticSerializationError

from flowc.store.codecs.codec import Content, Draft, class_of, importable
from flowc.store.codecs.exact import same
from flowc.store.codecs.json import put_json
from flowc.types.artifacts import RecordArtifact


class RecordCodec:
    """Declines a record whose class can't be imported or whose fields JSON can't give back exactly."""

    name = "record"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        if not (isinstance(value, RecordArtifact) and importable(type(value))):
            return None
        try:
            summary = put_json(value.model_dump(mode="json"), draft)
            back = type(value).model_validate(json.loads(draft.document or b""))
        except (ValueError, TypeError, RecursionError, PydanticSerializationError):
            return None
        return summary if same(value, back) else None

    def read(self, content: Content) -> Any:
        return class_of(content).model_validate(json.loads(content.document))
