"""What the user wrote, at the places that diagnostics name: in Python files, in notebooks' cells, in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from flowc.check.json_places import items, keys_of, locate
from flowc.diagnostics import Source
from flowc.errors import CompileError, NotFoundError
from flowc.notebook.model import NotebookCell
from flowc.notebook.reader import is_percent_notebook, read_notebook

_MARKER = re.compile(r"# %%")
_LINE_END = re.compile(r"\r\n|\r|\n")
_TOKEN = re.compile(r"(?:async\s+)?(?:def|class)\s+\w+|\w+|.")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text. All count from 1, columns in characters; `end_column` is that behind the last one."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Located:
    """A place with the lines that its numbers count in; `shown` is how people read it.

    Places of the same `unit` stand in one excerpt. `whole` says that no column is known: the line is what is meant.
    """

    unit: tuple[str, int | None]
    shown: str
    lines: Sequence[str]
    span: Span
    whole: bool = False


class Sources:
    """The files below a project's root, read when a place in them is asked for.

    An excerpt is a courtesy: where a file can't be read, its places are None, and the diagnostic stands without.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._texts: dict[str, str | None] = {}
        self._lines: dict[str, list[str]] = {}
        self._written: dict[str, list[tuple[int, str]]] = {}
        self._cells: dict[str, Mapping[int, NotebookCell]] = {}

    def locate(self, source: Source) -> Located | None:
        """Return a place with the lines around it."""
        if source.cell is not None and source.path is None:
            return self._in_cell(source, source.cell, source.line)
        text = self.text(source.file)
        if text is None:
            return None
        if source.path is not None and source.line is None:
            return _in_json(source, text, self._lines_of(source.file))
        if source.line is None:
            return None
        return _at(source, (source.file, None), str(source), self._lines_of(source.file))

    def physical(self, source: Source) -> Span | None:
        """Return where the place is in the file itself: for a notebook, in its JSON."""
        if source.cell is None or source.path is not None or not source.file.endswith(".ipynb"):
            place = self.locate(source)
            return place.span if place else None
        written = self._written_cells(source.file)
        if source.cell >= len(written):
            return None
        line, raw = written[source.cell]
        if source.line is not None:
            line += raw.count("\n", 0, _offset_in_cell(raw, source.line))
        return Span(line, 1, line, len(self._lines_of(source.file)[line - 1]) + 1)

    def _written_cells(self, file: str) -> list[tuple[int, str]]:
        """Return the cells of a notebook's JSON as they are written, each with the line that it begins at."""
        if file not in self._written:
            text, line, at = self.text(file) or "", 1, 0
            self._written[file] = written = []
            for start, end in items(text, ("cells",)):
                line, at = line + text.count("\n", at, start), start
                written.append((line, text[start:end]))
        return self._written[file]

    def text(self, file: str) -> str | None:
        """Return a file's text, or None where it can't be read."""
        if file not in self._texts:
            try:
                self._texts[file] = (self.root / file).read_text(encoding="utf-8-sig")
            except (OSError, ValueError):
                self._texts[file] = None
        return self._texts[file]

    def _lines_of(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = lines_of(self.text(file) or "")
        return self._lines[file]

    def is_notebook(self, file: str) -> bool:
        """Say whether a file is a notebook, by its name or, for Python files, by its `# %%` lines."""
        return file.endswith(".ipynb") or is_percent_notebook(self.root / file)

    def cells(self, file: str) -> Mapping[int, NotebookCell]:
        """Return a notebook's cells, or nothing where it can't be read."""
        if file not in self._cells:
            self._cells[file] = self._read_cells(file)
        return self._cells[file]

    def _read_cells(self, file: str) -> Mapping[int, NotebookCell]:
        try:
            return {cell.index: cell for cell in read_notebook(self.root / file, self.root).cells}
        except (CompileError, NotFoundError):
            return {}  # the file's own diagnostic names JSON paths, not cells

    def _in_cell(self, source: Source, cell: int, line: int | None) -> Located | None:
        cells = self.cells(source.file)
        lines = lines_of(cells[cell].source) if cell in cells else []
        if line is None:  # the whole cell: its first line stands for it
            line = next((number for number, text in enumerate(lines, 1) if text.strip()), 1)
            return self._in_cell(source.model_copy(update={"line": line}), cell, line)
        if line > len(lines):
            return None
        if not source.file.endswith(".ipynb"):
            text = self._lines_of(source.file)
            start = _cell_start(text, cell)
            # Only what certainly is the cell's line: jupytext takes comment signs off magics, for one.
            if start is not None and text[start + line - 1 : start + line] == [lines[line - 1]]:
                moved = _in_file(source, start)
                return _at(moved, (source.file, None), f"{moved} (cell {cell})", text)
        return _at(source, (source.file, cell), str(source), lines)


def lines_of(text: str) -> list[str]:
    """Return a text's lines as Python counts them: a form feed or U+2028 ends none."""
    lines = _LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]


def _in_file(source: Source, start: int) -> Source:
    """Return a place of a cell as one of its file, in which the cell begins behind `start` lines."""
    end = None if source.end_line is None else source.end_line + start
    moved = {"cell": None, "cell_id": None, "line": (source.line or 1) + start, "end_line": end}
    return source.model_copy(update=moved)


def _cell_start(lines: Sequence[str], cell: int) -> int | None:
    """Return how many lines of a percent-format notebook stand above a cell's own, or None where it is not there."""
    markers = [number for number, line in enumerate(lines) if _MARKER.match(line)]
    first = 0
    if lines and lines[0].strip() == "# ---":  # jupytext's header
        first = next((number + 1 for number, line in enumerate(lines[1:], 1) if line.strip() == "# ---"), 0)
    above = range(first, markers[0] if markers else len(lines))
    unmarked = next(([number] for number in above if lines[number].strip()), [])
    starts = [*unmarked, *(number + 1 for number in markers)]
    return starts[cell] if cell < len(starts) else None


def _at(source: Source, unit: tuple[str, int | None], shown: str, lines: Sequence[str]) -> Located | None:
    line = source.line or 1
    if line == len(lines) + 1 and lines:  # where a file ends too early
        line, source = len(lines), source.model_copy(update={"column": len(lines[-1]) + 1})
    if line > len(lines):
        return None
    whole = source.column is None
    text = lines[line - 1]
    column = source.column or len(text) - len(text.lstrip()) + 1
    end_line, end_column = source.end_line or line, source.end_column
    if end_column is None:
        token = _TOKEN.match(text, column - 1)
        end_column = len(text) + 1 if whole else token.end() + 1 if token else column + 1
        end_line = line
    if end_line > len(lines):
        end_line, end_column = line, len(text) + 1
    return Located(unit, shown, lines, Span(line, column, end_line, end_column), whole)


def _in_json(source: Source, text: str, lines: Sequence[str]) -> Located | None:
    found = locate(text, keys_of(source.path or ""))
    if found is None:
        return None
    (line, column), (end_line, end_column) = (_position(text, offset) for offset in found)
    span = Span(line, column, end_line, end_column)
    shown = f"{source.file}:{line}:{column} at {source.path}"
    return Located((source.file, None), shown, lines, span)


def _position(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _offset_in_cell(raw: str, line: int) -> int:
    """Return where in a cell's JSON a line of its source stands; 0 where it can't be told."""
    try:
        written = json.loads(raw).get("source", "")
    except (ValueError, AttributeError):
        return 0
    place: tuple[str | int, ...] = ("source",)
    if isinstance(written, list) and written:
        ends = accumulate(str(part).count("\n") for part in written)
        place = (*place, next((number for number, end in enumerate(ends) if end >= line), len(written) - 1))
    found = locate(raw, place)
    return found[0] if found else 0
