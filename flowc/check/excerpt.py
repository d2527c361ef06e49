"""Lines of source with what is meant underlined, as rustc shows them: `^` for the place itself, `-` for others.

What a terminal would obey is written as escapes, tabs as four spaces, wide letters count twice, and long lines are
cut around what is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rich.cells import cell_len

from flowc.check.sources import Span

Paint = Callable[[str, str], str]  # a text and the name of its style

_WIDEST: Final = 110
_BEFORE: Final = 30  # columns that stay in front of what is meant in a line that is cut
_TAB: Final = "    "
_SPANNED: Final = 4  # lines of a span that are shown, at most
_CUT: Final = "..."


@dataclass(frozen=True, slots=True)
class Mark:
    """A span to underline, with what is said of it. The first mark is the place itself."""

    span: Span
    label: str = ""
    primary: bool = False

    @property
    def sign(self) -> str:
        return "^" if self.primary else "-"

    @property
    def style(self) -> str:
        return "primary" if self.primary else "secondary"


@dataclass(frozen=True, slots=True)
class _Part:
    """What of a mark falls on one line: display columns from 0, and the label where it belongs here."""

    mark: Mark
    start: int
    end: int
    label: str


def escaped(text: str) -> str:
    """Return a text with what a terminal would obey written as escapes; tabs as spaces."""
    return "".join(map(_shown, text))


def _shown(char: str) -> str:
    return _TAB if char == "\t" else char if char.isprintable() else ascii(char)[1:-1]


def excerpt(lines: Sequence[str], marks: Sequence[Mark], gutter: int, paint: Paint) -> Iterator[str]:
    """Return the lines that the marks stand on, each with its underlines and labels; gaps are marked."""
    numbers = sorted({number for mark in marks for number in _lines_of(mark.span)})
    filled = [numbers[0]]
    for before, number in pairwise(numbers):
        # One line left out takes as much room as saying so.
        filled += [number - 1, number] if number - before == 2 else [number]
    margin = paint(" " * gutter + " |", "margin")
    yield margin
    before = filled[0]
    for number in filled:
        if number - before > 1:
            yield paint(_CUT, "margin")
        before = number
        text = lines[number - 1]
        parts = [part for mark in marks if (part := _part(mark, number, text)) is not None]
        shown, parts = _window(escaped(text), parts)
        yield f"{paint(f'{number:>{gutter}} |', 'margin')} {shown}".rstrip()
        for row in _rows(parts, paint):
            yield f"{margin} {row}"


def _lines_of(span: Span) -> Iterable[int]:
    if span.end_line - span.line < _SPANNED:
        return range(span.line, span.end_line + 1)
    return (span.line, span.line + 1, span.end_line)


def _part(mark: Mark, number: int, text: str) -> _Part | None:
    span = mark.span
    if number not in _lines_of(span):
        return None
    indent = len(text) - len(text.lstrip())
    first = span.column - 1 if number == span.line else indent
    last = span.end_column - 1 if number == span.end_line else len(text.rstrip())
    start, end = (cell_len(escaped(text[:index])) for index in (first, max(last, first)))
    if number != span.line and end <= start:
        return None  # a blank line within the span
    label = escaped(mark.label) if number == span.end_line else ""
    return _Part(mark, start, max(end, start + 1), label)


def _window(text: str, parts: list[_Part]) -> tuple[str, list[_Part]]:
    """Return a line cut to a width that can be read, around its first mark, with the marks moved along."""
    if cell_len(text) <= _WIDEST:
        return text, parts
    chief = next((part for part in parts if part.mark.primary), parts[0] if parts else None)
    left = max(0, chief.start - _BEFORE) if chief else 0
    head, body = (_CUT, _columns(text, left, left + _WIDEST)) if left else ("", _columns(text, 0, _WIDEST))
    tail = _CUT if cell_len(text) > left + _WIDEST else ""
    offset, limit = len(head) - left, len(head) + _WIDEST
    return head + body + tail, [_moved(part, offset, limit) for part in parts]


def _moved(part: _Part, offset: int, limit: int) -> _Part:
    start = min(max(part.start + offset, 0), limit)
    return _Part(part.mark, start, max(min(part.end + offset, limit), start + 1), part.label)


def _columns(text: str, start: int, end: int) -> str:
    """Return what stands between two display columns; half of a wide letter becomes a space."""
    kept, at = [], 0
    for char in text:
        width = cell_len(char)
        if start <= at and at + width <= end:
            kept.append(char)
        elif at < end and at + width > start:
            kept.append(" " * (min(at + width, end) - max(at, start)))
        at += width
        if at >= end:
            break
    return "".join(kept)


def _rows(parts: list[_Part], paint: Paint) -> Iterator[str]:
    """Return the row of underlines, with the last one's label behind it, and below it the other labels."""
    if not parts:
        return
    ordered = sorted(parts, key=lambda part: (part.start, part.end))
    last = ordered[-1]
    beside = last.label if all(_leaves_room(part, last) for part in ordered) else ""
    yield _underlines(ordered, paint) + (f" {paint(beside, last.mark.style)}" if beside else "")
    rest = [part for part in ordered if part.label and not (part is last and beside)]
    if rest:
        yield _row([(part.start, "|", part.mark.style) for part in rest], paint)
    while rest:
        part = rest.pop()
        bars = [(each.start, "|", each.mark.style) for each in rest if each.start < part.start]
        yield _row([*bars, (part.start, part.label, part.mark.style)], paint)


def _leaves_room(part: _Part, last: _Part) -> bool:
    same = (part.start, part.end) == (last.start, last.end) and not part.label
    return part is last or same or part.end <= last.start


def _underlines(parts: list[_Part], paint: Paint) -> str:
    end = max(part.end for part in parts)
    signs: list[Mark | None] = [None] * end
    for part in sorted(parts, key=lambda part: part.mark.primary):
        signs[part.start : part.end] = [part.mark] * (part.end - part.start)
    pieces: list[tuple[int, str, str]] = []
    for column, mark in enumerate(signs):
        if mark is None:
            continue
        if pieces and pieces[-1][0] + len(pieces[-1][1]) == column and pieces[-1][1][0] == mark.sign:
            start, text, style = pieces.pop()
            pieces.append((start, text + mark.sign, style))
        else:
            pieces.append((column, mark.sign, mark.style))
    return _row(pieces, paint)


def _row(pieces: Iterable[tuple[int, str, str]], paint: Paint) -> str:
    """Return texts at their columns."""
    row, at = "", 0
    for start, text, style in pieces:
        if start < at:
            continue
        row += " " * (start - at) + paint(text, style)
        at = start + cell_len(text)
    return row
