"""The end of `flowc run`: the result on stdout, and on stderr why tasks failed and where there is more to read."""

from __future__ import annotations

import shlex
from pathlib import Path

from flowc.cli.failure import say_error
from flowc.cli.output import note, write_json, write_out
from flowc.cli.run_json import view_json
from flowc.cli.run_text import result_lines
from flowc.cli.settings import store_flag
from flowc.cli.words import failure_words
from flowc.emit.text import printable
from flowc.plan.evidence import changes_in_run
from flowc.store.metadata import open_store
from flowc.view import RunView, view_run


def write_result(run: str, store: Path, *, as_json: bool) -> None:
    """Write what came of a run, as the store has it."""
    with open_store(store, create=False) as opened:
        view = view_run(opened, run)
        changed = list(changes_in_run(view.pipeline, view.run.id, opened))
    say_failures(view, store)
    for (task, port), before, words in changed:
        note(f"note: what step '{printable(task)}' gives as '{printable(port)}' differs from run {before}:")
        note("\n".join(f"  {printable(each)}" for each in words))
    if as_json:
        write_json(view_json(view, store))
    else:
        write_out("\n".join(result_lines(view)))
        if view.notebook:
            write_out(f"executed notebook: {view.notebook}")
        write_out(f"recorded in {store}: flowc show {view.run.id}{store_flag(store)}")


def say_failures(view: RunView, store: Path) -> None:
    """Say why each failed task failed: in the component's own words, or with the traceback of the user's code."""
    for task, failure in view.failures().items():
        note("")
        if failure.traceback and not failure.expected:
            note(failure.traceback.rstrip("\n"))
        say_error(f"task '{printable(task)}' failed: {failure_words(failure)}", failure.hint)
        note(f"its log: flowc logs {view.run.id} {shlex.quote(task)}{store_flag(store)}")
