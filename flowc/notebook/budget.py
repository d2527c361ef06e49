"""How much work an analysis may do, so that no notebook, however it is written, keeps its author waiting.

What counts is work, not time: a notebook is refused everywhere or nowhere.
"""

from __future__ import annotations

from flowc.diagnostics import Diagnostic, Source
from flowc.notebook.model import diagnose

# A microsecond or two each: a thousand ordinary cells take less than a tenth of them.
_UNITS = 4_000_000


class OutOfBudgetError(Exception):
    """Analysis has used up its budget."""


class Budget:
    """What an analysis, with all its rounds, has left."""

    def __init__(self, units: int = _UNITS) -> None:
        self._left = units

    def spend(self, units: int) -> None:
        """Take units off. Raises OutOfBudgetError where there are not so many left."""
        self._left -= units
        if self._left < 0:
            raise OutOfBudgetError


def gives_up(error: OutOfBudgetError | RecursionError, source: Source) -> Diagnostic:
    """Return the diagnostic for code that is too much for the analysis."""
    if isinstance(error, RecursionError):
        message = "the code is nested too deeply to find out what it does"
        return diagnose("FC211", message, source, hint="give parts of it names of their own")
    message = "too many objects may be one another's here to find out what the code does to them"
    hint = "pass copies on, or put long functions and deep loops into a module and import that"
    return diagnose("FC211", message, source, hint=hint)
