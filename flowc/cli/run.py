"""`flowc run`: run a pipeline, whose parameters are options of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flowc import api
from flowc.cli.options import given_texts, parameter_help, parameter_options
from flowc.cli.output import json_option
from flowc.cli.progress import progress
from flowc.cli.result import write_result
from flowc.cli.settings import settings_of, store_option
from flowc.cli.targets import checked_target
from flowc.cli.wish import wish_of, wish_options
from flowc.engine.interrupts import Interrupts
from flowc.errors import CancelledError, RunFailedError
from flowc.ir import Parameter
from flowc.settings import Given

COMPILED = "flowc.compiled"
_EXIT_CODES = {"COMPLETE": 0, "FAILED": RunFailedError.exit_code, "CANCELED": CancelledError.exit_code}


class PipelineCommand(click.Command):
    """A command that looks for its TARGET first, and then has the options of the pipeline that it found."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        target = self._target(args)
        if target is not None:
            ctx.meta[COMPILED] = checked_target(ctx, target)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if target is not None:
                raise
            message = f"{error.format_message()} The pipeline's own options come after TARGET."
            raise click.UsageError(message, ctx) from error

    def _target(self, args: list[str]) -> str | None:
        """Return the first argument that is no option; None where an option is in the way that is not flowc's."""
        options = [parameter for parameter in self.params if isinstance(parameter, click.Option)]
        finder = click.Command(self.name, params=[*options, _HELP, _TARGET], add_help_option=False)
        found = finder.make_context(
            self.name,
            list(args),
            resilient_parsing=True,
            allow_interspersed_args=False,
            allow_extra_args=True,
        )
        target: str | None = found.params.get("target")
        return target

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *parameter_options(_parameters(ctx), self._taken(ctx))]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        if COMPILED in ctx.meta:
            with formatter.section(f"Parameters of {ctx.meta[COMPILED].pipeline.name}"):
                formatter.write_dl(parameter_help(_parameters(ctx), self._taken(ctx)) or [("none", "")])

    def _taken(self, ctx: click.Context) -> set[str]:
        return {name for option in super().get_params(ctx) for name in option.opts if name.startswith("-")}


_TARGET = click.Argument(["target"])
_HELP = click.Option(["-h", "--help"], is_flag=True)


def _parameters(ctx: click.Context) -> tuple[Parameter, ...]:
    compiled: api.Compiled | None = ctx.meta.get(COMPILED)
    return compiled.pipeline.parameters if compiled else ()


@click.command("run", cls=PipelineCommand)
@click.argument("target", expose_value=False)  # found, and compiled, when the command was parsed
@click.option(
    "--runner", help="Where tasks run: 'local' (worker processes, the default) or 'inline' (in this one)."
)
@click.option("--workers", type=click.IntRange(min=1), help="How many tasks may run side by side.")
@store_option
@click.option(
    "-p",
    "--param",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter, also one that is named like an option of flowc.",
)
@wish_options
@json_option
@click.pass_context
def run_command(ctx: click.Context, /, pairs: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Run the pipeline TARGET: FILE.py, FILE.py::NAME, MODULE:NAME, NOTEBOOK.ipynb or compiled IR (.json).

    Its parameters are options, and come after it. 'flowc run TARGET --help' lists them. What an earlier run made of the
    same code and inputs is used again; 'flowc plan TARGET' shows what.
    """
    compiled: api.Compiled = ctx.meta[COMPILED]
    flags = Given(runner=given["runner"], store=given["store"], workers=given["workers"])
    settings = settings_of(ctx, flags)
    arguments = api.parse_arguments(compiled, given_texts(given, pairs), Path.cwd())
    interrupts = Interrupts()
    # Inline, tasks print on the terminal themselves, and a debugger may want it.
    with progress(live=settings.runner != "inline", stopping=lambda: interrupts.stopping) as listener:
        result = api.run(compiled, arguments, settings, listener, interrupts, wish_of(given))
    write_result(result.run, settings.store, as_json=as_json)
    ctx.exit(_EXIT_CODES[result.state])
