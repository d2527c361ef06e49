"""The generated text: literals, wrapped calls and signatures, docstrings, and the user's lines moved to the right."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence
from itertools import zip_longest

WIDTH = 88
INNER_WIDTH = WIDTH - 4
INDENT = "    "


def quoted(text: str) -> str:
    """Return a text as a Python literal, in double quotes where that needs no more escapes."""
    literal = repr(text)
    return literal if '"' in text or "'" in text else f'"{literal[1:-1]}"'


def triple_quoted(text: str) -> str:
    """Return a text of several lines as a literal that shows them as they are."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    printable = all(char.isprintable() or char in "\n\t" for char in escaped)
    return f'"""{escaped}"""' if printable else repr(text)


def without_heading(markdown: str) -> str:
    """Return a description without the marks that make its first line a heading."""
    return re.sub(r"\A\s*#+\s+(.*?)[ \t]*#*[ \t]*$", r"\1", markdown, flags=re.MULTILINE)


def docstring(text: str, indent: str = "") -> str:
    """Return a docstring to stand at an indent, its quotes on a line of their own where it has several lines."""
    first, *lines = (line.rstrip() for line in text.strip().splitlines())
    rest = "".join(f"\n{indent}{line}" if line else "\n" for line in lines)
    return triple_quoted(first + rest + (f"\n{indent}" if lines else ""))


def call(
    head: str,
    arguments: Sequence[str],
    tail: str = "",
    width: int = WIDTH,
    comments: Sequence[str] = (),
) -> str:
    """Return `head(arguments)tail` on one line where it fits, else with an argument a line, and its comment if any."""
    one_line = f"{head}({', '.join(arguments)}){tail}"
    if (len(one_line) <= width or not arguments) and not any(comments):
        return one_line
    noted = zip_longest(
        arguments, (f"  # {comment}" if comment else "" for comment in comments), fillvalue=""
    )
    return "\n".join((f"{head}(", *(f"{INDENT}{argument},{note}" for argument, note in noted), f"){tail}"))


def indented(text: str) -> str:
    """Return Python text one level deeper. Lines inside of strings stay as they are, and so does their value."""
    fixed = _inside_strings(text)
    lines = text.split("\n")
    return "\n".join(
        line if number in fixed or not line.strip() else INDENT + line for number, line in enumerate(lines, 1)
    )


def tidy(text: str) -> str:
    """Return Python text without blanks at the ends of lines and without several blank lines in a row."""
    fixed = _inside_strings(text)
    kept: list[str] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if number in fixed or number + 1 in fixed:  # a string that goes on may end in blanks
            kept.append(line)
        elif line.strip() or (kept and kept[-1].strip()):
            kept.append(line.rstrip())
    return "\n".join(kept).strip("\n")


def _inside_strings(text: str) -> set[int]:
    """Return the numbers of the lines that begin inside of a string."""
    inside: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
        elif kind.endswith("STRING_START"):  # an f-string, since Python 3.12
            opened.append(token.start[0])
        elif kind.endswith("STRING_END"):
            inside.update(range(opened.pop() + 1, token.end[0] + 1))
    return inside
