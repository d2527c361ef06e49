"""`flowc explain`: the page of a diagnostic code."""

from __future__ import annotations

import click

from flowc.check.codes import page_of
from flowc.check.markdown import page_text
from flowc.cli.output import json_option, write_json, write_out


@click.command("explain")
@click.argument("code")
@json_option
def explain_command(code: str, as_json: bool) -> None:
    """Say what the diagnostic CODE, such as FC203, means, why it matters and what to do, with an example."""
    from rich.console import Console
    from rich.markdown import Markdown

    page = page_of(code)
    console = Console()
    if as_json:
        write_json(page.model_dump(mode="json"))
    elif console.is_terminal:  # FORCE_COLOR counts as one
        console.print(Markdown(page_text(page)))
    else:
        write_out(page_text(page).rstrip("\n"))
