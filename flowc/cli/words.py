"""How times, states, digests and summaries are written for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import click

from flowc.emit.text import printable
from flowc.errors import TaskError

_COLORS = {"COMPLETE": "green", "CACHED": "green", "FAILED": "red", "CANCELED": "yellow", "RUNNING": "cyan"}
_DIGITS = 12
_LONGEST = 60


def colored(state: str, text: str | None = None) -> str:
    """Return a state in its colour, or the text instead of its name."""
    return click.style(state if text is None else text, fg=_COLORS.get(state))


def duration(seconds: float) -> str:
    """Return a time span such as "0.3 s", "2 min 05 s" or "3 h 07 min"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def moment(at: float) -> str:
    """Return a moment in the user's own time zone, to the second."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def short_digest(digest: str) -> str:
    """Return as much of a digest as tells it from others."""
    return digest[:_DIGITS]


def facts(summary: Mapping[str, Any]) -> str:
    """Return a summary in a line: its innermost values by name, cut where it gets long."""
    text = printable(", ".join(_facts(summary)))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def failure_words(error: TaskError) -> str:
    """Return why a task failed: a component's own words as they stand, another exception with its kind."""
    return error.message if error.expected else f"{error.kind}: {error.message}"


def first_line(text: str) -> str:
    """Return the first line of a text, safe for a terminal."""
    return printable(next(iter(text.splitlines()), ""))


def _facts(summary: Mapping[str, Any]) -> Iterator[str]:
    for name, value in summary.items():
        match value:
            case dict():
                yield from _facts(value)
            case float():
                yield f"{name}={value:.4g}"
            case str():
                yield f"{name}={value}"
            case _:
                yield f"{name}={json.dumps(value, ensure_ascii=False)}"
