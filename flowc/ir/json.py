"""The IR's JSON form: the same bytes for the same pipeline, checked when read back, and its published schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError, NotFoundError
from flowc.ir.model import IR_VERSION, Pipeline
from flowc.project import find_root, relative_to_root


def dump_pipeline(pipeline: Pipeline) -> str:
    """Return the pipeline as JSON text: two spaces, keys in the model's order, a newline at the end."""
    data = pipeline.model_dump(mode="json", exclude_defaults=True)
    return json.dumps({"ir_version": IR_VERSION, **data}, indent=2, ensure_ascii=False) + "\n"


def load_pipeline(path: Path) -> Pipeline:
    """Read a pipeline from its JSON file.

    Raises NotFoundError where the file is missing, CompileError with FC001 to FC003 where it is not valid IR.
    """
    shown = Path(relative_to_root(path, find_root(path)))
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFoundError(f"no such file: {path}") from None
    except UnicodeDecodeError as error:
        raise _refused("FC001", f"not UTF-8: {error.reason} at byte {error.start}", shown) from error
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        source = Source(file=str(shown), line=error.lineno, column=error.colno)
        message = f"not JSON: {error.msg}"
        raise CompileError([Diagnostic(code="FC001", message=message, source=source)]) from error
    except RecursionError as error:
        raise _refused("FC001", "not JSON that can be read: nested too deeply", shown) from error
    return parse_pipeline(data, shown)


def parse_pipeline(data: Any, path: Path) -> Pipeline:
    """Check parsed JSON and return the pipeline; `path` is where it came from, for the diagnostics."""
    if not isinstance(data, dict) or "ir_version" not in data:
        message = "this JSON is not a compiled pipeline: it has no 'ir_version'"
        raise _refused("FC002", message, path, "make one with 'flowc compile TARGET -o pipeline.json'")
    if data["ir_version"] != IR_VERSION:
        message = (
            f"IR version {data['ir_version']!r} is not known here; this flowc reads version {IR_VERSION}"
        )
        raise _refused("FC003", message, path, "compile it again with this version of flowc", "$.ir_version")
    try:
        return Pipeline.model_validate(data)
    except ValidationError as error:
        raise CompileError(
            Diagnostic(
                code="FC002",
                message=item["msg"],
                source=Source(file=str(path), path="$").within(*_keys(data, item["loc"])),
            )
            for item in error.errors(include_url=False)
        ) from error


def _refused(
    code: str, message: str, path: Path, hint: str | None = None, part: str | None = None
) -> CompileError:
    source = Source(file=str(path), path=part)
    return CompileError([Diagnostic(code=code, message=message, source=source, hint=hint)])


def _keys(data: Any, loc: tuple[int | str, ...]) -> Iterator[int | str]:
    """Return the keys and indices of a place as pydantic names it, without the kinds of variants in between."""
    for part in loc:
        if isinstance(data, dict) and (part in data or part == loc[-1]):
            yield part
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int):
            yield part
            data = data[part] if part < len(data) else None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the IR, as published in docs/ir-schema.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"flowc IR, version {IR_VERSION}",
        **Pipeline.model_json_schema(mode="validation"),
    }
