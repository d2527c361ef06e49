"""Plain data as YAML: blocks for dicts and lists, texts as JSON writes them, which YAML reads alike.

PyYAML would be a dependency of the core for one command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.-]*")
_SPECIAL = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


def to_yaml(data: dict[str, Any]) -> str:
    """Return a document of JSON data as YAML text, keys in their order."""
    return "\n".join(_mapping(data)) + "\n"


def _mapping(data: dict[str, Any]) -> Iterator[str]:
    for key, value in data.items():
        name = key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _SPECIAL else json.dumps(key)
        yield from _after(f"{name}:", value)


def _after(head: str, value: Any) -> Iterator[str]:
    """Yield a value behind a key or a dash: on the same line, or as a block below."""
    if isinstance(value, dict) and value:
        yield head
        yield from (f"  {line}" for line in _mapping(value))
    elif isinstance(value, list) and value:
        yield head
        for item in value:
            first, *rest = _mapping(item) if isinstance(item, dict) and item else _after("", item)
            yield f"  - {first.lstrip()}"
            yield from (f"    {line}" for line in rest)
    else:
        # ASCII only: YAML knows line ends in Unicode that JSON does not.
        yield f"{head} {json.dumps(value)}"
