"""What the user names to compile: a file, module, notebook or compiled IR, told apart before any is read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from flowc.errors import NotFoundError, UsageError, did_you_mean
from flowc.project import find_root, relative_to_root

_MODULE = re.compile(r"(?P<module>\w+(\.\w+)*):(?P<name>\w+)")
_SUFFIXES = (".py", ".ipynb", ".json")
_FORMS = "a target is FILE.py, FILE.py::PIPELINE, MODULE:PIPELINE, NOTEBOOK.ipynb, or compiled IR (.json)"


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A file of decorated functions, or a percent notebook; `name` picks one of its pipelines."""

    path: Path
    name: str | None
    root: Path

    def __str__(self) -> str:
        return relative_to_root(self.path, self.root) + (f"::{self.name}" if self.name else "")


@dataclass(frozen=True, slots=True)
class PythonModule:
    module: str
    name: str
    root: Path

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass(frozen=True, slots=True)
class NotebookFile:
    path: Path
    root: Path

    def __str__(self) -> str:
        return relative_to_root(self.path, self.root)


@dataclass(frozen=True, slots=True)
class IrFile:
    path: Path
    root: Path

    def __str__(self) -> str:
        return relative_to_root(self.path, self.root)


Target = PythonFile | PythonModule | NotebookFile | IrFile


def load_target(text: str, folder: Path) -> Target:
    """Return what `text` names, seen from `folder`, the current one.

    Raises NotFoundError where there is no such file, or it is of no kind that holds a pipeline.
    """
    module = _MODULE.fullmatch(text)
    if module and not (folder / text).exists():
        return PythonModule(module["module"], module["name"], find_root(folder))
    file, _, name = text.partition("::")
    path = _existing(folder / file, file)
    root = find_root(path)
    if name and path.suffix != ".py":
        raise UsageError(f"{file} holds one pipeline only, so '::{name}' can't pick one", hint=f"say {file}")
    match path.suffix:
        case ".py":
            return PythonFile(path, name or None, root)
        case ".ipynb":
            return NotebookFile(path, root)
        case ".json":
            return IrFile(path, root)
    raise NotFoundError(f"{file} is no pipeline", hint=_FORMS)


def _existing(path: Path, said: str) -> Path:
    if path.is_dir():
        hint = _near("", path) or _FORMS
        raise NotFoundError(f"{said} is a folder", hint=hint)
    if not path.exists():
        raise NotFoundError(f"no such target: {said}", hint=_near(path.name, path.parent) or _FORMS)
    if not os.access(path, os.R_OK):
        raise NotFoundError(f"{said} can't be read: permission denied")
    return path.resolve()


def _near(name: str, folder: Path) -> str | None:
    """Return a hint that names what `folder` has: the file closest to `name`, or all for no name."""
    if not folder.is_dir():
        return f"there is no folder {folder}"
    names = sorted(entry.name for entry in folder.iterdir() if entry.suffix in _SUFFIXES)
    if not name:
        return f"name a file in it: {', '.join(names)}" if names else None
    stems = {Path(each).stem: each for each in names}
    return f"did you mean '{stems[name]}'?" if name in stems else did_you_mean(name, names)
