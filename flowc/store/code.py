"""Which of the project's code a stored value depends on: its content changes meaning when that is edited."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from flowc.types.names import ref_of

_INSTALLED = ("/site-packages/", "/dist-packages/")


def project_code(met: Iterable[Any]) -> tuple[str, ...]:
    """Return, as "module:qualname", those of the classes and functions that are neither Python's nor installed.

    A notebook's own have no file, and are left out: they are part of each step that needs them.
    """
    modules = {each.__module__ for each in met if isinstance(each.__module__, str)}
    own = {name for name in modules if _is_projects(name)}
    return tuple(sorted(ref_of(each) for each in met if each.__module__ in own))


def _is_projects(module: str) -> bool:
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names or package == "flowc":
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and not any(folder in file for folder in _INSTALLED)
