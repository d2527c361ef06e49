"""Diagnostics as the command line says them: coloured where that can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flowc.check.render import render_text
from flowc.check.sources import Sources
from flowc.cli.output import note
from flowc.diagnostics import Diagnostic


def say_diagnostics(diagnostics: Sequence[Diagnostic], root: Path) -> None:
    """Write diagnostics to stderr; `root` is where their files are."""
    note(diagnostics_text(diagnostics, root))


def diagnostics_text(diagnostics: Sequence[Diagnostic], root: Path) -> str:
    """Return diagnostics as coloured text: whoever writes it takes the colours off where they can't be seen."""
    return render_text(diagnostics, Sources(root), color=True)
