"""Diagnostics for code hosts: GitHub's workflow commands, and SARIF 2.1.0 (OASIS), which most hosts and editors read.

Files are named from `base`, the top of the repository. A notebook's places are lines of its JSON, as hosts show it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from flowc.check.codes import CodePage, code_pages
from flowc.check.excerpt import escaped
from flowc.check.markdown import page_text
from flowc.check.sources import Sources, Span
from flowc.diagnostics import Diagnostic, Source

_COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}


def repository_of(root: Path) -> Path:
    """Return the top of the repository that a project is in, or the project's root outside of any."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def render_github(diagnostics: Sequence[Diagnostic], sources: Sources, base: Path) -> str:
    """Return a workflow command for each diagnostic: GitHub shows them at their lines in a pull request."""
    return "".join(f"{_command(diagnostic, sources, base)}\n" for diagnostic in diagnostics)


def _command(diagnostic: Diagnostic, sources: Sources, base: Path) -> str:
    properties: dict[str, str | int] = {}
    message = diagnostic.message
    if source := diagnostic.source:
        properties["file"] = _path(source, sources, base)
        if span := sources.physical(source):
            properties |= {"line": span.line, "endLine": span.end_line}
            if span.line == span.end_line:
                properties |= {"col": span.column, "endColumn": span.end_column}
        if source.cell is not None or source.path is not None:
            message = f"{source}: {message}"
    properties["title"] = f"flowc {diagnostic.code}"
    lines = [message, *(f"{each.source}: {each.message}" for each in diagnostic.related)]
    if diagnostic.hint:
        lines.append(f"hint: {diagnostic.hint}")
    said = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    text = "\n".join(escaped(line) for each in lines for line in each.splitlines())
    return f"::{_COMMANDS[diagnostic.severity]} {said}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _path(source: Source, sources: Sources, base: Path) -> str:
    file = sources.root / source.file
    return file.relative_to(base).as_posix() if file.is_relative_to(base) else file.as_posix()


def render_sarif(diagnostics: Sequence[Diagnostic], sources: Sources, base: Path, version: str) -> str:
    """Return the diagnostics as a SARIF log of one run, with the pages of the codes that are in it as rules."""
    codes = sorted({diagnostic.code for diagnostic in diagnostics})
    driver = {"name": "flowc", "version": version, "rules": [_rule(code_pages()[code]) for code in codes]}
    results = [_result(diagnostic, codes, sources, base) for diagnostic in diagnostics]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _rule(page: CodePage) -> dict[str, Any]:
    return {
        "id": page.code,
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": " ".join(page.why.split())},
        "help": {"text": f"{' '.join(page.why.split())} {page.fix}", "markdown": page_text(page)},
        "defaultConfiguration": {"level": page.severity},
    }


def _result(diagnostic: Diagnostic, codes: list[str], sources: Sources, base: Path) -> dict[str, Any]:
    hint = f"\n{diagnostic.hint}" if diagnostic.hint else ""
    related = [
        {"id": number, "message": {"text": each.message}, **_location(each.source, sources, base)}
        for number, each in enumerate(diagnostic.related)
    ]
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": diagnostic.severity,
        "message": {"text": diagnostic.message + hint},
        "locations": [_location(diagnostic.source, sources, base)] if diagnostic.source else [],
        **({"relatedLocations": related} if related else {}),
    }


def _location(source: Source, sources: Sources, base: Path) -> dict[str, Any]:
    path = _path(source, sources, base)
    outside = path.startswith("/")
    artifact = {"uri": Path(path).as_uri()} if outside else {"uri": quote(path), "uriBaseId": "%SRCROOT%"}
    physical: dict[str, Any] = {"artifactLocation": artifact}
    if span := sources.physical(source):
        physical["region"] = _region(span)
    logical = list(_logical(source))
    return {"physicalLocation": physical, **({"logicalLocations": logical} if logical else {})}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _logical(source: Source) -> Iterator[dict[str, str]]:
    if source.cell is not None:
        name = f"cell {source.cell}" + (f" (id {source.cell_id})" if source.cell_id else "")
        within = f" line {source.line}" if source.line is not None else ""
        yield {"name": name, "fullyQualifiedName": f"{source.file} {name}{within}"}
    elif source.path is not None:
        yield {"name": source.path, "fullyQualifiedName": f"{source.file} {source.path}"}
