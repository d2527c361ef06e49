"""From an exception to what the user is told on stderr, and to the exit code: the one place where this is decided."""

from __future__ import annotations

import errno
import tempfile
import traceback
from pathlib import Path

import click

from flowc.cli.output import note
from flowc.errors import CompileError, FlowcError

_UNAVAILABLE = 5
_BUG = 70
# What the machine refuses, wherever we meet it: a full or read-only disk, no permission, no more files.
_REFUSALS = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
)


def report(error: Exception, root: Path) -> int:
    """Say on stderr what happened and what to do; return the exit code. `root` is where diagnostics' files are."""
    match error:
        case CompileError():
            _say_diagnostics(error, root)
        case FlowcError() if type(error) is not FlowcError:
            say_error(error.message, error.hint)
        case click.ClickException():
            say_error(error.format_message(), _usage_hint(error))
            return error.exit_code
        case OSError(errno=number) if number in _REFUSALS:
            say_error(_refusal(error), None)
            return _UNAVAILABLE
        case _:
            _say_bug(error)
            return _BUG
    return error.exit_code


def say_error(message: str, hint: str | None) -> None:
    """Write an error, and below it what to do, to stderr."""
    note(f"{click.style('error:', fg='red', bold=True)} {message}")
    if hint:
        note(f"{click.style('hint:', bold=True)} {hint}")


def _say_diagnostics(error: CompileError, root: Path) -> None:
    from flowc.cli.diagnostics import say_diagnostics  # not on the way to `flowc --help`

    say_diagnostics(error.diagnostics, root)


def _refusal(error: OSError) -> str:
    place = f": {error.filename}" if error.filename else ""
    return f"{(error.strerror or str(error)).lower()}{place}"


def _usage_hint(error: click.ClickException) -> str | None:
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"see '{error.ctx.command_path} --help'"
    return None


def _say_bug(error: Exception) -> None:
    summary = "".join(traceback.format_exception_only(error)).strip()
    say_error(f"flowc itself failed, which is a bug: {summary}", f"please report it with {_written(error)}")


def _written(error: Exception) -> str:
    """Return where the traceback was written; where nothing can be written, the traceback itself."""
    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="flowc-bug-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(text)
    except OSError:
        return f"this traceback:\n{text}"
    return f"the traceback in {file.name}"
