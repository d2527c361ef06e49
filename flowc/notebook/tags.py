"""From a cell's words (its tags, or its `#| flowc:` line) to its part in the pipeline."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import did_you_mean
from flowc.ir import Policy, Resources, Role
from flowc.notebook.generators import carried_names
from flowc.notebook.model import Notebook, NotebookCell, diagnose

Part = Literal["parameters", "imports", "functions", "skip", "step"]
ROLES: tuple[Role, ...] = get_args(Role)

_DIRECTIVE = re.compile(r"\A\s*#\|\s*flowc:[ \t]*(?P<words>[^\n]*)")
_NAME = re.compile(r"[^\W\d]\w*(-\w+)*")
_MEMORY = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[kKMGT]i?)?B?")
_TIME = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>s|m|min|h|d)?")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_ALONE: dict[str, Part] = {
    "parameters": "parameters",
    "pipeline-parameters": "parameters",
    "imports": "imports",
    "functions": "functions",
    "skip": "skip",
}
# Kale's words that say what flowc does by other means, or for Kubernetes alone: known, and without effect.
_IGNORED = ("label", "annotation", "image")
_SILENT = (
    "pipeline-metrics",
    "injected-parameters",
    "hide-input",
    "hide-output",
    "remove-input",
    "remove-output",
)
_KALE_KEYS = frozenset(("kubeflow_notebook", "kale"))
_KNOWN = (*_ALONE, *ROLES, *_SILENT, "step", "block", "prev", "after", "cpus", "memory", "gpus", "processes")
_KNOWN_VALUED = ("retries", "timeout", "cache", "reads", "defines", "limit", "rng", "ignore")


@dataclass(frozen=True, slots=True)
class Tagged:
    """What a cell's words say."""

    part: Part | None = None
    step: str | None = None
    role: Role | None = None
    after: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    metrics: bool = False
    carries: bool = False


@dataclass(frozen=True, slots=True)
class StepTags:
    """A step's own settings, gathered from all of its cells."""

    name: str
    role: Role | None
    resources: Resources
    policy: Policy
    after: tuple[str, ...]
    source: Source


def words_of(cell: NotebookCell) -> tuple[str, ...]:
    """Return the cell's tags, then the words of its `#| flowc:` line."""
    directive = _DIRECTIVE.match(cell.source)
    return (*cell.tags, *(directive["words"].split() if directive else ()))


def read_tags(notebook: Notebook) -> tuple[dict[int, Tagged], list[Diagnostic]]:
    """Return what each code cell's words say, by index, and what is wrong with them."""
    found: dict[int, Tagged] = {}
    problems: list[Diagnostic] = _metadata_notes(notebook)
    for cell in notebook.cells:
        if cell.kind != "code":
            continue
        found[cell.index], wrong = _cell_tags(notebook, cell)
        problems += wrong
    if any(tagged.carries for tagged in found.values()):
        found = _carrying(notebook, found)
    return found, problems


def _carrying(notebook: Notebook, cells: dict[int, Tagged]) -> dict[int, Tagged]:
    """Let each cell that may run in a step take the random generators as the cell before it left them."""
    names = carried_names(cell.source for cell in notebook.cells if cell.kind == "code")
    return {
        index: replace(tagged, reads=(*tagged.reads, *names), defines=(*tagged.defines, *names), carries=True)
        if tagged.part in (None, "step")
        else tagged
        for index, tagged in cells.items()
    }


def gather_steps(
    notebook: Notebook, cells: dict[int, Tagged]
) -> tuple[dict[str, StepTags], list[Diagnostic]]:
    """Return the steps by name, in order of their first cells, and the conflicts between cells."""
    problems: list[Diagnostic] = []
    steps: dict[str, StepTags] = {}
    by_step: dict[str, dict[int, Tagged]] = {}
    for index, tagged in cells.items():
        if tagged.step:
            by_step.setdefault(tagged.step, {})[index] = tagged
    for name, own in by_step.items():
        steps[name], wrong = _step(notebook, name, own)
        problems += wrong
    for step in steps.values():
        problems += _after_problems(step, steps, notebook, cells)
    return steps, problems


def _cell_tags(notebook: Notebook, cell: NotebookCell) -> tuple[Tagged, list[Diagnostic]]:
    tagged, problems = Tagged(), []
    for word in dict.fromkeys(words_of(cell)):
        place = _word_place(notebook, cell, word)
        try:
            tagged = _with_word(tagged, word)
        except _UnknownWordError as unknown:
            known = (*_KNOWN, *_KNOWN_VALUED, *_IGNORED)
            hint = did_you_mean(unknown.word, known)
            problems.append(diagnose("FC018", f"unknown tag '{word}'", place, severity="warning", hint=hint))
        except _ConflictError as conflict:
            problems.append(diagnose("FC019", f"cell {cell.index}: {conflict}", place))
        except ValueError as wrong:
            problems.append(diagnose("FC020", f"tag '{word}': {wrong}", place))
    return tagged, problems


def _word_place(notebook: Notebook, cell: NotebookCell, word: str) -> Source:
    """Return where a word stands: in the file's JSON for a tag, else in the cell's `#| flowc:` line."""
    place = cell.place(notebook.file)
    if word in cell.tags:
        path = f"cells[{cell.index}].metadata.tags[{cell.tags.index(word)}]"
        return place.model_copy(update={"path": path}) if notebook.file.endswith(".ipynb") else place
    directive = _DIRECTIVE.match(cell.source)
    if directive is None:
        return place
    start = directive.start("words") + (" " + directive["words"]).index(" " + word)
    line, column = cell.source.count("\n", 0, start) + 1, start - cell.source.rfind("\n", 0, start)
    return place.model_copy(
        update={"line": line, "column": column, "end_line": line, "end_column": column + len(word)}
    )


class _UnknownWordError(Exception):
    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class _ConflictError(Exception):
    pass


def _with_word(tagged: Tagged, word: str) -> Tagged:
    key, colon, value = word.partition(":")
    if not colon:
        return _with_bare(tagged, word)
    if key in ("step", "block"):
        if key == "block" and not value:  # Kale writes it where a cell has no step
            return tagged
        return _with_part(tagged, "step", _name(value))
    if key in ROLES:
        role = next(role for role in ROLES if role == key)
        return _with_role(_with_part(tagged, "step", _name(value)), role)
    if key in ("after", "prev"):
        return replace(tagged, after=(*tagged.after, _name(value)))
    if key in ("reads", "defines"):
        if not value.isidentifier() or keyword.iskeyword(value):
            raise ValueError(f"'{value}' is not a Python name")
        if key == "reads":
            return replace(tagged, reads=(*tagged.reads, value))
        return replace(tagged, defines=(*tagged.defines, value))
    if key in _IGNORED or key == "ignore":  # `ignore:CODE` is for flowc.check
        return tagged
    if key == "limit":
        return _with_limit(tagged, value)
    if key == "rng":
        if value != "carry":
            raise ValueError("'rng:carry' is all that is known")
        return replace(tagged, carries=True)
    if key in _SETTINGS:
        return _with_setting(tagged, key, _SETTINGS[key](value))
    raise _UnknownWordError(key)


def _with_bare(tagged: Tagged, word: str) -> Tagged:
    if word in _ALONE:
        return _with_part(tagged, _ALONE[word], None)
    if word in ROLES:
        role = next(role for role in ROLES if role == word)
        return _with_role(tagged if tagged.step else _with_part(tagged, "step", word), role)
    if word == "pipeline-metrics":
        return replace(tagged, metrics=True)
    if word in _SILENT:
        return tagged
    raise _UnknownWordError(word)


def _with_part(tagged: Tagged, part: Part, step: str | None) -> Tagged:
    if tagged.role and tagged.step == tagged.role and step:
        return replace(tagged, step=step)
    if tagged.part and (tagged.part, tagged.step) != (part, step):
        raise _ConflictError(f"it is both {_said(tagged.part, tagged.step)} and {_said(part, step)}")
    return replace(tagged, part=part, step=step)


def _said(part: Part, step: str | None) -> str:
    return f"step '{step}'" if step else f"'{part}'"


def _with_role(tagged: Tagged, role: Role) -> Tagged:
    if tagged.role and tagged.role != role:
        raise _ConflictError(f"its step is both '{tagged.role}' and '{role}'")
    return replace(tagged, role=role)


def _with_setting(tagged: Tagged, key: str, value: Any) -> Tagged:
    if key in tagged.settings and tagged.settings[key] != value:
        raise _ConflictError(f"{key} is both {tagged.settings[key]} and {value}")
    return replace(tagged, settings={**tagged.settings, key: value})


def _with_limit(tagged: Tagged, value: str) -> Tagged:
    """Read Kale's `limit:RESOURCE:AMOUNT`; a resource that only Kubernetes knows has no effect."""
    resource, _, amount = value.partition(":")
    if resource == "cpu":
        return _with_setting(tagged, "cpus", _number(amount))
    if resource == "memory":
        return _with_setting(tagged, "memory", _memory(amount))
    if resource.endswith("/gpu"):
        return _with_setting(tagged, "gpus", _count(amount))
    return tagged


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(
            f"'{text}' is no name: write letters, digits, '_' and '-', not starting with a digit"
        )
    return text


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number") from None
    if not 0 < value < float("inf"):
        raise ValueError("a number above 0 is expected")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"'{text}' is not a whole number")
    return int(text)


def _positive(text: str) -> int:
    value = _count(text)
    if value < 1:
        raise ValueError("at least 1 is expected")
    return value


def _memory(text: str) -> int:
    match = _MEMORY.fullmatch(text)
    if not match:
        raise ValueError(f"'{text}' is no size: write 4GiB, 500MB or a number of bytes")
    unit = (match["unit"] or "").lower()
    factor = (1024 if unit.endswith("i") else 1000) ** _POWERS[unit[0]] if unit else 1
    return int(float(match["number"]) * factor)


def _time(text: str) -> float:
    match = _TIME.fullmatch(text)
    if not match or float(match["number"]) <= 0:
        raise ValueError(f"'{text}' is no time: write 30s, 10m or 2h")
    return float(match["number"]) * _SECONDS[match["unit"] or "s"]


def _cache(text: str) -> bool | float:
    """Return whether results are used again, or for how many seconds."""
    switches = {"on": True, "enabled": True, "off": False, "disabled": False}
    if text in switches:
        return switches[text]
    try:
        return _time(text)
    except ValueError:
        raise ValueError("'on', 'off', or how long results hold, such as '1d', is expected") from None


_SETTINGS: dict[str, Callable[[str], Any]] = {
    "cpus": _number,
    "memory": _memory,
    "gpus": _count,
    "processes": _positive,
    "retries": _count,
    "timeout": _time,
    "cache": _cache,
}


def _step(notebook: Notebook, name: str, cells: dict[int, Tagged]) -> tuple[StepTags, list[Diagnostic]]:
    problems: list[Diagnostic] = []
    first = next(iter(cells))
    said: dict[str, tuple[Any, int]] = {}
    for index, tagged in cells.items():
        settings = {**tagged.settings, **({"role": tagged.role} if tagged.role else {})}
        for key, value in settings.items():
            known, where = said.setdefault(key, (value, index))
            if known != value:
                message = f"step '{name}': {key} is {known} in cell {where} and {value} in cell {index}"
                related = ((f"{key} is first set here", notebook.place(where)),)
                problems.append(diagnose("FC019", message, notebook.place(index), related=related))
    values = {key: value for key, (value, _) in said.items()}
    if not isinstance(values.get("cache", True), bool):
        values |= {"cache": True, "cache_for": values["cache"]}
    resources = {key: values[key] for key in Resources.model_fields if key in values}
    policy = {key: values[key] for key in Policy.model_fields if key in values}
    after = tuple(dict.fromkeys(name for tagged in cells.values() for name in tagged.after))
    return (
        StepTags(
            name, values.get("role"), Resources(**resources), Policy(**policy), after, notebook.place(first)
        ),
        problems,
    )


def _after_problems(
    step: StepTags, steps: dict[str, StepTags], notebook: Notebook, cells: dict[int, Tagged]
) -> Iterable[Diagnostic]:
    for name in step.after:
        index = next(
            index for index, tagged in cells.items() if tagged.step == step.name and name in tagged.after
        )
        if name == step.name:
            yield diagnose("FC021", f"step '{name}' can't come after itself", notebook.place(index))
        elif name not in steps:
            hint = did_you_mean(name, steps)
            yield diagnose(
                "FC021", f"'after:{name}': there is no step '{name}'", notebook.place(index), hint=hint
            )


def _metadata_notes(notebook: Notebook) -> list[Diagnostic]:
    place = Source(file=notebook.file, path="metadata")
    return [
        diagnose("FC023", f"the settings of Kale under '{key}' are ignored", place, severity="note")
        for key in notebook.metadata
        if key in _KALE_KEYS
    ]
