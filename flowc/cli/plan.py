"""`flowc plan` and `flowc why`: what would run and what would be used again; and afterwards, why a task ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flowc import api
from flowc.cli.options import given_texts
from flowc.cli.output import columns, json_option, write_json, write_out
from flowc.cli.run import COMPILED, PipelineCommand
from flowc.cli.settings import settings_of, store_option
from flowc.cli.wish import wish_of, wish_options
from flowc.emit.text import printable
from flowc.plan.reuse import Blocked, Decision, LeftOut, Reuse, Run, Undecided
from flowc.settings import Given

_WORDS: dict[type[Any], str] = {
    Run: "run",
    Reuse: "reuse",
    Undecided: "undecided",
    LeftOut: "left out",
    Blocked: "blocked",
}


@click.command("plan", cls=PipelineCommand)
@click.argument("target", expose_value=False)
@store_option
@click.option(
    "-p", "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter of the pipeline."
)
@wish_options
@json_option
@click.pass_context
def plan_command(ctx: click.Context, /, pairs: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Show for each task of TARGET whether it would run or take over an earlier result, and why. Nothing runs.

    An undecided task waits for one that runs: where that makes what it made before, nothing more needs to run.
    """
    compiled: api.Compiled = ctx.meta[COMPILED]
    settings = settings_of(ctx, Given(store=given["store"]))
    arguments = api.parse_arguments(compiled, given_texts(given, pairs), Path.cwd())
    steps = api.plan(compiled, arguments, settings, wish_of(given))
    if as_json:
        write_json(
            [{"task": s.task, "decision": _word(s.decision), "why": s.why, "run": s.run} for s in steps]
        )
    else:
        rows = [(printable(s.task), _word(s.decision), printable(s.why)) for s in steps]
        write_out("\n".join(columns(rows)))


@click.command("why")
@click.argument("run")
@click.argument("task")
@store_option
@json_option
@click.pass_context
def why_command(ctx: click.Context, run: str, task: str, store: Path | None, as_json: bool) -> None:
    """Show why TASK ran in RUN ('latest', an id or its beginning): what differs from when it ran before."""
    reasons = api.why(run, task, settings_of(ctx, Given(store=store)))
    if as_json:
        write_json({"run": reasons.run, "task": task, "compared_with": reasons.before, "why": reasons.words})
    else:
        against = f", compared with run {reasons.before}" if reasons.before else ""
        write_out(f"{printable(task)} in run {reasons.run}{against}:")
        write_out("\n".join(f"  {printable(word)}" for word in reasons.words))


def _word(decision: Decision) -> str:
    return _WORDS[type(decision)]
