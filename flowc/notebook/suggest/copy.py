"""Suggested tags written into a copy of a notebook, in which nothing else is changed.

The text of an .ipynb file is edited where the tags stand: reading and writing it as JSON would rewrite numbers,
escapes and layout, and a diff of the copy would show more than its tags.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from flowc.errors import UsageError
from flowc.notebook.lower import compile_notebook
from flowc.notebook.reader import read_notebook

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False)
Tags = Mapping[int, tuple[str, ...]]


def write_copy(path: Path, copy: Path, tags: Tags, root: Path) -> None:
    """Write a copy of a notebook with these tags added to its cells, once the copy has been seen to compile.

    Raises UsageError where there is such a file already, or the copy can't be written.
    """
    if copy.exists():
        raise UsageError(f"{copy} is there already", hint="name a new file: nothing is overwritten")
    if copy.suffix != path.suffix:
        raise UsageError(f"the copy of {path.name} has to be a {path.suffix} file, too")
    text = path.read_bytes().decode("utf-8-sig")
    tagged = _tagged_json(text, tags) if path.suffix == ".ipynb" else _tagged_percent(text, tags)
    draft = copy.with_name(f".{copy.stem}.{os.getpid()}{copy.suffix}")
    try:
        try:
            with draft.open("x", encoding="utf-8", newline="") as file:
                file.write(tagged)
            _check(draft, path, tags, root)
            # A rename alone would overwrite what another process has written there in between.
            copy.touch(exist_ok=False)
            draft.replace(copy)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"can't write {copy}: {(error.strerror or str(error)).lower()}") from error


def _check(draft: Path, path: Path, tags: Tags, root: Path) -> None:
    """Raise where the draft is anything but the notebook with these tags, or does not compile."""
    wanted = [
        (cell.kind, cell.source, (*cell.tags, *tags.get(cell.index, ())))
        for cell in read_notebook(path, root).cells
    ]
    if [(cell.kind, cell.source, cell.tags) for cell in read_notebook(draft, root).cells] != wanted:
        raise UsageError(
            f"{path.name} can't be copied without changing its cells",
            hint="add the tags by hand: 'flowc suggest' without -o lists them",
        )
    compile_notebook(draft, root)


# -- .ipynb


@dataclass(frozen=True, slots=True)
class _Span:
    """Where a JSON value stands in a text."""

    start: int
    end: int


def _tagged_json(text: str, tags: Tags) -> str:
    top = dict(_members(text, _skip(text, 0)))
    if "cells" not in top:
        raise UsageError(
            "only notebooks of format 4 can be copied with tags",
            hint="open and save it in Jupyter, which brings it to format 4",
        )
    parts, done = [], 0
    for index, cell in enumerate(_items(text, top["cells"].start)):
        if index in tags:
            place, new = _edit(text, cell, list(tags[index]))
            parts += [text[done : place.start], new]
            done = place.end
    return "".join((*parts, text[done:]))


def _edit(text: str, cell: _Span, new: list[str]) -> tuple[_Span, str]:
    """Return what to replace in a cell, and with what."""
    members = dict(_members(text, cell.start))
    if "metadata" not in members:
        return _inserted(text, cell, {"metadata": {"tags": new}})
    metadata = members["metadata"]
    inner = dict(_members(text, metadata.start))
    if "tags" not in inner:
        return _inserted(text, metadata, {"tags": new})
    tags = inner["tags"]
    old, _ = _DECODER.raw_decode(text, tags.start)
    return tags, _laid_out(text, tags.start, [*old, *new])


def _inserted(text: str, parent: _Span, member: dict[str, object]) -> tuple[_Span, str]:
    """Return an object's beginning, and the same with a member put in first."""
    first = _skip(text, parent.start + 1)
    written = _laid_out(text, parent.start, member)
    if text[first] == "}":
        return _Span(parent.start, first + 1), written
    opened = written.rstrip("}").rstrip()
    return _Span(parent.start, first), f"{opened},{text[parent.start + 1 : first]}"


def _laid_out(text: str, start: int, value: object) -> str:
    """Return a value as JSON, in a file of one line on one line, else indented like the line that it begins on."""
    if "\n" not in text.strip():
        return json.dumps(value, ensure_ascii=False)
    line = text[text.rfind("\n", 0, start) + 1 : start]
    margin = line[: len(line) - len(line.lstrip())]
    return json.dumps(value, ensure_ascii=False, indent=1).replace("\n", "\n" + margin)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _members(text: str, start: int) -> Iterator[tuple[str, _Span]]:
    """Yield an object's members with where their values stand; the text is known to be JSON."""
    position = _skip(text, start + 1)
    while text[position] != "}":
        key, position = _DECODER.raw_decode(text, position)
        value = _skip(text, _skip(text, position) + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield key, _Span(value, end)
        position = _next(text, end)


def _items(text: str, start: int) -> Iterator[_Span]:
    """Yield where an array's items stand."""
    position = _skip(text, start + 1)
    while text[position] != "]":
        _, end = _DECODER.raw_decode(text, position)
        yield _Span(position, end)
        position = _next(text, end)


def _next(text: str, end: int) -> int:
    position = _skip(text, end)
    return _skip(text, position + 1) if text[position] == "," else position


# -- percent files


def _tagged_percent(text: str, tags: Tags) -> str:
    import jupytext

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notebook = jupytext.reads(text, fmt="py:percent")
        for index, new in tags.items():
            metadata = notebook.cells[index].metadata
            metadata["tags"] = [*metadata.get("tags", ()), *new]
        options = notebook.metadata.setdefault("jupytext", {})
        kept = options.get("cell_metadata_filter", "all")
        if not {"all", "tags"} & set(kept.split(",")):
            options["cell_metadata_filter"] = f"tags,{kept}"
        if not text.startswith("# ---"):
            # Without this, jupytext would put a header of its own on top of a file that has none.
            options["notebook_metadata_filter"] = "-all"
        return str(jupytext.writes(notebook, fmt="py:percent"))
