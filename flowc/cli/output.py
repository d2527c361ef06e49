"""The command line's two doors: the result goes to stdout, all that is said on the way to stderr."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Write it as JSON.")


def color_wanted() -> bool | None:
    """Return what the user says of colours (no-color.org, force-color.org); None leaves it to click, which colours
    on terminals only."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def write_out(text: str) -> None:
    """Write a part of the result to stdout, with a line end."""
    click.echo(text, color=color_wanted())


def write_json(value: Any) -> None:
    """Write the result as JSON: in ASCII, so that any locale can write it, and null for NaN and infinities."""
    write_out(json.dumps(_finite(value), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
    return value


def write_bytes(text: str) -> None:
    """Write a document to stdout as it would stand in a file: UTF-8, whatever the locale."""
    click.echo(text.encode(), nl=False)


def note(text: str) -> None:
    """Write a line to stderr."""
    click.echo(text, err=True, color=color_wanted())


def columns(rows: Iterable[Sequence[str]], indent: str = "") -> Iterator[str]:
    """Return the rows as lines, each column as wide as its widest cell. Nothing is cut: the lines can be grepped."""
    table = list(rows)
    widths = [max(map(_width, cells)) for cells in zip(*table, strict=True)]
    for row in table:
        cells = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        yield (indent + "  ".join(cells)).rstrip()


def _width(cell: str) -> int:
    return len(click.unstyle(cell))
