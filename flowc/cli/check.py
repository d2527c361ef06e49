"""`flowc check`: all that can be found wrong with a pipeline without running it."""

from __future__ import annotations

import click

from flowc import api
from flowc.check.render import render_json
from flowc.cli.diagnostics import diagnostics_text
from flowc.cli.output import note, write_bytes, write_out
from flowc.cli.root import root_of
from flowc.cli.targets import compiled_target
from flowc.diagnostics import Diagnostic
from flowc.errors import CompileError


@click.command("check")
@click.argument("target")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to write it."
)
@click.option("--explain", is_flag=True, help="Say also why each edge is there.")
@click.pass_context
def check_command(ctx: click.Context, target: str, form: str, explain: bool) -> None:
    """Say all that is wrong with the pipeline TARGET. The exit code is 3 where something is."""
    diagnostics: tuple[Diagnostic, ...]
    try:
        compiled = compiled_target(ctx, target)
        diagnostics, exit_code = api.check(compiled).diagnostics, 0
        if explain:
            diagnostics += api.explain(compiled)
    except CompileError as error:
        diagnostics, exit_code = error.diagnostics, error.exit_code
    if form == "json":
        write_bytes(render_json(diagnostics) + "\n")
    elif diagnostics:
        write_out(diagnostics_text(diagnostics, root_of(ctx)))
    else:
        note(f"{target}: nothing to complain about")
    ctx.exit(exit_code)
