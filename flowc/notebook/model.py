"""A notebook as data, before anything is known of what its code means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from flowc.diagnostics import Diagnostic, Related, Severity, Source


@dataclass(frozen=True, slots=True)
class NotebookCell:
    """A cell as it stands in the file. `id` is the notebook's own, or a hash of the source where it has none."""

    index: int
    id: str
    kind: Literal["code", "markdown", "raw"]
    source: str
    tags: tuple[str, ...] = ()

    def place(self, file: str, line: int | None = None, column: int | None = None) -> Source:
        """Return the diagnostics' name of a place in this cell; lines and columns count from 1."""
        return Source(file=file, line=line, column=column, cell=self.index, cell_id=self.id)


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook that was read: its file relative to the project's root, its cells in order, its metadata."""

    file: str
    cells: tuple[NotebookCell, ...]
    metadata: dict[str, Any]

    def place(self, cell: int, line: int | None = None, column: int | None = None) -> Source:
        """Return the diagnostics' name of a place in a cell. `column` is ast's, which counts bytes, and one more."""
        place = self.cells[cell].place(self.file, line, column)
        lines = self.cells[cell].source.split("\n")
        if line is None or column is None or line > len(lines) or lines[line - 1].isascii():
            return place
        before = lines[line - 1].encode("utf-8", "surrogatepass")[: column - 1]
        return self.cells[cell].place(self.file, line, len(before.decode("utf-8", "replace")) + 1)


def diagnose(
    code: str,
    message: str,
    source: Source | None,
    *,
    severity: Severity = "error",
    hint: str | None = None,
    related: tuple[tuple[str, Source], ...] = (),
) -> Diagnostic:
    """Return a diagnostic; `related` are other places with what is to be said of each."""
    return Diagnostic(
        code=code,
        severity=severity,
        message=message,
        source=source,
        hint=hint,
        related=tuple(Related(message=text, source=place) for text, place in related),
    )
