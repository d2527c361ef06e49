"""What a task's results stand on: the code it reaches, its argument values, the content of its inputs.

A fingerprint is over content, so a task whose inputs come out as they were is not executed again though what made them
was. A recipe is over the recipes of the tasks above instead: it is known before anything runs, and finds the past
executions of a whole pipeline in one query. Only an equal fingerprint says that results may be taken over.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowc.errors import FlowcError
from flowc.ir import Component, FromTask, NotebookCode
from flowc.plan.model import Plan, PlannedTask
from flowc.plan.values import value_digest
from flowc.python.reach import CodeReach, Reached
from flowc.runner import CodeBase, Literal, Reference
from flowc.store.files import MISSING, FileDigests
from flowc.store.records import Basis, CodeRecord
from flowc.store.stored import Stored

# Changed whenever the same task would be fingerprinted in another way.
_FORMAT = 1

OutputOf = Callable[[FromTask], Stored]


class NoBasisError(FlowcError):
    """What a task stands on can't be told, so that its results can't be used again."""


@dataclass(frozen=True, slots=True)
class Code:
    """A component's code: its record, and what is known of it before it runs."""

    record: CodeRecord
    texts: tuple[str, ...]
    clock: str | None


class Codes:
    """Reads the code of a run's components, each when it is first asked for. `folder` is where they run."""

    def __init__(self, code_base: CodeBase) -> None:
        notebook = code_base.notebook
        self.folder = (code_base.root / notebook).parent if notebook else Path.cwd()
        self._cells = {cell.index: cell for cell in code_base.cells}
        self._reach = CodeReach(sys.path, tuple(code_base.modules))
        self._known: dict[str, Code] = {}

    def of(self, component: Component) -> Code:
        """Return the code that a component reaches."""
        if component.name not in self._known:
            self._known[component.name] = self._described(component)
        return self._known[component.name]

    def digest_of(self, ref: str, *, passed_on: bool = False) -> str:
        """Return the digest of the code that a function or class reaches, named as "module:qualname".

        `passed_on` says that it is handed to code that may look at it as an object.
        """
        return self._reach.of(ref, passed_on=passed_on).digest

    def _described(self, component: Component) -> Code:
        if isinstance(component.code, NotebookCode):
            reached = self._reach.of_program(list(self._program(component.code)), component.name, self.folder)
            definitions = {**reached.definitions, "cells": _digest(_layout(component.code))}
        else:
            reached = self._reach.of(f"{component.code.module}:{component.code.qualname}")
            definitions = dict(reached.definitions)
        environment = {name: _environment(name) for name in reached.environment}
        definitions |= {f"${name}": digest for name, digest in environment.items()}
        record = CodeRecord(
            _digest([reached.digest, sorted(definitions.items())]), definitions, reached.distributions
        )
        return Code(record, reached.texts, _clock(reached))

    def _program(self, code: NotebookCode) -> Iterator[ast.stmt]:
        for index in sorted({*code.shared, *code.cells}):
            body = ast.parse(self._cells[index].source).body
            part = code.parts.get(index)
            yield from body if part is None else (body[position] for position in part)


class Fingerprints:
    """Tells what the tasks of one plan stand on. Code is read once, when it is first asked for."""

    def __init__(self, plan: Plan, digests: FileDigests) -> None:
        self._digests = digests
        self._codes = Codes(plan.code_base)
        self._recipes: dict[str, str] = {}
        self._own: dict[str, dict[str, Any]] = {}

    def code_digest(self, planned: PlannedTask) -> str:
        """Return the digest of the code that a task reaches."""
        return self._codes.of(planned.component).record.digest

    def recipe(self, planned: PlannedTask) -> str:
        """Return a task's recipe; those of the tasks above must have been asked for before.

        Raises NoBasisError where it has none.
        """
        name = planned.name
        if name not in self._recipes:
            inputs = {
                port: f"{self._recipe_above(given)}.{given.output}" for port, given in _from_tasks(planned)
            }
            self._recipes[name] = _digest({**self._own_parts(planned), "recipes": inputs})
        return self._recipes[name]

    def basis(self, planned: PlannedTask, output_of: OutputOf) -> Basis:
        """Return what a task stands on, now that its inputs are known. Raises NoBasisError where that can't be told."""
        inputs = {port: self._content(output_of(given)) for port, given in _from_tasks(planned)}
        parts = {**self._own_parts(planned), "inputs": inputs}
        code = self._codes.of(planned.component)
        try:
            recipe = self.recipe(planned)
        except NoBasisError:
            recipe = ""
        return Basis(_digest(parts), recipe, code.record, parts, {}, code.clock)

    def watched(self, planned: PlannedTask) -> tuple[str, ...]:
        """Return the files that the task's code or arguments name by text: libraries may open them unseen, in C."""
        texts = [*self._codes.of(planned.component).texts, *_texts_in(planned)]
        named = (self._codes.folder / text for text in texts)
        return tuple(dict.fromkeys(str(path) for path in named if _is_file(path)))

    def _recipe_above(self, given: FromTask) -> str:
        try:
            return self._recipes[given.task]
        except KeyError:
            raise NoBasisError(f"'{given.task}', which it needs, has none") from None

    def _own_parts(self, planned: PlannedTask) -> dict[str, Any]:
        """Return what is known of a task before anything runs. Files among its arguments are looked at each time."""
        known = self._own.get(planned.name)
        if known is not None:
            return known
        code = self._codes.of(planned.component)
        parts = {
            "format": _FORMAT,
            # Two tasks that call one component alike may be meant to differ, as models trained without a seed do.
            "task": planned.name,
            "code": code.record.digest,
            "version": planned.task.policy.cache_version,
            "outputs": [port.name for port in planned.component.outputs],
            "arguments": {
                port: self._argument(port, given)
                for port, given in sorted(planned.inputs.items())
                if not isinstance(given, FromTask)
            },
        }
        if not planned.paths():
            self._own[planned.name] = parts
        return parts

    def _argument(self, port: str, given: Literal | Reference) -> str:
        if isinstance(given, Reference):
            return self._codes.digest_of(given.ref, passed_on=True)
        try:
            return value_digest(given.value, self._digests.of)
        except FlowcError as error:
            raise NoBasisError(f"input '{port}': {error.message}", hint=error.hint) from error
        except Exception as error:  # whatever pickle raises for a value of any class
            raise NoBasisError(f"input '{port}' has no digest: {error}") from error

    def _content(self, stored: Stored) -> str:
        """Return what an artifact counts by: its digest, and the project's code that gives its content a meaning."""
        codes = [self._codes.digest_of(ref) for ref in stored.code]
        return _digest([stored.digest, *codes]) if codes else stored.digest


def _from_tasks(planned: PlannedTask) -> Iterator[tuple[str, FromTask]]:
    return ((port, given) for port, given in sorted(planned.inputs.items()) if isinstance(given, FromTask))


def _texts_in(planned: PlannedTask) -> Iterator[str]:
    """Return the texts among a task's arguments that may name files."""
    for given in planned.inputs.values():
        if isinstance(given, Literal) and isinstance(given.value, str) and len(given.value) < 1000:
            yield given.value


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text that is no path
        return False


def _layout(code: NotebookCode) -> dict[str, Any]:
    """Return which of the cells are the step's own, and where inputs enter and outputs leave, all counted in the cells
    that it runs: others of the notebook may come and go."""
    program = sorted({*code.shared, *code.cells})
    at = {cell: position for position, cell in enumerate(program)}
    return {
        "own": [at[cell] for cell in code.cells],
        "enters": {port: at.get(cell, -1) for port, cell in code.enters.items()},
        "leaves": {port: at.get(cell, -1) for port, cell in code.leaves.items()},
    }


def _environment(name: str) -> str:
    value = os.environ.get(name)
    return MISSING if value is None else hashlib.sha256(os.fsencode(value)).hexdigest()


def _clock(reached: Reached) -> str | None:
    if not reached.clock:
        return None
    reading = reached.clock[0]
    return f"it reads the clock ({reading.name}, {reading.file}:{reading.line})"


def _digest(parts: Mapping[str, Any] | list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
