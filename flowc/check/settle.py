"""From what was found to what is said: each thing once, without what is ignored, as severe as the project wants it,
with a hint, sorted by place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from flowc.check.codes import code_pages
from flowc.check.ignores import Ignore, functions_at, read_ignores, without_ignored
from flowc.check.sources import Sources
from flowc.diagnostics import Diagnostic, Source
from flowc.ir import Pipeline

Level = Literal["error", "warning", "note", "off"]


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How a project wants to be checked: levels by code or by the beginning of codes, and the rules of --strict."""

    levels: Mapping[str, Level] = field(default_factory=dict)
    strict: bool = False

    def level(self, code: str) -> Level | None:
        """Return the level that is asked for: that of the longest beginning."""
        named = [start for start in self.levels if code.startswith(start)]
        return self.levels[max(named, key=len)] if named else None


def settle(
    found: Iterable[Diagnostic], options: CheckOptions, sources: Sources, pipeline: Pipeline | None = None
) -> tuple[Diagnostic, ...]:
    """Return what is to be said of what was found.

    `pipeline` is what was checked to the end: what is ignored in it and was not found is said too.
    """
    once = list(dict.fromkeys(found))
    files = {diagnostic.source.file for diagnostic in once if diagnostic.source}
    if pipeline is not None and pipeline.source is not None:
        files.add(pipeline.source.file)
    ignores = [ignore for file in sorted(files) for ignore in read_ignores(sources, file)]
    checked = _checked(pipeline, options, sources)
    settled = (_leveled(each, options) for each in without_ignored(once, ignores, checked))
    return tuple(sorted((_hinted(each) for each in settled if each is not None), key=_order))


def _hinted(diagnostic: Diagnostic) -> Diagnostic:
    """Return a diagnostic that says what to do: by its own hint, else as its code's page has it."""
    if diagnostic.hint is not None:
        return diagnostic
    return diagnostic.model_copy(update={"hint": code_pages()[diagnostic.code].hint})


def _leveled(diagnostic: Diagnostic, options: CheckOptions) -> Diagnostic | None:
    level = options.level(diagnostic.code)
    if level is None or diagnostic.severity == "error":
        return diagnostic  # what can't run stays an error, whatever is said of its code
    return None if level == "off" else diagnostic.model_copy(update={"severity": level})


def _order(diagnostic: Diagnostic) -> tuple[object, ...]:
    source = diagnostic.source or Source(file="\U0010ffff")  # what has no place comes last
    return (source.file, -1 if source.cell is None else source.cell, source.line or 0, source.column or 0)


def _checked(pipeline: Pipeline | None, options: CheckOptions, sources: Sources) -> Callable[[Ignore], bool]:
    """Return what says of an ignore whether its code was looked for where it stands."""
    if pipeline is None or pipeline.source is None:
        return lambda _: False
    file, notebook = pipeline.source.file, bool(pipeline.cells)
    starts = (pipeline.source, *(component.source for component in pipeline.components.values()))
    own = functions_at(sources.text(file) or "", (each for each in starts if each and each.file == file))

    def looked_for(ignore: Ignore) -> bool:
        asked = options.strict or not code_pages()[ignore.code].strict
        inside = notebook or any((ignore.line or 0) in lines for lines in own)
        return ignore.source.file == file and asked and inside and options.level(ignore.code) != "off"

    return looked_for
