"""Diagnostics as people and programs read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flowc.diagnostics import Diagnostic, Source

Excerpt = Callable[[Source], str | None]


def render_text(diagnostics: Sequence[Diagnostic], excerpt: Excerpt) -> str:
    """Return the diagnostics as text, one block each: code, place, the line with a caret, related places, hint.

    `excerpt` gives the source line of a place, or None where it can't be had; see `excerpt_from`.
    """
    return "\n\n".join("\n".join(_block(diagnostic, excerpt)) for diagnostic in diagnostics)


def _block(diagnostic: Diagnostic, excerpt: Excerpt) -> Iterator[str]:
    yield f"{diagnostic.severity}[{diagnostic.code}] {diagnostic.message}"
    if diagnostic.source is not None:
        yield from _place(diagnostic.source, excerpt)
    for related in diagnostic.related:
        yield f"  note: {related.message}"
        yield from _place(related.source, excerpt)
    if diagnostic.hint:
        yield f"  hint: {diagnostic.hint}"


def _place(source: Source, excerpt: Excerpt) -> Iterator[str]:
    yield f"  --> {source}"
    line = excerpt(source)
    if line is None or source.line is None:
        return
    margin = " " * len(str(source.line))
    yield f"   {margin} |"
    yield f"   {source.line} | {line}"
    if source.column is not None:
        same_line = source.end_line in (None, source.line)
        end = source.end_column if same_line and source.end_column else len(line) + 1
        width = max(1, min(end, len(line) + 1) - source.column)
        yield f"   {margin} | {' ' * (source.column - 1)}{'^' * width}"


def render_json(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the diagnostics as a JSON array."""
    items: list[dict[str, Any]] = [d.model_dump(mode="json", exclude_none=True) for d in diagnostics]
    return json.dumps(items, indent=2, ensure_ascii=False)


def excerpt_from(root: Path) -> Excerpt:
    """Return an excerpt function that reads files below `root`, notebooks' cells included."""
    return partial(_line_of, root, {})


def _line_of(root: Path, cache: dict[Path, list[Any]], source: Source) -> str | None:
    if source.line is None:
        return None
    path = root / source.file
    if path not in cache:
        cache[path] = _texts(path)
    index = source.cell or 0
    lines = cache[path][index].splitlines() if index < len(cache[path]) else []
    return str(lines[source.line - 1]) if source.line <= len(lines) else None


def _texts(path: Path) -> list[str]:
    """Return a notebook's cells, or a file's whole text as the only one; nothing where it can't be read."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".ipynb":
            return [text]
        return ["".join(cell.get("source", "")) for cell in json.loads(text).get("cells", [])]
    except (OSError, ValueError, AttributeError):
        return []  # an excerpt is a courtesy: the diagnostic itself stands without it
