"""How the rest of flowc knows a value that the artifact store holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Stored:
    """A value in the artifact store. `digest` is the SHA-256 of its content, in hex, and is its identity there.

    Small values are carried `inline` and have no file. `summary` holds a few facts for display (rows, columns,
    metrics); it is JSON and small.
    """

    digest: str
    codec: str
    python_type: str
    size: int
    inline: bytes | None = None
    summary: dict[str, Any] = field(default_factory=dict)
