"""Which of a pipeline's modules are the project's own, and so must be found by file."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from flowc.ir import Component, FunctionRef, PythonCode, Task
from flowc.project import relative_to_root
from flowc.python.load import module_name_of


def project_modules(
    components: Iterable[Component], tasks: Iterable[Task], target: Path, root: Path
) -> dict[str, str]:
    """Return the file, relative to the root, of each project module that is named, the target's first."""
    names = {component.code.module for component in components if isinstance(component.code, PythonCode)}
    for task in tasks:
        bindings = (binding for binding in task.inputs.values() if isinstance(binding, FunctionRef))
        names.update(binding.ref.partition(":")[0] for binding in bindings)
    own = {name: file for name in sorted(names) if (file := _project_file(name, root))}
    return {module_name_of(target)[0]: relative_to_root(target, root), **own}


def _project_file(name: str, root: Path) -> str | None:
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return None
    return relative_to_root(Path(file), root) if is_own_file(Path(file), root) else None


def is_own_file(path: Path, root: Path) -> bool:
    """Say whether a file is the project's: below its root, and not installed there."""
    path = path.resolve()
    return path.is_relative_to(root) and not any(path.is_relative_to(folder) for folder in _installed())


@lru_cache(maxsize=1)
def _installed() -> tuple[Path, ...]:
    return tuple({Path(sysconfig.get_path(key)).resolve() for key in ("purelib", "platlib", "stdlib")})
