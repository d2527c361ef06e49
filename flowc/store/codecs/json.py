"""What is plain JSON already, as JSON: text, numbers, booleans, None, lists, and dicts by text."""

from __future__ import annotations

import json
from typing import Any

from flowc.store.codecs.codec import Content, Draft
from flowc.store.codecs.exact import plain, twice
from flowc.store.codecs.preview import preview
from flowc.types.validate import is_value


class JsonCodec:
    name = "json"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        if not is_value(draft.type):
            return None
        try:
            return put_json(value, draft) if plain(value) and not twice(value) else None
        except (ValueError, RecursionError):  # a number or a nesting that JSON has no room for
            return None

    def read(self, content: Content) -> Any:
        return json.loads(content.document)


def put_json(data: Any, draft: Draft) -> dict[str, Any]:
    """Put JSON data into the draft, the same bytes for the same data, and return its summary."""
    draft.document = json.dumps(data, separators=(",", ":")).encode()
    return preview(data, draft.document)
