"""Where in a JSON text a value stands, by its path: diagnostics name parts of notebooks and compiled pipelines so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

Key = str | int

_STEP = re.compile(r"""\[(?P<index>\d+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.?(?P<name>[^.\[\]]+)""")
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def keys_of(path: str) -> tuple[Key, ...]:
    """Return the keys and indices that a path such as `cells[0].metadata.tags` or `$.tasks[3]` goes through."""
    return tuple(
        int(step["index"])
        if step["index"]
        else json.loads(step["quoted"])
        if step["quoted"]
        else step["name"]
        for step in _STEP.finditer(path.removeprefix("$"))
    )


def locate(text: str, keys: Sequence[Key]) -> tuple[int, int] | None:
    """Return where the value of this path begins and ends in a JSON text, or the closest part around it.

    None where the text is not JSON.
    """
    try:
        at = _skip(text, 0)
        for key in keys:
            inner = _member(text, at, key) if isinstance(key, str) else _item(text, at, key)
            if inner is None:
                break
            at = inner
        return at, _end(text, at)
    except (ValueError, IndexError, RecursionError):
        return None


def items(text: str, keys: Sequence[Key]) -> Iterator[tuple[int, int]]:
    """Return where each item of the array of this path begins and ends; nothing where there is no such array."""
    found = locate(text, keys)
    if found is None or text[found[0]] != "[":
        return
    at = _skip(text, found[0] + 1)
    while text[at] != "]":
        yield at, _end(text, at)
        at = _following(text, at)


def _member(text: str, at: int, wanted: str) -> int | None:
    if text[at] != "{":
        return None
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # over the colon
        if key == wanted:
            return at
        at = _following(text, at)
    return None


def _item(text: str, at: int, wanted: int) -> int | None:
    if text[at] != "[":
        return None
    at = _skip(text, at + 1)
    for _ in range(wanted):
        if text[at] == "]":
            return None
        at = _following(text, at)
    return None if text[at] == "]" else at


def _following(text: str, at: int) -> int:
    """Return where what stands after a value begins: the next value, or the bracket that closes."""
    at = _skip(text, _end(text, at))
    return _skip(text, at + 1) if text[at] == "," else at


def _end(text: str, at: int) -> int:
    return int(_DECODER.raw_decode(text, at)[1])


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
