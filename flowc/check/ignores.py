"""Comments that take diagnostics away: `# flowc: ignore[FC208] reason`, and the tag `ignore:FC208` of a cell.

A comment counts for what is underlined at its line, or, alone on a line, at the next line of code. Only what leaves
a run possible can be ignored: warnings and notes.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from flowc.check.codes import code_pages, near_codes
from flowc.check.sources import Sources, lines_of
from flowc.diagnostics import Diagnostic, Related, Source
from flowc.notebook.tags import words_of

_COMMENT = re.compile(r"#\s*flowc:\s*ignore\b(?:\[(?P<codes>[^\]]*)\])?")
_SHELL = re.compile(r"\s*[!%]")
_TAG = "ignore:"


@dataclass(frozen=True, slots=True)
class Ignore:
    """One code that a comment or a tag names. `line` is the line that it counts for, None for a whole cell."""

    code: str
    source: Source
    line: int | None

    def covers(self, diagnostic: Diagnostic) -> bool:
        place = diagnostic.source
        if place is None or diagnostic.code != self.code:
            return False
        if (place.file, place.cell) != (self.source.file, self.source.cell):
            return False
        if self.line is None:
            return True
        return place.line is not None and place.line <= self.line <= (place.end_line or place.line)


def without_ignored(
    found: Sequence[Diagnostic], ignores: Sequence[Ignore], checked: Callable[[Ignore], bool]
) -> Iterator[Diagnostic]:
    """Return what is not ignored, and what is to be said of the ignores themselves.

    `checked` says of an ignore whether all that could be found where it stands was looked for.
    """
    used: set[Ignore] = set()
    for diagnostic in found:
        covering = [ignore for ignore in ignores if ignore.covers(diagnostic)]
        used.update(covering)
        if not covering or diagnostic.severity == "error":
            yield diagnostic
        if diagnostic.severity == "error":
            yield from (_not_ignored(ignore, diagnostic) for ignore in covering)
    for ignore in ignores:
        if ignore.code not in code_pages():
            yield _unknown(ignore)
        elif ignore not in used and checked(ignore):
            message = f"{ignore.code} is ignored here, and there is none"
            hint = "take the comment away"
            yield Diagnostic(code="FC041", severity="note", message=message, source=ignore.source, hint=hint)


def _not_ignored(ignore: Ignore, diagnostic: Diagnostic) -> Diagnostic:
    place = diagnostic.source
    return Diagnostic(
        code="FC042",
        severity="warning",
        message=f"{ignore.code} is an error here, which can't be ignored: only warnings and notes can",
        source=ignore.source,
        hint="mend what it says, and take the comment away",
        related=(Related(message="the error", source=place),) if place else (),
    )


def _unknown(ignore: Ignore) -> Diagnostic:
    known = code_pages()
    message = f"there is no code '{ignore.code}' to ignore" if ignore.code else "the ignore names no code"
    hint = (
        near_codes(ignore.code, known)
        if ignore.code
        else "write # flowc: ignore[CODE] with the code that is shown"
    )
    return Diagnostic(code="FC040", severity="warning", message=message, source=ignore.source, hint=hint)


def read_ignores(sources: Sources, file: str) -> Iterator[Ignore]:
    """Return the ignores of a Python file or of a notebook's cells."""
    if "ignore" not in (sources.text(file) or ""):
        return  # a notebook may be large, and few files have any
    if sources.is_notebook(file):
        for cell in sources.cells(file).values():
            if cell.kind == "code":
                yield from _in_code(cell.source, cell.place(file))
                words = (word for word in words_of(cell) if word.startswith(_TAG))
                yield from (Ignore(word.removeprefix(_TAG), cell.place(file), None) for word in words)
    elif file.endswith(".py"):
        yield from _in_code(sources.text(file) or "", Source(file=file))


def _in_code(text: str, place: Source) -> Iterator[Ignore]:
    if not _COMMENT.search(text):
        return
    lines = lines_of(text)
    for line, column, comment in _comments(text):
        match = _COMMENT.search(comment)
        if match is None:
            continue
        start = column + match.start() + 1
        found = {"line": line, "column": start, "end_line": line, "end_column": start + len(match.group())}
        source = place.model_copy(update=found)
        alone = not lines[line - 1][:column].strip()
        target = _next_code(lines, line) if alone else line
        for code in (match["codes"] or "").split(","):
            yield Ignore(code.strip(), source, target)


def _comments(text: str) -> Iterator[tuple[int, int, str]]:
    """Return the comments of Python code, each with its line and column; texts that look like one are none."""
    readable = "\n".join(_as_python(line) for line in text.split("\n"))
    try:
        for token in tokenize.generate_tokens(io.StringIO(readable).readline):
            if token.type == tokenize.COMMENT:
                yield (*token.start, token.string)
    except (tokenize.TokenError, SyntaxError):
        return  # what comes behind can't be told from a text; the code has a diagnostic of its own


def _as_python(line: str) -> str:
    """Return a line with IPython's own words blanked: only a comment behind them counts."""
    if not _SHELL.match(line):
        return line
    comment = _COMMENT.search(line)
    return " " * comment.start() + line[comment.start() :] if comment else ""


def _next_code(lines: Sequence[str], line: int) -> int:
    for number in range(line, len(lines)):
        if (text := lines[number].strip()) and not text.startswith("#"):
            return number + 1
    return line


def functions_at(text: str, starts: Iterable[Source | None]) -> list[range]:
    """Return the lines of the functions of a Python file that begin at these places."""
    wanted = {source.line for source in starts if source}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in functions
        if node.lineno in wanted
    ]
