"""What code reads besides its arguments: the clock, environment variables, and code that it finds by itself."""

from __future__ import annotations

import ast
import re
from typing import Final

from flowc.python.reach.uses import Use

_CLOCK: Final = frozenset(
    (
        *("time.time", "time.time_ns", "uuid.uuid1", "pendulum.now", "arrow.now", "arrow.utcnow"),
        *(
            "datetime.datetime.now",
            "datetime.datetime.utcnow",
            "datetime.datetime.today",
            "datetime.date.today",
        ),
        *("pandas.Timestamp.now", "pandas.Timestamp.today", "pandas.Timestamp.utcnow", "pandas.datetime.now"),
    )
)
# They read the clock where they are given fewer arguments than this.
_CLOCK_UNLESS_GIVEN: Final = {
    "time.localtime": 1,
    "time.gmtime": 1,
    "time.ctime": 1,
    "time.asctime": 1,
    "time.strftime": 2,
}
_CLOCK_BY_WORD: Final = frozenset(
    ("numpy.datetime64", "pandas.Timestamp", "pandas.to_datetime", "pandas.DatetimeIndex")
)
_NOW: Final = frozenset(("now", "today"))

_ENVIRONMENT: Final = frozenset(
    ("os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop", "os.environ.__getitem__")
)

# Code that is found while it runs: among the module's own names, or by any name of a module.
_OWN_NAMES: Final = frozenset(
    f"builtins.{name}" for name in ("globals", "eval", "exec", "__builtins__", "__dict__")
)
_OWN_NAMES_IF_BARE: Final = frozenset(f"builtins.{name}" for name in ("vars", "locals", "dir"))
_IMPORTERS: Final = frozenset(("importlib.import_module", "builtins.__import__", "importlib.__import__"))
_FINDERS: Final = ("sys.modules", "pkgutil.", "runpy.", "importlib.util.", "importlib.machinery.", "imp.")
FINDING_ATTRIBUTES: Final = frozenset(("__subclasses__", "__globals__", "f_globals", "__loader__"))
# What shows a function's text to the code that asks.
DOCUMENT_READERS: Final = frozenset(("__doc__", "getdoc", "getcomments"))
SOURCE_READERS: Final = frozenset(
    ("getsource", "getsourcelines", "getsourcefile", "co_firstlineno", "findsource")
)


def is_clock(dotted: str, use: Use) -> bool:
    """Say whether a use of a library's name reads the clock, or may do so where it is passed on."""
    if dotted in _CLOCK:
        return True
    if dotted in _CLOCK_UNLESS_GIVEN:
        call = use.call
        if call is None or any(isinstance(each, ast.Starred) for each in call.args):
            return True
        return len(call.args) + len(call.keywords) < _CLOCK_UNLESS_GIVEN[dotted]
    if dotted in _CLOCK_BY_WORD and use.call is not None:
        return any(isinstance(each, ast.Constant) and each.value in _NOW for each in use.call.args)
    return False


def environment_key(dotted: str, use: Use) -> ast.expr | None:
    """Return the name by which a use reads an environment variable."""
    if dotted in ("os.environ", "os.environb"):
        return use.key
    if dotted in _ENVIRONMENT and use.call is not None:
        named = [keyword.value for keyword in use.call.keywords if keyword.arg == "key"]
        return next(iter((*use.call.args, *named)), None)
    return None


def imported_text(dotted: str, use: Use) -> str | None:
    """Return the module that a call imports by a text; "" where the text can't be told, None for no import."""
    if dotted not in _IMPORTERS:
        return None
    match use.call.args if use.call is not None else []:
        case [ast.Constant(value=str() as text)] if not text.startswith("."):
            return text
        case [ast.Constant(value=str() as text), ast.Name(id="__package__" | "__name__")]:
            return text
        case [ast.Constant(value=str() as text), ast.Constant(value=str() as package)]:
            return f"{package}{text}" if re.match(r"\.[^.]", text) else ""
    return ""


def finds_own_names(dotted: str, use: Use) -> bool:
    """Say whether a use can get at any name of the module that it stands in."""
    if dotted in _OWN_NAMES_IF_BARE:
        return use.call is None or not use.call.args
    return dotted in _OWN_NAMES


def finds_modules(dotted: str) -> bool:
    """Say whether a use can get at any module."""
    return any(
        f"{dotted}.".startswith(finder if finder.endswith(".") else f"{finder}.") for finder in _FINDERS
    )
