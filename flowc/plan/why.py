"""Why a task runs: what differs from when it ran before, told ahead of a run and afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flowc.errors import NotFoundError, did_you_mean
from flowc.plan.fingerprint import NoBasisError
from flowc.plan.reuse import NOTHING_LIKE_IT, Decision, Reuse, Reuser, Run
from flowc.store.metadata import Store
from flowc.store.records import Basis, BasisRecord

_Digests = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A task, what would become of it in a run, and why; `run` is the one whose results it would take over."""

    task: str
    decision: Decision
    why: str
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why a task ran in a run; `before` is the run that it is compared with."""

    run: str
    task: str
    before: str | None
    words: tuple[str, ...]


def plan_steps(reuser: Reuser, store: Store) -> list[PlanStep]:
    """Return what would become of each task of the plan, in its order."""
    decisions = reuser.decide()
    new = [name for name, made in decisions.items() if made == Run(NOTHING_LIKE_IT)]
    before = store.bases_before(reuser.plan.pipeline.name, new)
    return [
        PlanStep(name, made, f"from run {made.past.run}", made.past.run)
        if isinstance(made, Reuse)
        else PlanStep(name, made, _sharper(reuser, decisions, name, before.get(name)) or made.reason)
        for name, made in decisions.items()
    ]


def _sharper(
    reuser: Reuser, decisions: Mapping[str, Decision], name: str, before: BasisRecord | None
) -> str | None:
    """Return what differs from the task's last execution, where it has one."""
    if before is None or before.basis is None:
        return None
    try:
        now = reuser.basis_of(name, decisions)
    except NoBasisError:
        return None
    words = [*differences(before.basis, now, files=False)]
    more = f", and {len(words) - 1} more" if len(words) > 1 else ""
    return f"{words[0]}{more} (since run {before.run})" if words else None


def reasons_of(store: Store, run: str, task: str) -> Reasons:
    """Return why a task ran in a run. Raises NotFoundError for a run or task that is not there."""
    record = store.run(run)
    found = store.basis(record.id, task)
    if found is None:
        names = [each.name for each in store.tasks(record.id)]
        if task in names:
            return Reasons(record.id, task, None, ("it was not executed",))
        hint = did_you_mean(task, names) or f"its tasks are: {', '.join(names)}"
        raise NotFoundError(f"run {record.id} has no task '{task}'", hint=hint)
    if found.state == "CACHED":
        word = "it did not run: code, arguments and inputs are those of that run"
        return Reasons(record.id, task, found.reused, (word,))
    if found.basis is None:
        return Reasons(
            record.id, task, None, (f"it is {found.state}: what it stands on is told when it ends well",)
        )
    before = store.bases_before(record.pipeline, [task], record.id).get(task)
    if before is None or before.basis is None:
        return Reasons(record.id, task, None, ("it had not run before",))
    words = tuple(differences(before.basis, found.basis))
    unchanged = (
        before.basis.unrepeatable
        or "nothing differs: it was asked for, its cache was off, or its results were gone"
    )
    return Reasons(record.id, task, before.run, words or (unchanged,))


def differences(before: Basis, after: Basis, *, files: bool = True) -> Iterator[str]:
    """Return in words what of the one basis is not in the other, nothing where they are equal. Files that a task uses
    by itself are known only when it has run; without `files` they don't count."""
    for name, what in _changed(before.code.definitions, after.code.definitions):
        yield f"{_code_words(name)} {what}"
    old, new = before.code.distributions, after.code.distributions
    for name, what in _changed(old, new):
        versions = f"{old[name]} became {new[name]}" if what == "changed" else what
        yield f"the package {name} {versions}"
    for part, word in (("arguments", "argument"), ("inputs", "input")):
        for name, what in _changed(before.parts.get(part, {}), after.parts.get(part, {})):
            yield f"the {word} '{name}' {what}"
    if before.parts.get("outputs") != after.parts.get("outputs"):
        yield "the names of its outputs changed"
    if before.parts.get("version") != after.parts.get("version"):
        yield "its cache_version changed"
    if before.parts.get("format") != after.parts.get("format"):
        yield "this flowc tells tasks apart in another way"
    for name, what in _changed(before.files, after.files) if files else ():
        yield f"the file {name} {what}"


def _code_words(name: str) -> str:
    if name.startswith("$"):
        return f"the environment variable {name[1:]}"
    if name == "cells":
        return "which cells the step has, or where a value enters or leaves it,"
    module, _, definition = name.partition(":")
    return (
        f"the code of {definition} in {module}" if definition else f"what {module} does when it is imported"
    )


def _changed(before: _Digests, after: _Digests) -> Iterator[tuple[str, str]]:
    for name in sorted({*before, *after}):
        if name not in before:
            yield name, "is new"
        elif name not in after:
            yield name, "is not there any more"
        elif before[name] != after[name]:
            yield name, "changed"
