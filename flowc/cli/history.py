"""`flowc runs` and `flowc show`: what has run, and what it made."""

from __future__ import annotations

from pathlib import Path

import click

from flowc.cli.output import columns, json_option, write_json, write_out
from flowc.cli.run_json import run_json, view_json
from flowc.cli.run_text import counts_of, state_of, view_lines
from flowc.cli.settings import settings_of, store_option
from flowc.cli.words import duration, moment
from flowc.emit.text import printable
from flowc.settings import Given
from flowc.store.metadata import open_store
from flowc.store.records import RunRecord
from flowc.view import view_run


@click.command("runs")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many at most."
)
@click.option("--pipeline", help="Only runs of this pipeline.")
@store_option
@json_option
@click.pass_context
def runs_command(
    ctx: click.Context, limit: int, pipeline: str | None, store: Path | None, as_json: bool
) -> None:
    """List the runs in the store, the newest first."""
    with open_store(settings_of(ctx, Given(store=store)).store, create=False) as opened:
        runs = opened.runs(limit, pipeline)
    if as_json:
        write_json([run_json(run) for run in runs])
    elif runs:
        write_out("\n".join(columns(map(_cells, runs))))


@click.command("show")
@click.argument("run", default="latest")
@store_option
@json_option
@click.pass_context
def show_command(ctx: click.Context, run: str, store: Path | None, as_json: bool) -> None:
    """Show a run: its parameters, its tasks, and what they made. RUN is an id or its beginning; the latest by
    default."""
    location = settings_of(ctx, Given(store=store)).store
    with open_store(location, create=False) as opened:
        view = view_run(opened, run)
    if as_json:
        write_json(view_json(view, location))
    else:
        write_out("\n".join(view_lines(view)))


def _cells(run: RunRecord) -> tuple[str, ...]:
    ended = "" if run.ended is None else duration(run.ended - run.started)
    return (run.id, printable(run.pipeline), state_of(run), moment(run.started), ended, counts_of(run))
