"""The options that say what of earlier runs is used again, for `flowc run` and `flowc plan`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from flowc.errors import UsageError
from flowc.plan.reuse import Wish

_OPTIONS = (
    click.option("--no-cache", is_flag=True, help="Run every task, whatever earlier runs made."),
    click.option(
        "--resume",
        metavar="RUN",
        help="Use all that this run has finished ('latest': the newest run), and its arguments.",
    ),
    click.option("--from", "begin", metavar="TASK", help="Run this task again, and all that needs it."),
    click.option("--until", metavar="TASK", help="Run this task and what it needs, nothing else."),
    click.option("--only", metavar="TASK", help="Run this task alone, on what earlier runs made for it."),
)
Command = Callable[..., Any]


def wish_options(command: Command) -> Command:
    """Give a command these options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wish_of(given: Mapping[str, Any]) -> Wish:
    """Return what the options say. Raises UsageError for those that contradict each other."""
    if given["no_cache"] and (given["resume"] or given["only"]):
        other = "--resume" if given["resume"] else "--only"
        raise UsageError(f"--no-cache and {other} contradict each other", hint="give one of them")
    if given["only"] and (given["begin"] or given["until"]):
        raise UsageError("--only says all that --from and --until could say", hint="give --only alone")
    return Wish(
        again=given["no_cache"],
        resume=given["resume"],
        begin=given["begin"],
        until=given["until"],
        only=given["only"],
    )
