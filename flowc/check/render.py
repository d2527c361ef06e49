"""Diagnostics as people and programs read them: text as a compiler prints it, and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from flowc.check.codes import code_pages
from flowc.check.excerpt import Mark, Paint, escaped, excerpt
from flowc.check.sources import Located, Sources
from flowc.diagnostics import Diagnostic, Related, Severity

_SEVERITIES: Final[dict[Severity, str]] = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_STYLES: Final = {"margin": "bold blue", "secondary": "bold blue", "strong": "bold", "hint": "bold green"}


def render_text(diagnostics: Sequence[Diagnostic], sources: Sources, *, color: bool = False) -> str:
    """Return the diagnostics as text, a block each: code, the lines with what is meant underlined, hint.

    Below them stands how many there are, and how to read more.
    """
    blocks = ["\n".join(_block(diagnostic, sources, color)) for diagnostic in diagnostics]
    return "\n\n".join((*blocks, "\n".join(_summary(diagnostics, color))))


def _block(diagnostic: Diagnostic, sources: Sources, color: bool) -> Iterator[str]:
    paint = _painter(diagnostic.severity, color)
    head = paint(f"{diagnostic.severity}[{diagnostic.code}]", "primary")
    yield f"{head} {paint(_indented(diagnostic.message), 'strong')}"
    located = sources.locate(diagnostic.source) if diagnostic.source else None
    related = [(each, sources.locate(each.source)) for each in diagnostic.related]
    places = [place for place in (located, *(place for _, place in related)) if place]
    gutter = max((len(str(place.span.end_line)) for place in places), default=1)
    if located:
        others = [(each, place) for each, place in related if place and place.unit == located.unit]
        marks = [Mark(located.span, primary=True), *_marks(others)]
        yield from _excerpt("-->", located, marks, gutter, paint)
    elif diagnostic.source:
        yield f"{' ' * gutter}{paint('-->', 'margin')} {escaped(str(diagnostic.source))}"
    yield from _elsewhere(located, related, gutter, paint)
    if diagnostic.hint:
        yield f"{' ' * gutter} {paint('=', 'margin')} {paint('hint:', 'hint')} {_indented(diagnostic.hint)}"


def _elsewhere(
    first: Located | None, related: list[tuple[Related, Located | None]], gutter: int, paint: Paint
) -> Iterator[str]:
    """Return the related places that stand in other files or cells, those of one in one excerpt."""
    units: dict[tuple[str, int | None], list[tuple[Related, Located]]] = {}
    for each, place in related:
        if place is None:
            where = escaped(str(each.source))
            yield f"{' ' * gutter} {paint('=', 'margin')} note: {_indented(each.message)}: {where}"
        elif first is None or place.unit != first.unit:
            units.setdefault(place.unit, []).append((each, place))
    for pairs in units.values():
        yield from _excerpt(":::", pairs[0][1], _marks(pairs), gutter, paint)


def _marks(pairs: Iterable[tuple[Related, Located]]) -> list[Mark]:
    return [Mark(place.span, each.message) for each, place in pairs]


def _excerpt(arrow: str, place: Located, marks: list[Mark], gutter: int, paint: Paint) -> Iterator[str]:
    yield f"{' ' * gutter}{paint(arrow, 'margin')} {escaped(place.shown)}"
    yield from excerpt(place.lines, marks, gutter, paint)


def _summary(diagnostics: Sequence[Diagnostic], color: bool) -> Iterator[str]:
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    worst = next((severity for severity in _SEVERITIES if counts[severity]), None)
    if worst is None:
        return
    said = (f"{count} {name}{'s' * (count > 1)}" for name in _SEVERITIES if (count := counts[name]))
    yield _painter(worst, color)(", ".join(said), "primary")
    codes = sorted({diagnostic.code for diagnostic in diagnostics if diagnostic.code in code_pages()})
    if len(codes) == 1:
        yield f"'flowc explain {codes[0]}' says more"
    elif codes:
        yield f"'flowc explain {codes[0]}' says more; so do the pages of {', '.join(codes[1:])}"


def _indented(text: str) -> str:
    """Return a text of possibly several lines so that they stand below each other in a block."""
    return "\n    ".join(map(escaped, text.splitlines()))


def _painter(severity: Severity, color: bool) -> Paint:
    if not color:
        return lambda text, _: text
    from rich.color import ColorSystem
    from rich.style import Style

    styles = {name: Style.parse(style) for name, style in _STYLES.items()}
    styles["primary"] = Style.parse(_SEVERITIES[severity])
    return lambda text, style: styles[style].render(text, color_system=ColorSystem.STANDARD)


def render_json(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the diagnostics as a JSON array."""
    items: list[dict[str, Any]] = [d.model_dump(mode="json", exclude_none=True) for d in diagnostics]
    return json.dumps(items, indent=2, ensure_ascii=False)
