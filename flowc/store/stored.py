"""How the rest of flowc knows a value that the artifact store holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Stored:
    """A value in the artifact store. `digest` is the SHA-256 of its content, in hex, and is its identity there.

    Small values are carried `inline` and have no file. `summary` holds a few facts for display (rows, columns,
    metrics); it is JSON and small. `code` names the project's classes and functions that the value is an instance of or
    refers to, as "module:qualname": without them the content means nothing.
    """

    digest: str
    codec: str
    python_type: str
    size: int
    inline: bytes | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    code: tuple[str, ...] = ()
