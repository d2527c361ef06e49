"""From an exception in a task to what the user is told: the traceback starts at the user's own first frame."""

from __future__ import annotations

import traceback
from pathlib import Path

from flowc.errors import ComponentError, FlowcError, TaskError

_OWN = str(Path(__file__).resolve().parent.parent) + "/"
# Frames of the standard library that stand between ours and the user's.
_BETWEEN = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")
_BETWEEN_FILES = ("/importlib/__init__.py", "/contextlib.py", "/asyncio/base_events.py")
_LONGEST = 100_000


def task_error(error: BaseException, doing: str = "") -> TaskError:
    """Return what came of a task that raised. `doing` says what was being done, where that was not the user's code.

    What flowc raises on purpose needs no traceback. Interrupts and `sys.exit` are told apart in words.
    """
    kind = type(error).__qualname__
    if isinstance(error, FlowcError):
        trace = "" if isinstance(error, ComponentError) else _users_traceback(error)
        return TaskError(
            kind, _plain(doing + error.message), trace, error.hint, isinstance(error, ComponentError)
        )
    if isinstance(error, SystemExit):
        return TaskError(kind, f"the task called sys.exit({error.code!r})", _users_traceback(error))
    if isinstance(error, KeyboardInterrupt):
        return TaskError(kind, "interrupted", _users_traceback(error))
    return TaskError(kind, _plain(doing + _text(error)), _users_traceback(error) or _whole_traceback(error))


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001  # the user's own __str__
        return f"<its text can't be shown: {type(broken).__name__}>"


def _users_traceback(error: BaseException) -> str:
    """Return the traceback without our frames above the user's; empty where none of the user's is in it."""
    report = traceback.TracebackException.from_exception(error, compact=True)
    pending = [report]
    while pending:
        part = pending.pop()
        part.stack = _without_own(part.stack)
        linked = (part.__cause__, part.__context__, *(part.exceptions or ()))
        pending += [other for other in linked if other is not None]
    shown = bool(report.stack) or isinstance(error, SyntaxError)
    return _plain("".join(report.format())) if shown else ""


def _without_own(stack: traceback.StackSummary) -> traceback.StackSummary:
    frames = list(stack)
    first = next((i for i, frame in enumerate(frames) if not _is_own(frame.filename)), len(frames))
    return traceback.StackSummary.from_list(frames[first:])


def _is_own(file: str) -> bool:
    return file.startswith(_OWN) or file in _BETWEEN or file.endswith(_BETWEEN_FILES)


def _whole_traceback(error: BaseException) -> str:
    return _plain("".join(traceback.format_exception(error)))


def _plain(text: str) -> str:
    """Return the text as one that any file or database takes: no lone surrogates or NUL, of a bounded length."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
