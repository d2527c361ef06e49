"""`flowc compile` and `flowc graph`: a pipeline in other forms."""

from __future__ import annotations

import os
from pathlib import Path

import click

from flowc import __version__, api
from flowc.cli.output import note, write_bytes, write_out
from flowc.cli.targets import checked_target
from flowc.emit.kfp import DEFAULT_IMAGE, to_kfp
from flowc.emit.mermaid import to_mermaid
from flowc.emit.text import to_text
from flowc.errors import UsageError
from flowc.ir.json import dump_pipeline


@click.command("compile")
@click.argument("target")
@click.option(
    "--to",
    "form",
    type=click.Choice(["json", "python", "kfp"]),
    default="json",
    help="What to write: flowc's IR, a Python module (of a notebook), or Kubeflow Pipelines' YAML.",
)
@click.option(
    "--image", help=f"The container image of every task, for --to kfp; {DEFAULT_IMAGE} unless given."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Where to; else stdout."
)
@click.pass_context
def compile_command(
    ctx: click.Context, target: str, form: str, image: str | None, output: Path | None
) -> None:
    """Write the pipeline TARGET in another form: as IR in JSON, which `flowc run` takes as a target."""
    if image is not None and form != "kfp":
        raise UsageError("'--image' is for '--to kfp'")
    compiled = checked_target(ctx, target)
    match form:
        case "python":
            text = _python_text(compiled, output)
        case "kfp":
            text = _kfp_text(compiled, image)
        case _:
            text = dump_pipeline(compiled.pipeline)
    if output is None:
        write_bytes(text)
    else:
        _replace(output, text)


def _python_text(compiled: api.Compiled, output: Path | None) -> str:
    from flowc.emit.python import Home, formatted, to_python

    home = Home()
    if output is not None and compiled.pipeline.source is not None:
        notebook = (compiled.root / compiled.pipeline.source.file).parent
        beside = {path.stem for path in notebook.glob("*.py")} | {
            path.parent.name for path in notebook.glob("*/__init__.py")
        }
        folder = Path(os.path.relpath(notebook, output.resolve().parent)).as_posix()
        home = Home(folder, frozenset(beside) - {output.stem})
    text = to_python(compiled.pipeline, home)
    in_form = formatted(text, output or Path(f"{compiled.pipeline.name}.py"))
    if in_form is None:
        note("the lines of cells are left as they are: 'pip install ruff', and they are formatted")
    return in_form or text


def _kfp_text(compiled: api.Compiled, image: str | None) -> str:
    if image is None:
        note(f"every task runs in {DEFAULT_IMAGE}, which has no flowc: name an image that does by --image")
    return to_kfp(compiled.pipeline, image or DEFAULT_IMAGE, __version__)


@click.command("graph")
@click.argument("target")
@click.option(
    "--format", "form", type=click.Choice(["mermaid", "text"]), default="mermaid", help="How to draw it."
)
@click.pass_context
def graph_command(ctx: click.Context, target: str, form: str) -> None:
    """Draw the pipeline TARGET, with the types of what flows along its edges."""
    draw = to_mermaid if form == "mermaid" else to_text
    write_out(draw(checked_target(ctx, target).pipeline).rstrip("\n"))


def _replace(path: Path, text: str) -> None:
    """Write a file in one go: neither a reader nor a full disk ever sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with draft.open("x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"can't write {path}: {(error.strerror or str(error)).lower()}") from error
