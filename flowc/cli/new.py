"""`flowc new`: begin a project from a template. Templates are packages, found by the entry point `flowc.templates`."""

from __future__ import annotations

import shutil
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import click

from flowc.cli.output import write_out
from flowc.errors import NotFoundError, UsageError, did_you_mean

_LEFT_OUT = shutil.ignore_patterns("__init__.py", "__pycache__", "py.typed")


@click.command("new")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--template", default="python", show_default=True, help="What to begin with: python or notebook."
)
def new_command(folder: Path, template: str) -> None:
    """Begin a project in FOLDER, which is made; one that holds anything is left alone."""
    source = _template(template)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", hint="name a folder that does not exist yet")
    try:
        shutil.copytree(source, folder, ignore=_LEFT_OUT, dirs_exist_ok=True)
    except OSError as error:
        raise UsageError(f"can't make {folder}: {(error.strerror or str(error)).lower()}") from error
    made = sorted(path for path in folder.iterdir() if path.is_file())
    target = next(path for path in made if path.stem == "pipeline")
    write_out("\n".join((*(f"made {path}" for path in made), f"run it: flowc run {target}")))


def _template(name: str) -> Path:
    found = {entry.name: entry for entry in entry_points(group="flowc.templates")}
    if name not in found:
        hint = did_you_mean(name, found) or f"there are: {', '.join(sorted(found))}"
        raise NotFoundError(f"no template '{name}'", hint=hint)
    spec = find_spec(found[name].value)
    if spec is None or spec.origin is None:
        raise NotFoundError(f"the template '{name}' names '{found[name].value}', which is not installed")
    return Path(spec.origin).parent
