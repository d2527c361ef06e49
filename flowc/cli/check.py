"""`flowc check`: all that can be found wrong with a pipeline without running it."""

from __future__ import annotations

import click

from flowc import __version__, api
from flowc.check.annotations import render_github, render_sarif, repository_of
from flowc.check.render import render_json
from flowc.check.sources import Sources
from flowc.cli.diagnostics import diagnostics_text
from flowc.cli.output import note, write_bytes, write_out
from flowc.cli.root import root_of
from flowc.cli.settings import settings_of
from flowc.cli.targets import compiled_target
from flowc.diagnostics import Diagnostic
from flowc.errors import CompileError
from flowc.settings import Given


@click.command("check")
@click.argument("target")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    help="How to write it: for people, for programs, or for code hosts.",
)
@click.option("--explain", is_flag=True, help="Say also why each edge is there.")
@click.option("--strict", is_flag=True, help="Note also what has no type.")
@click.pass_context
def check_command(ctx: click.Context, target: str, form: str, explain: bool, strict: bool) -> None:
    """Say all that is wrong with the pipeline TARGET. The exit code is 3 where something is."""
    diagnostics: tuple[Diagnostic, ...]
    try:
        compiled, options = compiled_target(ctx, target, strict=strict)
        checked, exit_code = api.check(compiled, options), 0
        store = settings_of(ctx, Given()).store
        diagnostics = (*checked.diagnostics, *api.check_against_past(checked, compiled.root, store))
        if explain:
            diagnostics += api.explain(compiled)
    except CompileError as error:
        diagnostics, exit_code = error.diagnostics, error.exit_code
    root = root_of(ctx)
    match form:
        case "json":
            write_bytes(render_json(diagnostics) + "\n")
        case "sarif":
            write_bytes(render_sarif(diagnostics, Sources(root), repository_of(root), __version__))
        case "github":
            write_bytes(render_github(diagnostics, Sources(root), repository_of(root)))
        case _ if diagnostics:
            write_out(diagnostics_text(diagnostics, root))
        case _:
            note(f"{target}: nothing to complain about")
    ctx.exit(exit_code)
