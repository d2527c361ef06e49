"""What is set once instead of on each command line: flags win over `FLOWC_*`, those over `[tool.flowc]`.

A relative store is relative to where it was said: the current folder for a flag or a variable, the project's
root for pyproject.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from flowc.errors import UsageError, did_you_mean
from flowc.frozen import Frozen


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run and where to record. `workers` None leaves their number to the runner."""

    runner: str
    store: Path
    workers: int | None


class Given(Frozen):
    """What one source says; None where it says nothing."""

    runner: str | None = None
    store: Path | None = None
    workers: Annotated[int, Field(ge=1)] | None = None


def read_settings(root: Path, flags: Given, environ: Mapping[str, str], folder: Path) -> Settings:
    """Return the settings for the project at `root`; `folder` is the current one.

    Raises UsageError that names the variable or the key that is wrong.
    """
    sources = (
        _anchored(flags, folder),
        _anchored(_from_environment(environ), folder),
        _anchored(_from_project(root / "pyproject.toml"), root),
    )

    def first(name: str, default: Any) -> Any:
        said = (getattr(source, name) for source in sources)
        return next((value for value in said if value is not None), default)

    return Settings(first("runner", "local"), first("store", root / ".flowc"), first("workers", None))


def _anchored(given: Given, folder: Path) -> Given:
    if given.store is None:
        return given
    return given.model_copy(update={"store": folder / given.store.expanduser()})


def _from_environment(environ: Mapping[str, str]) -> Given:
    variables = {name: f"FLOWC_{name.upper()}" for name in Given.model_fields}
    said = {name: environ[variable] for name, variable in variables.items() if environ.get(variable)}
    try:
        return Given.model_validate_strings(said)
    except ValidationError as error:
        item = error.errors()[0]
        raise UsageError(f"{variables[str(item['loc'][0])]}={item['input']}: {item['msg']}") from error


def _from_project(file: Path) -> Given:
    if not file.is_file():
        return Given()
    table = _table(file)
    for key in table:
        if key not in Given.model_fields:
            hint = did_you_mean(key, Given.model_fields) or f"its keys are: {', '.join(Given.model_fields)}"
            raise UsageError(f"{file}: [tool.flowc] has no key '{key}'", hint=hint)
    try:
        return Given.model_validate(table)
    except ValidationError as error:
        item = error.errors()[0]
        key = ".".join(map(str, item["loc"]))
        raise UsageError(f"{file}: [tool.flowc] {key} = {item['input']!r}: {item['msg']}") from error


def _table(file: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{file} can't be read: {error}") from error
    table = data.get("tool", {}).get("flowc", {})
    if not isinstance(table, dict):
        raise UsageError(f"{file}: tool.flowc is not a table")
    return table
