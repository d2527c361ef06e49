"""`flowc verify`: hold a notebook's pipeline to what the notebook gives in one fresh kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowc import api
from flowc.cli.failure import say_error
from flowc.cli.options import given_texts
from flowc.cli.output import columns, json_option, note, write_json, write_out
from flowc.cli.progress import progress
from flowc.cli.result import say_failures
from flowc.cli.run import COMPILED, PipelineCommand
from flowc.cli.settings import settings_of, store_option
from flowc.emit.text import printable
from flowc.engine.interrupts import Interrupts
from flowc.errors import CancelledError, RunFailedError
from flowc.settings import Given
from flowc.store.metadata import open_store
from flowc.view import view_run

if TYPE_CHECKING:
    from flowc.verify.checks import Check
    from flowc.verify.inside import Finding
    from flowc.verify.verify import Verification


@click.command("verify", cls=PipelineCommand)
@click.argument("target", expose_value=False)  # found, and compiled, when the command was parsed
@click.option("--runner", help="Where tasks run: 'local' (the default) or 'inline'.")
@click.option("--workers", type=click.IntRange(min=1), help="How many tasks may run side by side.")
@store_option
@click.option("-p", "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter.")
@json_option
@click.pass_context
def verify_command(ctx: click.Context, /, pairs: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Run the notebook TARGET as a pipeline and in one fresh kernel, and compare the values, exactly.

    Compared is each value that crosses from step to step, as its step made it and as the next one reads it, and each
    result of the pipeline. The exit code is 1 where one differs, 0 where none does; values that can't be compared are
    listed with the reason. Both runs really happen: what cells write to files, they write twice.
    """
    from flowc.verify.verify import verify_notebook

    compiled: api.Compiled = ctx.meta[COMPILED]
    settings = settings_of(ctx, Given(runner=given["runner"], store=given["store"], workers=given["workers"]))
    arguments = api.parse_arguments(compiled, given_texts(given, pairs), Path.cwd())
    interrupts = Interrupts()
    with progress(live=settings.runner != "inline", stopping=lambda: interrupts.stopping) as listener:
        verification = verify_notebook(
            compiled,
            arguments,
            settings.store,
            lambda: api.run(compiled, arguments, settings, listener, interrupts),
        )
    _write(verification, settings.store, as_json=as_json)
    canceled = verification.run.state == "CANCELED"
    code = CancelledError.exit_code if canceled else RunFailedError.exit_code
    ctx.exit(0 if verification.holds else code)


def _write(verification: Verification, store: Path, *, as_json: bool) -> None:
    if verification.run.state != "COMPLETE":
        with open_store(store, create=False) as opened:
            say_failures(view_run(opened, verification.run.run), store)
    if as_json:
        write_json(_as_json(verification))
    else:
        for line in columns([_HEAD, *(_cells(check, finding) for check, finding in verification.rows)]):
            write_out(line)
        write_out(_summary(verification))
    if verification.failure is not None:
        say_error(verification.failure.message, "mend the notebook, and verify it again")
    for line in _first_difference(verification):
        note(line)


_HEAD = ("STEP", "VALUE", "WHEN", "TYPE", "VERDICT")


def _cells(check: Check, finding: Finding) -> tuple[str, ...]:
    verdict = finding.verdict + (f": {finding.detail}" if finding.detail else "")
    return (printable(check.step), check.name, _when(check), printable(finding.type), printable(verdict))


def _when(check: Check) -> str:
    if check.reader is None:
        return f"made by cell {check.moment.cell}"
    return f"read by cell {check.moment.cell} of {printable(check.reader)}"


def _summary(verification: Verification) -> str:
    verdicts = [finding.verdict for _, finding in verification.rows]
    counts = ", ".join(
        f"{verdicts.count(verdict)} {verdict}" for verdict in ("same", "different", "not compared")
    )
    said = "holds" if verification.holds else "does not hold"
    return f"{verification.run.run} {said}: {counts}"


def _first_difference(verification: Verification) -> Iterator[str]:
    row = verification.first_difference()
    if row is None:
        return
    check, finding = row
    yield f"first difference: cell {check.moment.cell}, {check.name}{finding.place}, of step '{check.step}'"
    yield from columns([("in the kernel", finding.kernel), ("in the pipeline", finding.pipeline)], "  ")


def _as_json(verification: Verification) -> dict[str, Any]:
    failure = verification.failure
    return {
        "run": verification.run.run,
        "state": verification.run.state,
        "holds": verification.holds,
        "failure": None if failure is None else {"cell": failure.cell, "message": failure.message},
        "compared": [
            {
                "step": check.step,
                "name": check.name,
                "cell": check.moment.cell,
                "reader": check.reader,
                "type": finding.type,
                "verdict": finding.verdict,
                "place": finding.place,
                "kernel": finding.kernel,
                "pipeline": finding.pipeline,
                "reason": finding.detail,
            }
            for check, finding in verification.rows
        ],
    }
