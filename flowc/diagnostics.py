"""What the compiler has to say about a pipeline: a code, a place, a message and a hint, as data.

Lives below the front ends, since they all make diagnostics; `flowc.check` has the rules and the rendering.
"""

from __future__ import annotations

import json
import re
from typing import Literal

from flowc.frozen import Frozen

Severity = Literal["error", "warning", "note"]


class Source(Frozen):
    """A place in what the user wrote. Lines and columns count from 1; `cell` is the notebook's index from 0.

    `file` is relative to the project's root, with forward slashes, when it lies below it. For a notebook, lines
    count within the cell. For IR JSON, `path` is the JSON path.
    """

    file: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    cell: int | None = None
    cell_id: str | None = None
    path: str | None = None

    def within(self, *keys: str | int) -> Source:
        """Return the place of a part, where this place is one of a JSON file; else this place itself."""
        if self.path is None:
            return self
        return self.model_copy(update={"path": self.path + "".join(map(_step, keys))})

    def __str__(self) -> str:
        text = self.file
        if self.cell is not None:
            text += f" cell {self.cell}" + (f" (id {self.cell_id})" if self.cell_id else "")
        if self.path is not None:
            text += f" at {self.path}"
        if self.line is not None:
            place = f"{self.line}" + (f":{self.column}" if self.column is not None else "")
            text += f" line {place}" if self.cell is not None else f":{place}"
        return text


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if re.fullmatch(r"[\w-]+", key) else f"[{json.dumps(key, ensure_ascii=False)}]"


class Related(Frozen):
    """A second place that a diagnostic speaks of."""

    message: str
    source: Source


class Diagnostic(Frozen):
    """One thing the compiler found. Codes: FC0xx reading and tags, FC1xx graph, FC2xx names and effects, FC3xx
    types, FC4xx resources and runners, FC5xx state that won't cross a step."""

    code: str
    severity: Severity = "error"
    message: str
    source: Source | None = None
    hint: str | None = None
    related: tuple[Related, ...] = ()
