"""TARGET on the command line: compiled and checked, with what is said on the way kept off stdout."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from flowc import api
from flowc.check.settle import CheckOptions
from flowc.cli.diagnostics import say_diagnostics
from flowc.cli.root import set_root
from flowc.settings import read_check_options


def compiled_target(
    ctx: click.Context, text: str, *, strict: bool = False
) -> tuple[api.Compiled, CheckOptions]:
    """Return the compiled target that the command was given, and how its project wants it checked."""
    target = api.load_target(text, Path.cwd())
    set_root(ctx, target.root)
    options = read_check_options(target.root, strict=strict)
    # Importing the user's file may print, and stdout is for the command's result.
    with redirect_stdout(sys.stderr):
        compiled = api.compile(target, options)
    set_root(ctx, compiled.root)  # compiled IR may lie outside the project that it was made from
    return compiled, options


def checked_target(ctx: click.Context, text: str) -> api.Compiled:
    """Return the compiled target, found to be without errors. Warnings go to stderr."""
    compiled, options = compiled_target(ctx, text)
    checked = api.check(compiled, options)
    if checked.diagnostics:
        say_diagnostics(checked.diagnostics, compiled.root)
    return compiled
