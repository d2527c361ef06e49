"""From a class to its "module:qualname" and back."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Any

from flowc.errors import NotFoundError, did_you_mean


def ref_of(thing: Any) -> str:
    """Return "module:qualname" for a class or function."""
    return f"{thing.__module__}:{thing.__qualname__}"


def found_by_name(thing: Any) -> bool:
    """Say whether a class or function is one that another process can import by its name."""
    return hasattr(thing, "__qualname__") and "<" not in thing.__qualname__ and bool(thing.__module__)


def displaced_by(function: Any) -> Any:
    """Return another function that has taken this one's name in its module, so that it would be imported; or None."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    found, own = inspect.unwrap(found) if callable(found) else None, inspect.unwrap(function)
    same = inspect.isfunction(found) and found is not own and ref_of(found) == ref_of(own)
    return found if same else None


def resolve_ref(ref: str) -> Any:
    """Import what a "module:qualname" names.

    Raises NotFoundError where the module can't be imported or lacks the name.
    """
    module_name, _, qualname = ref.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name + ".").startswith(error.name + "."):
            raise NotFoundError(
                f"no module named '{error.name}' (needed for '{ref}')",
                hint="run from the project's folder, or install the package that has it",
            ) from error
        raise
    for part in qualname.split("."):
        if not hasattr(found, part):
            raise NotFoundError(
                f"module '{module_name}' has no '{qualname}'", hint=did_you_mean(part, dir(found))
            )
        found = getattr(found, part)
    return found
