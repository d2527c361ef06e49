"""Bytes artifacts (pages, pictures, protos): one file with the suffix of its format, so that others can open it."""

from __future__ import annotations

from typing import Any

from flowc.store.codecs.codec import Content, Draft, class_of, importable
from flowc.types.artifacts import BytesArtifact


class BytesCodec:
    """Leaves a class of bytes that holds more than its content to pickle."""

    name = "bytes"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        if not (
            isinstance(value, BytesArtifact) and vars(value).keys() == {"content"} and importable(type(value))
        ):
            return None
        file = f"content{value.suffix}"
        (draft.folder / file).write_bytes(value.content)
        return {"file": file}

    def read(self, content: Content) -> Any:
        cls = class_of(content)
        value = cls.__new__(cls)
        value.content = (content.folder / f"content{cls.suffix}").read_bytes()
        return value
