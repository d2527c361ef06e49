"""Where a module's code lies, found without importing anything: the project's own code is read, all else is counted
by its version.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from typing import Literal

Kind = Literal["project", "installed", "standard", "flowc", "missing"]

# In the order in which Python's own finder looks.
_SUFFIXES = (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES)
_INSTALLED = frozenset(("site-packages", "dist-packages"))


@dataclass(frozen=True, slots=True)
class Found:
    """A module: whose it is, its file (none for a namespace package), and where its submodules lie."""

    name: str
    kind: Kind
    file: str | None = None
    folders: tuple[str, ...] = ()


class Finder:
    """Finds modules on a search path as Python would, each once."""

    def __init__(self, search_path: Sequence[str]) -> None:
        self._path = tuple(dict.fromkeys(str(Path(folder).absolute()) for folder in search_path))
        self._found: dict[str, Found] = {}
        self._listings: dict[str, frozenset[str]] = {}

    def find(self, name: str) -> Found:
        """Return what a module's full name stands for; its kind is "missing" where nothing does."""
        parts = name.split(".")
        found = self._known(parts[0], None)
        for length in range(2, len(parts) + 1):
            found = self._known(".".join(parts[:length]), found)
        return found

    def below(self, found: Found) -> Iterator[str]:
        """Yield the names of all modules that lie in a package's or a top-level module's folders, at any depth."""
        start = found.folders
        prefix = f"{found.name}."
        if not start and found.file is not None:
            start, prefix = (str(Path(found.file).parent),), ""
        waiting = [(folder, prefix) for folder in start]
        seen = set()
        while waiting:
            folder, prefix = waiting.pop()
            real = os.path.realpath(folder)
            if real in seen:
                continue  # a link to a folder above
            seen.add(real)
            for entry in sorted(self._listing(folder)):
                stem, dot, suffix = entry.partition(".")
                if not stem.isidentifier() or stem in ("__pycache__", "__init__", "__main__"):
                    continue
                inside = f"{folder}/{entry}"
                if f"{dot}{suffix}" in _SUFFIXES:
                    yield prefix + stem
                elif not dot and self._is_code_folder(inside):
                    yield prefix + stem
                    waiting.append((inside, f"{prefix}{stem}."))

    def _is_code_folder(self, folder: str) -> bool:
        listing = self._listing(folder)
        if "pyvenv.cfg" in listing or Path(folder).name in _INSTALLED:
            return False
        return bool(listing)

    def _known(self, name: str, parent: Found | None) -> Found:
        if name not in self._found:
            self._found[name] = self._looked_up(name, parent)
        return self._found[name]

    def _looked_up(self, name: str, parent: Found | None) -> Found:
        if name == "flowc" or (parent is not None and parent.kind == "flowc"):
            return Found(name, "flowc")
        if parent is None and name in sys.builtin_module_names:
            return Found(name, "standard")
        file, folders = self._searched(
            name.rpartition(".")[2], self._path if parent is None else parent.folders
        )
        if file is None and not folders:
            file, folders = _editable(name)
        if file is None and not folders:
            standard = parent is None and name in sys.stdlib_module_names
            return Found(name, "standard" if standard else "missing")
        return Found(name, _kind(file or f"{folders[0]}/."), file, folders)

    def _searched(self, part: str, places: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
        portions = []
        for folder in places:
            listing = self._listing(folder)
            inside = f"{folder}/{part}"
            if part in listing:
                package = self._listing(inside)
                for suffix in _SUFFIXES:
                    if f"__init__{suffix}" in package:
                        return f"{inside}/__init__{suffix}", (inside,)
            for suffix in _SUFFIXES:
                if f"{part}{suffix}" in listing:
                    return f"{inside}{suffix}", ()
            if part in listing and Path(inside).is_dir():
                portions.append(inside)
        return None, tuple(portions)

    def _listing(self, folder: str) -> frozenset[str]:
        if folder not in self._listings:
            try:
                names = frozenset(os.listdir(folder))  # noqa: PTH208  # names alone, a hundred thousand of them
            except OSError:  # no folder, as many entries of a search path are none
                names = frozenset()
            self._listings[folder] = names
        return self._listings[folder]


def _editable(name: str) -> tuple[str | None, tuple[str, ...]]:
    """Ask the finders that editable installs have put in place, which import nothing when they are asked."""
    for finder in sys.meta_path:
        if "editable" in str(getattr(finder, "__module__", "")):
            spec = finder.find_spec(name, None)
            if spec is not None:
                file = spec.origin if spec.origin and Path(spec.origin).is_file() else None
                return file, tuple(spec.submodule_search_locations or ())
    return None, ()


def _kind(file: str) -> Kind:
    # The folder's real place, not the file's: installers may link single files into site-packages.
    folder = Path(os.path.realpath(Path(file).parent))
    if not _INSTALLED.isdisjoint(folder.parts):
        return "installed"
    if any(folder.is_relative_to(standard) for standard in _standard()):
        return "standard"
    return "project"


@cache
def _standard() -> tuple[Path, ...]:
    return tuple({Path(os.path.realpath(sysconfig.get_path(key))) for key in ("stdlib", "platstdlib")})
