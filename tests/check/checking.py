"""Read the tables of cases in tests/cases/check, and make of each the file that `flowc run` is given.

A case is one of: `python`, a file; `makes` and `takes`, two annotations that meet; `parameter` and `takes`;
`value` and `takes`; `cells`, a notebook; `file`, any text under the name `named`; or `python` with `change` and
`remove`, by JSON path, of the pipeline that it compiles to. `classes` is put above the short forms; a table's
`source` is put above the `python` of all its cases.

In texts, « and » enclose the place that a diagnostic is at, character by character; nothing between them is the
end of a line. `path` is a place in JSON, and `whole` says that the file as a whole is meant. Of a wrong case, `code`
is what has to be said, as `severity` (an error if it is not given), and `hint` a part of what to do; several are lists.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from flowc import api
from flowc.check.json_places import keys_of
from flowc.check.sources import Span, lines_of
from flowc.ir.json import dump_pipeline

FOLDER = Path(__file__).parents[1] / "cases" / "check"
BEFORE = """\
import dataclasses
import datetime
import enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar

from pydantic import BaseModel, Field, SecretStr

from flowc import *


def ran():
    Path(__file__).with_suffix(".ran").touch()

"""
MADE = """
{classes}
@component
def make() -> {makes}:
    ran()


@component
def take(thing: {takes}) -> None:
    ran()


@pipeline
def case({parameter}):
    «take({given})»
"""


@dataclass(frozen=True)
class Place:
    """Where a diagnostic has to be: a part of a text, in a cell or not, or a JSON path; or a file as a whole."""

    span: Span | None = None
    cell: int | None = None
    path: str | None = None


@dataclass(frozen=True)
class Written:
    """A case's file, and the places that are marked in it, in order."""

    target: Path
    places: tuple[Place, ...]


def cases(kind: str) -> list[Any]:
    """Return the cases of a folder for a test that takes a case and the name of its file, which is its own."""
    found = []
    for file in sorted((FOLDER / kind).glob("*.toml")):
        table = tomllib.loads(file.read_text("utf-8"))
        for number, case in enumerate(table["case"]):
            name, title = f"case_{kind}_{file.stem}_{number}", f"{file.stem}: {case['name']}"
            if "source" in table:
                case["python"] = table["source"] + case.get("python", "")
            found.append(pytest.param(case, name, id=title))
    return found


def write_case(case: dict[str, Any], folder: Path, name: str) -> Written:
    """Write the case's file below the folder, under a name of its own."""
    if "file" in case:
        written = _write(folder / case["named"].replace("NAME", name), case["file"])
    elif "cells" in case:
        written = _write_notebook(folder / f"{name}.ipynb", case["cells"])
    else:
        written = _write(folder / f"{name}.py", BEFORE + (case.get("python") or _source(case)))
        if "change" in case or "remove" in case:
            written = _write(folder / f"{name}.json", _edited(written.target, case))
    if case.get("whole"):
        return replace(written, places=(Place(),))
    return replace(written, places=(Place(path=case["path"]),)) if "path" in case else written


def _edited(target: Path, case: dict[str, Any]) -> str:
    ir = json.loads(dump_pipeline(api.compile(api.load_target(target.name, target.parent)).pipeline))
    for path, value in case.get("change", {}).items():
        *above, last = keys_of(path)
        _part(ir, above)[last] = value
    for path in case.get("remove", []):
        *above, last = keys_of(path)
        del _part(ir, above)[last]
    return json.dumps(ir, indent=2)


def _source(case: dict[str, Any]) -> str:
    filled = {
        "classes": case.get("classes", ""),
        "makes": case.get("makes", "None"),
        "takes": case["takes"],
        "parameter": f"thing: {case['parameter']}" if "parameter" in case else "",
        "given": case.get("value", "make()" if "makes" in case else "thing"),
    }
    return MADE.format(**filled)


def _part(data: Any, keys: list[Any]) -> Any:
    for key in keys:
        data = data[key]
    return data


def _write(file: Path, text: str) -> Written:
    plain, spans = unmarked(text)
    file.write_text(plain, encoding="utf-8")
    return Written(file, tuple(map(Place, spans)))


def _write_notebook(file: Path, cells: list[list[str]]) -> Written:
    document: dict[str, Any] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    places = []
    for index, (tags, marked) in enumerate(cells):
        source, spans = unmarked(marked)
        places += [Place(span, index) for span in spans]
        cell = {"cell_type": "code", "id": f"c{index}", "metadata": {"tags": tags.split()}, "source": source}
        document["cells"].append({**cell, "outputs": [], "execution_count": None})
    file.write_text(json.dumps(document), encoding="utf-8")
    return Written(file, tuple(places))


def unmarked(text: str) -> tuple[str, list[Span]]:
    """Return a text without its marks, and what they enclose, in the order of the opening ones."""
    plain = ""
    opened: list[tuple[int, tuple[int, int]]] = []
    spans: dict[int, Span | None] = {}
    for char in text:
        if char == "«":
            opened.append((len(spans), _position(plain)))
            spans[len(spans)] = None
        elif char == "»":
            number, start = opened.pop()
            line, column = _position(plain)
            spans[number] = Span(*start, line, column + (start == (line, column)))
        else:
            plain += char
    return plain, [span for span in spans.values() if span]


def _position(text: str) -> tuple[int, int]:
    lines = lines_of(text + "x")
    return len(lines), len(lines[-1])
