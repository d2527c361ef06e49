"""What can't be written as a Python module, as the diagnostics that the command line shows."""

from __future__ import annotations

from typing import NoReturn

from flowc.diagnostics import Diagnostic, Source
from flowc.emit.codes import PYTHON
from flowc.errors import CompileError


def refuse(message: str, source: Source | None, hint: str) -> NoReturn:
    """Raise CompileError (FC601): the notebook has no plain form as a Python module."""
    raise CompileError([Diagnostic(code=PYTHON, message=message, source=source, hint=hint)])
