"""The `flowc` command: its subcommands by name, and the frame that every one of them runs in."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

import click

import flowc
from flowc.cli.failure import report
from flowc.cli.output import color_wanted, note, write_out
from flowc.cli.root import root_of

# Where each command lives and what `flowc --help` says of it, known without importing the command.
_COMMANDS = {
    "run": ("flowc.cli.run", "Run a pipeline; its parameters are options."),
    "plan": ("flowc.cli.plan", "Show what would run and what would be used again, and why."),
    "check": ("flowc.cli.check", "Say what is wrong with a pipeline, without running it."),
    "explain": ("flowc.cli.explain", "Say what a diagnostic code means, and what to do."),
    "compile": ("flowc.cli.compile", "Write a pipeline's IR as JSON."),
    "graph": ("flowc.cli.compile", "Draw a pipeline as Mermaid or as text."),
    "suggest": ("flowc.cli.suggest", "Suggest steps for a notebook that has no tags."),
    "verify": ("flowc.cli.verify", "Compare a notebook's pipeline with the notebook in one kernel."),
    "runs": ("flowc.cli.history", "List the runs in the store, newest first."),
    "show": ("flowc.cli.history", "Show a run: its tasks and what they made."),
    "why": ("flowc.cli.plan", "Say why a task ran: what differs from when it ran before."),
    "logs": ("flowc.cli.logs", "Print what the tasks of a run wrote."),
    "new": ("flowc.cli.new", "Begin a project from a template."),
}
_INTERRUPTED = 130
_OUTPUT_CLOSED = 141  # what the shell says of a program that SIGPIPE ended


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(_COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(
    cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(flowc.__version__, message="flowc %(version)s")
@click.pass_context
def application(ctx: click.Context) -> None:
    """Compile machine-learning work into typed pipelines, run them, and look at what they made."""
    if ctx.invoked_subcommand is None:
        write_out(ctx.get_help())


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(args: Sequence[str]) -> int:
    """Run one command; return its exit code. No exception of ours or of Python's own gets past this."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale without our letters is no reason to fail
    try:
        return _exit_code(args)
    except BrokenPipeError:
        return _OUTPUT_CLOSED
    finally:
        _discard_unwritten()


def _exit_code(args: Sequence[str]) -> int:
    ctx = None
    try:
        with application.make_context("flowc", list(args), color=color_wanted()) as ctx:
            application.invoke(ctx)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (KeyboardInterrupt, click.Abort):
        note("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  # a bug is reported with where to read its traceback
        return report(error, root_of(ctx))
    return 0


def _discard_unwritten() -> None:
    """Let what could not be written go: Python flushes once more when it ends, and would exit with 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
