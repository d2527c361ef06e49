"""TARGET on the command line: compiled and checked, with what is said on the way kept off stdout."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from flowc import api
from flowc.cli.diagnostics import say_diagnostics
from flowc.cli.root import set_root


def compiled_target(ctx: click.Context, text: str) -> api.Compiled:
    """Return the compiled target that the command was given."""
    target = api.load_target(text, Path.cwd())
    set_root(ctx, target.root)
    # Importing the user's file may print, and stdout is for the command's result.
    with redirect_stdout(sys.stderr):
        compiled = api.compile(target)
    set_root(ctx, compiled.root)  # compiled IR may lie outside the project that it was made from
    return compiled


def checked_target(ctx: click.Context, text: str) -> api.Compiled:
    """Return the compiled target, found to be without errors. Warnings go to stderr."""
    compiled = compiled_target(ctx, text)
    checked = api.check(compiled)
    if checked.diagnostics:
        say_diagnostics(checked.diagnostics, compiled.root)
    return compiled
