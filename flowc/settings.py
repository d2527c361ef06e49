"""What is set once instead of on each command line: flags win over `FLOWC_*`, those over `[tool.flowc]`.

A relative store is relative to where it was said: the current folder for a flag or a variable, the project's
root for pyproject.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import Field, ValidationError

from flowc.check.codes import code_pages, near_codes
from flowc.check.settle import CheckOptions, Level
from flowc.errors import UsageError, did_you_mean
from flowc.frozen import Frozen

_SEVERITY = "severity"
_LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run and where to record. `workers` None leaves their number to the runner."""

    runner: str
    store: Path
    workers: int | None
    check: CheckOptions = field(default_factory=CheckOptions)


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

    runner, store = first("runner", "local"), first("store", root / ".flowc")
    return Settings(runner, store, first("workers", None), read_check_options(root))


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
    table = {key: value for key, value in _table(file).items() if key != _SEVERITY}
    for key in table:
        if key not in Given.model_fields:
            known = (*Given.model_fields, _SEVERITY)
            hint = did_you_mean(key, known) or f"its keys are: {', '.join(known)}"
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


def read_check_options(root: Path, *, strict: bool = False) -> CheckOptions:
    """Return how the project at `root` wants to be checked: its `[tool.flowc.severity]`.

    Raises UsageError that names the key that is wrong: an unknown code or level, or an error that can't be lowered.
    """
    file = root / "pyproject.toml"
    said = _table(file).get(_SEVERITY, {}) if file.is_file() else {}
    if not isinstance(said, dict):
        raise UsageError(f"{file}: [tool.flowc] {_SEVERITY} is not a table")
    for start, level in said.items():
        _refuse_level(f"{file}: [tool.flowc.{_SEVERITY}] {start} = {level!r}", start, level)
    return CheckOptions(said, strict)


def _refuse_level(what: str, start: str, level: Any) -> None:
    if level not in _LEVELS:
        hint = did_you_mean(str(level), _LEVELS) or f"the levels are: {', '.join(_LEVELS)}"
        raise UsageError(f"{what}: there is no such level", hint=hint)
    pages = [page for code, page in code_pages().items() if start and code.startswith(start)]
    if not pages:
        raise UsageError(f"{what}: there is no such code", hint=near_codes(start, code_pages()))
    if level != "error" and all(page.only_error for page in pages):
        who = (
            f"'{start}' is always an error"
            if len(pages) == 1
            else f"all that begins with '{start}' are errors"
        )
        hint = "mend what it says; warnings and notes can be lowered"
        raise UsageError(f"{what}: {who}, which no run is possible with", hint=hint)
