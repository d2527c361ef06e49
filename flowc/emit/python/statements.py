"""A notebook's cells as statements, each with the lines that the user wrote for it, comments included."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flowc.diagnostics import Source
from flowc.emit.python.names import Names, names_of
from flowc.ir import Cell

_DIRECTIVE = "#| flowc:"


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a statement's lines that is written otherwise; the place is that of a syntax node."""

    node: ast.expr | ast.stmt
    text: str


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement at the top of a cell. `comments` stand above it, `after` behind it and below."""

    file: str
    cell: Cell
    position: int
    node: ast.stmt
    comments: str
    after: str

    @functools.cached_property
    def names(self) -> Names:
        return names_of(self.node)

    @property
    def source(self) -> Source:
        return place(self.file, self.cell, self.node)

    def code(self, edits: Iterable[Edit] = ()) -> str:
        """Return the user's lines with the edits made."""
        lines = [line.encode() for line in self.cell.source.split("\n")]
        first, last = _first_line(self.node), _end_line(self.node)
        start = self.node.col_offset if first == self.node.lineno else 0
        _cut(lines, last, self.node.end_col_offset or 0)
        for edit in sorted(edits, key=lambda edit: (edit.node.lineno, edit.node.col_offset), reverse=True):
            _replace(lines, edit)
        lines[first - 1] = lines[first - 1][start:]
        return b"\n".join(line for line in lines[first - 1 : last] if line is not _GONE).decode()

    def text(self, edits: Iterable[Edit] = ()) -> str:
        """Return the user's lines with the comments around them."""
        code = self.code(edits)
        return "\n".join(part for part in (self.comments, code + self.after if code else "") if part)


_GONE = b"\x00gone"


def _cut(lines: list[bytes], line: int, column: int) -> None:
    lines[line - 1] = lines[line - 1][:column]


def _replace(lines: list[bytes], edit: Edit) -> None:
    """Replace a node's text; the lines below keep their numbers, those that it took up besides are marked gone."""
    first, last = edit.node.lineno - 1, _end_line(edit.node) - 1
    rest = lines[last][edit.node.end_col_offset :]
    lines[first] = lines[first][: edit.node.col_offset] + edit.text.encode() + rest
    for number in range(first + 1, last + 1):
        lines[number] = _GONE


def place(file: str, cell: Cell, node: ast.expr | ast.stmt) -> Source:
    """Return where in the notebook a syntax node stands."""
    return Source(file=file, line=node.lineno, column=node.col_offset + 1, cell=cell.index, cell_id=cell.id)


def statements_of(file: str, cell: Cell) -> tuple[Statement, ...]:
    """Return a cell's statements in order."""
    body = ast.parse(cell.source).body
    return tuple(
        Statement(file, cell, number, node, *_surroundings(cell, body, number))
        for number, node in enumerate(body)
    )


def _surroundings(cell: Cell, body: list[ast.stmt], number: int) -> tuple[str, str]:
    """Return the lines above a statement that belong to it, and what follows it on its line and, at the end, below."""
    lines = cell.source.split("\n")
    node = body[number]
    above = _end_line(body[number - 1]) if number else 0
    comments = lines[above : _first_line(node) - 1]
    following = body[number + 1] if number + 1 < len(body) else None
    behind = ""
    if following is None or _first_line(following) > _end_line(node):
        behind = (
            lines[_end_line(node) - 1].encode()[node.end_col_offset :].decode().strip().lstrip(";").strip()
        )
    below = lines[_end_line(node) :] if following is None else []
    after = ("  " + behind if behind else "") + "".join("\n" + line for line in below)
    return "\n".join(_without_directives(comments)), after.rstrip()


def _without_directives(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if not line.startswith(_DIRECTIVE))


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _end_line(node: ast.expr | ast.stmt) -> int:
    return node.end_lineno or node.lineno
