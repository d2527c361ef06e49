"""flowc's own options, and the settings that they win over."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from flowc.cli.root import root_of
from flowc.project import find_root
from flowc.settings import Given, Settings, read_settings

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder that runs are recorded in; .flowc in the project's root by default.",
)


def settings_of(ctx: click.Context, flags: Given) -> Settings:
    """Return the settings of the project that the command works on."""
    return read_settings(root_of(ctx), flags, os.environ, Path.cwd())


def store_flag(store: Path) -> str:
    """Return what a reading command, typed in the current folder, must add to read this store; "" for nothing."""
    folder = Path.cwd()
    found = read_settings(find_root(folder), Given(), os.environ, folder).store
    return "" if found.resolve() == store.resolve() else f" --store {shlex.quote(str(store))}"
