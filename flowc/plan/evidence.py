"""What earlier runs tell of the types that a notebook does not say: of tasks whose code is what it was then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from flowc.check.evidence import Evidence, changes, check_columns
from flowc.diagnostics import Diagnostic
from flowc.ir import NotebookCode, Pipeline, Task
from flowc.plan.fingerprint import Codes
from flowc.plan.make import code_base_of
from flowc.store.metadata import Store
from flowc.store.seen import Key, Seen


def check_against_past(
    pipeline: Pipeline, ordered: Iterable[Task], root: Path, store: Store
) -> list[Diagnostic]:
    """Return what is wrong with a checked pipeline's notebook cells in the light of what its steps made before."""
    if not pipeline.cells:
        return []
    seen = store.outputs_seen(pipeline.name)
    unchanged = _unchanged(pipeline, ordered, root, seen)
    evidence = {key: _evidence(each) for key, each in seen.items() if key[0] in unchanged}
    return list(check_columns(pipeline, evidence))


def changes_in_run(pipeline: Pipeline, run: str, store: Store) -> Iterator[tuple[Key, str, list[str]]]:
    """Yield the outputs of a notebook's run that differ in type or columns from when they were made last, with that run
    and the differences in words."""
    before = store.outputs_seen(pipeline.name, run)
    for key, made in store.outputs_made(run).items():
        task = pipeline.tasks_by_name[key[0]]
        if key in before and isinstance(pipeline.component_of(task).code, NotebookCode):
            words = changes(_evidence(before[key]), _evidence(made))
            if words:
                yield key, before[key].run, words


def _unchanged(pipeline: Pipeline, ordered: Iterable[Task], root: Path, seen: dict[Key, Seen]) -> set[str]:
    """Return the tasks whose code, and that of all tasks above them, is what it was when they were executed last."""
    codes = Codes(code_base_of(pipeline, root))
    digests = {task: each.code for (task, _), each in seen.items()}
    unchanged: set[str] = set()
    for task in ordered:
        now = codes.of(pipeline.component_of(task)).record.digest
        if digests.get(task.name, now) == now and unchanged.issuperset(task.upstream()):
            unchanged.add(task.name)
    return unchanged


def _evidence(seen: Seen) -> Evidence:
    return Evidence(seen.python_type, seen.columns, seen.run)
