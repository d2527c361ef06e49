"""Every exception that flowc raises on purpose, and the exit code each one ends the command with; and what is kept
of one that a task raised.

FlowcError                      70  (a bug of ours, if it is ever raised bare)
├── UsageError                   2  the command, a setting or an argument is wrong
├── CompileError                 3  diagnostics: the pipeline is wrong, nothing ran
├── NotFoundError                4  no such target, run, task or artifact
├── UnavailableError             5  a runner or the store can't be used
│   ├── StoreError
│   └── RunnerError
├── CodecError                   1  a value can't be saved or loaded
├── RunFailedError               1  at least one task failed
├── ComponentError               1  raised by components: a failure that needs no traceback
└── CancelledError             130  interrupted by the user
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from flowc.diagnostics import Diagnostic


class FlowcError(Exception):
    """The root of the tree. `hint` says what to do; it is shown on a line of its own."""

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders; the keyword-only hint must come along.
        return (_rebuild, (type(self), self.message, self.hint))


def _rebuild(kind: type[FlowcError], message: str, hint: str | None) -> FlowcError:
    return kind(message, hint=hint)


class UsageError(FlowcError):
    exit_code = 2


class CompileError(FlowcError):
    """Compile problems, collected: all of them are in `diagnostics`."""

    exit_code = 3

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(f"{d.severity}[{d.code}] {d.message}" for d in self.diagnostics))

    def __reduce__(self) -> tuple[object, ...]:
        return (CompileError, (self.diagnostics,))


class NotFoundError(FlowcError):
    exit_code = 4


class UnavailableError(FlowcError):
    exit_code = 5


class StoreError(UnavailableError):
    pass


class RunnerError(UnavailableError):
    pass


class CodecError(FlowcError):
    exit_code = 1


class RunFailedError(FlowcError):
    exit_code = 1


class ComponentError(FlowcError):
    """Raised by a component to fail its task with a message for people instead of a traceback."""

    exit_code = 1


class CancelledError(FlowcError):
    exit_code = 130


@dataclass(frozen=True, slots=True)
class TaskError:
    """Why an attempt failed. `traceback` starts at the user's own first frame; `expected` is a ComponentError."""

    kind: str
    message: str
    traceback: str = ""
    hint: str | None = None
    expected: bool = False


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return "did you mean 'x'?" for the closest known word, or None when nothing is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else None
