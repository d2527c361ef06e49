"""Import a project's own modules from their files, the same way in the driver and in every worker."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from flowc.errors import NotFoundError, UsageError
from flowc.ir import PythonCode
from flowc.runner import CodeBase
from flowc.types.names import resolve_ref


def module_name_of(path: Path) -> tuple[str, Path]:
    """Return the name that a file's module goes by, and the folder that must be on `sys.path` for it.

    A file in a package (with `__init__.py` beside it) is named from the package's top.
    """
    parts = [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts), folder


def load_file(path: Path) -> ModuleType:
    """Import a Python file as a module; a second call gives the same module.

    Raises NotFoundError where there is no file, UsageError where its name hides another module. What the file's
    own code raises comes through.
    """
    path = path.resolve()
    if not path.is_file():
        raise NotFoundError(f"no such file: {path}")
    name, folder = module_name_of(path)
    loaded = sys.modules.get(name)
    if loaded is not None and _file_of(loaded) == path:
        return loaded
    if loaded is not None or name in sys.stdlib_module_names:
        raise UsageError(f"{path.name} has the name of another module, '{name}'", hint="rename the file")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    if "." in name:
        return importlib.import_module(name)
    return _executed(name, path)


def _executed(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file", hint="a pipeline's file ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


def prepare_modules(code_base: CodeBase) -> None:
    """Import the project modules of a run, so that their classes and functions can be found by name."""
    for name, file in code_base.modules.items():
        # Asked before every task, so what is there already is recognised without a look at the disk.
        if getattr(sys.modules.get(name), "__file__", None) != f"{code_base.root}/{file}":
            load_file(code_base.root / file)


def load_code(code: PythonCode) -> Callable[..., Any]:
    """Return the plain function that a Python component stands for; its module must have been prepared."""
    found = resolve_ref(f"{code.module}:{code.qualname}")
    return getattr(found, "function", found)  # type: ignore[no-any-return]
