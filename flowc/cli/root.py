"""The root of the project that a command works on: the target's, once it is known; before that, the current one's.

It is kept with click's context, so that whoever reports an error can show the lines that diagnostics speak of.
"""

from __future__ import annotations

from pathlib import Path

import click

from flowc.project import find_root

_KEY = "flowc.root"


def set_root(ctx: click.Context, root: Path) -> None:
    """Note the target's root for the rest of the command."""
    ctx.meta[_KEY] = root


def root_of(ctx: click.Context | None) -> Path:
    """Return the root that a command works on."""
    root: Path = (ctx and ctx.meta.get(_KEY)) or find_root(Path())
    return root
