"""`flowc verify`: hold a notebook's pipeline to what the notebook gives in one fresh kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
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
from flowc.plan.reuse import Wish
from flowc.settings import Given
from flowc.store.metadata import open_store
from flowc.view import view_run

if TYPE_CHECKING:
    from flowc.verify.checks import Check, Occasion
    from flowc.verify.inside import Finding, Verdict
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

    Compared is each parameter, each value that crosses from step to step, as its step made it and as the next one
    reads it, and all that the notebook's names hold at its end, numbers to the last digit. The exit code is 1 where
    one differs, 0 where none does; values that can't be compared are listed with the reason. Both runs really
    happen: what cells write to files, they write twice.
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
            # Results of earlier runs would be held against nothing that happens now.
            lambda whole: api.run(whole, arguments, settings, listener, interrupts, Wish(again=True)),
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
        for line in columns([_HEAD, *_rows(verification)]) if verification.rows else ():
            write_out(line)
        write_out(_summary(verification))
    if verification.failure is not None:
        say_error(verification.failure.message, "mend the notebook, and verify it again")
    for line in _first_difference(verification):
        note(line)


_HEAD = ("STEP", "VALUE", "TYPE", "COMPARED", "VERDICT")
_OCCASIONS: Mapping[Occasion, str] = MappingProxyType(
    {"given": "given by", "made": "made by", "read": "read by", "end": "at the end"}
)
_GRAVEST: tuple[Verdict, ...] = ("different", "not compared", "same")


def _rows(verification: Verification) -> Iterator[tuple[str, ...]]:
    """Yield a row for each value that a step gave or a parameter has, however often it was compared."""
    for (step, name), pairs in _by_value(verification).items():
        finding = _gravest(finding for _, finding in pairs)
        compared = _when(check for check, _ in pairs)
        verdict = finding.verdict + (f": {finding.detail}" if finding.detail else "")
        cells = ("(parameter)" if step is None else step, name, finding.type, compared, verdict)
        yield tuple(map(printable, cells))


def _by_value(verification: Verification) -> dict[tuple[str | None, str], list[tuple[Check, Finding]]]:
    values: dict[tuple[str | None, str], list[tuple[Check, Finding]]] = {}
    for check, finding in verification.rows:
        values.setdefault((check.step, check.name), []).append((check, finding))
    return values


def _gravest(findings: Iterable[Finding]) -> Finding:
    return min(findings, key=lambda finding: _GRAVEST.index(finding.verdict))


def _when(checks: Iterable[Check]) -> str:
    """Say in the fewest words when a value was compared."""
    cells: dict[str, list[str]] = {}
    for check in checks:
        cells.setdefault(_OCCASIONS[check.occasion], []).append(str(check.moment.cell))
    return ", ".join(
        words if words == _OCCASIONS["end"] else f"{words} cell{'s' * (len(them) > 1)} {' and '.join(them)}"
        for words, them in cells.items()
    )


def _summary(verification: Verification) -> str:
    run = verification.run
    if run.state != "COMPLETE":
        return f"nothing compared: run {run.run} of the pipeline is {run.state.lower()}"
    gravest = [
        _gravest(finding for _, finding in pairs).verdict for pairs in _by_value(verification).values()
    ]
    counts = ", ".join(f"{gravest.count(v)} {v}" for v in reversed(_GRAVEST) if v == "same" or v in gravest)
    gives = "gives" if verification.holds else "does not give"
    return f"run {run.run} {gives} what one kernel gives: of {len(gravest)} values, {counts}"


def _first_difference(verification: Verification) -> Iterator[str]:
    row = verification.first_difference()
    if row is None:
        return
    check, finding = row
    whose = f"parameter '{check.name}'" if check.step is None else f"'{check.name}' of step '{check.step}'"
    yield f"first difference: {whose}, {_where(verification, check)}"
    yield from columns(
        [
            ("where", f"{check.name}{finding.place}"),
            ("one kernel", finding.kernel),
            ("pipeline", finding.pipeline),
        ],
        "  ",
    )
    yield f"  {_reason(verification, check)}"


def _where(verification: Verification, check: Check) -> str:
    cells = {cell.index: cell.id for cell in verification.pipeline.cells}
    cell_id = cells.get(check.moment.cell)
    cell = f"cell {check.moment.cell}" + (f" (id {cell_id})" if cell_id else "")
    match check.occasion:
        case "given":
            return f"after {cell}, which sets it"
        case "made":
            return f"after {cell}, which makes it"
        case "read":
            return f"before {cell} of step '{check.reader}', which reads it"
    return f"at the notebook's end, after {cell}"


def _reason(verification: Verification, check: Check) -> str:
    """Say what a first difference means: all that was compared before it is the same."""
    if check.occasion == "given":
        return "the pipeline takes it in another form than the notebook: write it as its annotation has it"
    if check.occasion == "made":
        return (
            f"all that was compared before is the same, so cell {check.moment.cell} or one above it goes by something"
            " that is no variable (the clock, random numbers, a file, the environment), or a change was not seen"
        )
    of_value = _by_value(verification)[check.step, check.name]
    same = [one.moment.cell for one, finding in of_value if finding.verdict == "same"]
    since = f"it was the same after cell {same[-1]}, and " if same else ""
    return f"{since}some cell changes it in a way not seen: tag that cell 'defines:{check.name}'"


def _as_json(verification: Verification) -> dict[str, Any]:
    failure = verification.failure
    ids = {cell.index: cell.id for cell in verification.pipeline.cells}
    return {
        "run": verification.run.run,
        "state": verification.run.state,
        "holds": verification.holds,
        "failure": None if failure is None else {"cell": failure.cell, "message": failure.message},
        "compared": [
            {
                "step": check.step,
                "name": check.name,
                "occasion": check.occasion,
                "cell": check.moment.cell,
                "cell_id": ids.get(check.moment.cell),
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
