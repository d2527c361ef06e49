"""From a notebook's file to its cells. Whatever is wrong with the file is a diagnostic with its JSON path."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from pathlib import Path
from typing import Any, Literal

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError, NotFoundError
from flowc.notebook.model import Notebook, NotebookCell, diagnose
from flowc.project import relative_to_root

_PERCENT = re.compile(r"^# %%", re.MULTILINE)
_KINDS: dict[str, Literal["code", "markdown", "raw"]] = {
    "code": "code",
    "markdown": "markdown",
    "heading": "markdown",
    "raw": "raw",
}
_PYTHON_NAMES = frozenset(("python", "python3", "ipython", "ipython3"))


def is_percent_notebook(path: Path) -> bool:
    """Say whether a Python file is a notebook in the percent format: it has a line that starts with `# %%`."""
    if path.suffix != ".py":
        return False
    try:
        return _PERCENT.search(path.read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def read_notebook(path: Path, root: Path) -> Notebook:
    """Read an .ipynb file of any format version, or a percent-format .py file.

    Raises NotFoundError where there is no such file, CompileError with all that is wrong with it otherwise.
    """
    file = relative_to_root(path, root)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"no such notebook: {path}") from error
    except OSError as error:
        raise _refused("FC010", f"the notebook can't be read: {error.strerror}", Source(file=file)) from error
    except UnicodeDecodeError as error:
        message = f"not UTF-8: {error.reason} at byte {error.start}"
        raise _refused("FC010", message, Source(file=file), "save the notebook as UTF-8") from error
    if path.suffix == ".ipynb":
        return _checked(_upgraded(_parsed(text, file), file), file)
    return _checked(_from_percent(text, file), file)


def _parsed(text: str, file: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        place = Source(file=file, line=error.lineno, column=error.colno)
        raise _refused("FC010", f"not JSON: {error.msg}", place, "open and save it in Jupyter") from error
    except (RecursionError, ValueError) as error:
        raise _refused("FC010", f"not JSON that can be read: {error}", Source(file=file)) from error
    if not isinstance(data, dict):
        raise _refused(
            "FC010", "this JSON is not a notebook: an object is expected", Source(file=file, path="$")
        )
    return data


def _upgraded(data: dict[str, Any], file: str) -> dict[str, Any]:
    """Return the notebook in format 4; a notebook of format 4 is taken as it stands, outputs and all unread."""
    major = data.get("nbformat", 4)
    if not isinstance(major, int) or isinstance(major, bool) or not 2 <= major <= 4:
        place = Source(file=file, path="nbformat")
        raise _refused("FC011", f"notebook format {major!r} is not known: 2, 3 and 4 are", place)
    if major == 4:
        return data
    import nbformat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            upgraded = nbformat.convert(nbformat.from_dict(data), 4)  # type: ignore[no-untyped-call]
    # nbformat's upgrade trusts its input: malformed files make it fail in any way at all.
    except Exception as error:
        message = f"a notebook of format {major} that can't be upgraded: {type(error).__name__}: {error}"
        raise _refused(
            "FC011", message, Source(file=file, path="$"), "open and save it in Jupyter"
        ) from error
    return _without_ids(upgraded)


def _from_percent(text: str, file: str) -> dict[str, Any]:
    try:
        import jupytext
    except ModuleNotFoundError as error:
        message = "a percent-format notebook needs jupytext, which is not installed"
        raise _refused("FC013", message, Source(file=file), "install flowc[notebook]") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _without_ids(jupytext.reads(text, fmt="py:percent"))
    # jupytext parses YAML and cell options by several libraries, each with errors of its own.
    except Exception as error:
        message = f"jupytext can't read this file: {type(error).__name__}: {error}"
        raise _refused("FC011", message, Source(file=file)) from error


def _without_ids(document: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook without the ids that a library gave its cells: they are others at each reading."""
    cells = [{key: value for key, value in cell.items() if key != "id"} for cell in document["cells"]]
    return {**document, "cells": cells}


def _checked(data: dict[str, Any], file: str) -> Notebook:
    problems: list[Diagnostic] = []
    metadata = data.get("metadata", {})
    if not isinstance(metadata, dict):
        problems.append(_malformed(file, "metadata", metadata, "an object"))
        metadata = {}
    problems += _language_problems(metadata, file)
    raw_cells = data.get("cells")
    if not isinstance(raw_cells, list):
        message = "this JSON is not a notebook: it has no list of 'cells'"
        raise CompileError([*problems, diagnose("FC010", message, Source(file=file, path="cells"))])
    cells = []
    for index, raw in enumerate(raw_cells):
        cell, wrong = _cell(index, raw, file)
        problems += wrong
        cells.append(cell)
    problems += _duplicate_ids(raw_cells, file)
    if problems:
        raise CompileError(problems)
    return Notebook(file, tuple(cells), dict(metadata))


def _language_problems(metadata: dict[str, Any], file: str) -> list[Diagnostic]:
    problems = []
    for key, field in (("kernelspec", "language"), ("language_info", "name")):
        about = metadata.get(key, {})
        if not isinstance(about, dict):
            problems.append(_malformed(file, f"metadata.{key}", about, "an object"))
            continue
        language = about.get(field)
        if language is None:
            continue
        if not isinstance(language, str):
            problems.append(_malformed(file, f"metadata.{key}.{field}", language, "a string"))
        elif language.lower() not in _PYTHON_NAMES:
            place = Source(file=file, path=f"metadata.{key}.{field}")
            problems.append(
                diagnose("FC012", f"the notebook is written in {language}; flowc reads Python", place)
            )
            break
    return problems


def _cell(index: int, raw: Any, file: str) -> tuple[NotebookCell, list[Diagnostic]]:
    path = f"cells[{index}]"
    if not isinstance(raw, dict):
        return NotebookCell(index, "", "raw", ""), [_malformed(file, path, raw, "an object")]
    problems = []
    kind = raw.get("cell_type")
    if not isinstance(kind, str) or kind not in _KINDS:
        problems.append(_malformed(file, f"{path}.cell_type", kind, "'code', 'markdown' or 'raw'"))
    source = raw.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        problems.append(_malformed(file, f"{path}.source", source, "a string or a list of strings"))
        source = ""
    tags, wrong = _tags(raw.get("metadata", {}), path, file)
    cell_id = raw.get("id")
    if cell_id is not None and not isinstance(cell_id, str):
        problems.append(_malformed(file, f"{path}.id", cell_id, "a string"))
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    identity = cell_id if isinstance(cell_id, str) else digest
    named = _KINDS[kind] if isinstance(kind, str) and kind in _KINDS else "raw"
    return NotebookCell(index, identity, named, source, tags), problems + wrong


def _tags(metadata: Any, path: str, file: str) -> tuple[tuple[str, ...], list[Diagnostic]]:
    if not isinstance(metadata, dict):
        return (), [_malformed(file, f"{path}.metadata", metadata, "an object")]
    tags = metadata.get("tags", [])
    if not isinstance(tags, list):
        hint = f'write ["{tags}"]' if isinstance(tags, str) else None
        return (), [_malformed(file, f"{path}.metadata.tags", tags, "a list of strings", hint)]
    problems = [
        _malformed(file, f"{path}.metadata.tags[{position}]", tag, "a string")
        for position, tag in enumerate(tags)
        if not isinstance(tag, str)
    ]
    return tuple(tag for tag in tags if isinstance(tag, str)), problems


def _duplicate_ids(raw_cells: list[Any], file: str) -> list[Diagnostic]:
    first: dict[str, int] = {}
    problems = []
    for index, raw in enumerate(raw_cells):
        identity = raw.get("id") if isinstance(raw, dict) else None
        if not isinstance(identity, str):
            continue
        if identity in first:
            problems.append(
                diagnose(
                    "FC011",
                    f"the cell id {identity!r} is already that of cell {first[identity]}",
                    Source(file=file, path=f"cells[{index}].id", cell=index, cell_id=identity),
                    hint="open and save the notebook in Jupyter, which gives new ids",
                    related=(("first used here", Source(file=file, path=f"cells[{first[identity]}].id")),),
                )
            )
        first.setdefault(identity, index)
    return problems


def _malformed(file: str, path: str, found: Any, wanted: str, hint: str | None = None) -> Diagnostic:
    shown = "nothing" if found is None else f"{type(found).__name__} {str(found)[:40]!r}"
    return diagnose("FC011", f"{wanted} is expected, found {shown}", Source(file=file, path=path), hint=hint)


def _refused(code: str, message: str, place: Source, hint: str | None = None) -> CompileError:
    return CompileError([diagnose(code, message, place, hint=hint)])
