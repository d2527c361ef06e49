"""A project's modules as they see one another: what a name in one of them leads to in the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flowc.python.reach.bindings import Imported
from flowc.python.reach.distributions import Distributions
from flowc.python.reach.finder import Finder, Found
from flowc.python.reach.module import Binding, Module, Statement, read_module
from flowc.python.reach.uses import Use


@dataclass(frozen=True, slots=True)
class Target:
    """One thing on the way from a name to its code.

    link: a name of a project's module that an import or a star binds; definition: one that a statement makes;
    module: a project's module that is executed on the way; whole: one that is used as an object; library: the
    dotted name of what is not the project's, with `module` the part of it that is a module; missing: a module
    that isn't there.
    """

    kind: Literal["link", "definition", "module", "whole", "library", "missing"]
    module: str
    name: str = ""


_NOTHING: tuple[Binding, ...] = ()


class Project:
    """Modules on one search path. `read` keeps what was read of files, for all paths of one plan."""

    def __init__(self, search_path: Sequence[str], read: dict[tuple[str, str], Module]) -> None:
        self._finder = Finder(search_path)
        self._distributions = Distributions(search_path)
        self._read = read
        self._modules: dict[str, Module | None] = {}
        self._folders: dict[str, Path] = {}
        self._targets: dict[tuple[str, str, tuple[str, ...]], tuple[Target, ...]] = {}
        self._exports: dict[str, frozenset[str]] = {}
        self._imports: dict[str, dict[int, frozenset[str]]] = {}

    def add(self, program: Module, folder: Path) -> None:
        """Take in a program, whose name is none that can be imported, and the folder that it runs in."""
        self._modules[program.name] = program
        self._folders[program.name] = folder

    def module(self, name: str) -> Module | None:
        """Return a project's module; None for a namespace package and for what is not the project's."""
        if name not in self._modules:
            found = self._finder.find(name)
            ours = self._is_ours(found) and found.file is not None
            self._modules[name] = self._read_once(found) if ours else None
        return self._modules[name]

    def _read_once(self, found: Found) -> Module:
        assert found.file is not None
        key = (found.name, found.file)
        if key not in self._read:
            self._read[key] = read_module(found.name, found.file)
        return self._read[key]

    def is_ours(self, name: str) -> bool:
        """Say whether a module is read: project code, or installed by nothing that has a version."""
        return name in self._folders or self._is_ours(self._finder.find(name))

    def _is_ours(self, found: Found) -> bool:
        if found.kind == "installed" and found.file is not None:
            return self._distributions.owner(found) is None
        return found.kind == "project"

    def is_module(self, package: str, name: str) -> bool:
        """Say whether a name of a package is a module."""
        return name != "*" and self.is_there(f"{package}.{name}")

    def is_there(self, name: str) -> bool:
        """Say whether a module can be found."""
        return name in self._folders or self._finder.find(name).kind != "missing"

    def may_do_anything(self, name: str) -> bool:
        """Say whether a module is a library's whose import may do more than give its names."""
        return self._finder.find(name).kind in ("installed", "missing") and not self.is_ours(name)

    def distribution(self, name: str) -> tuple[str, str] | None:
        """Return name and version of the distribution that a library's module is of; None for the standard's."""
        found = self._finder.find(name)
        if found.kind == "flowc":
            from flowc import __version__

            return "flowc", __version__
        return self._distributions.owner(found) if found.kind == "installed" else None

    def around(self, module: str) -> Iterator[str]:
        """Yield all project's modules of a module's top-level package, or of its folder where it is in none."""
        top = module.partition(".")[0]
        folder = self._folders.get(module)
        found = Found(module, "project", str(folder / module)) if folder else self._finder.find(top)
        yield top
        for name in self._finder.below(found):
            if self.is_ours(name):
                yield name

    def below(self, package: str) -> Iterator[str]:
        """Yield all modules of a package."""
        found = self._finder.find(package)
        if found.folders:
            yield from (name for name in self._finder.below(found) if self.is_ours(name))

    def imports_of(self, module: Module) -> dict[int, frozenset[str]]:
        """Return the modules that a module's statements import when they are executed, by statement."""
        if module.name not in self._imports:
            found = {}
            for index, statement in enumerate(module.statements):
                if statement.executed and statement.eager.imports:
                    found[index] = frozenset(self._imported_by(statement))
            self._imports[module.name] = found
        return self._imports[module.name]

    def _imported_by(self, statement: Statement) -> Iterator[str]:
        for imported in statement.eager.imports:
            yield imported.executes or imported.module
            if imported.name is not None and self.is_module(imported.module, imported.name):
                yield f"{imported.module}.{imported.name}"

    # -- names

    def exports(self, name: str) -> frozenset[str]:
        """Return the names that a module has, those of its star imports too."""
        if name not in self._exports:
            names: set[str] = set()
            seen = set()
            waiting = [name]
            while waiting:
                current = waiting.pop()
                module = self.module(current)
                if module is not None and current not in seen:
                    seen.add(current)
                    names.update(module.bindings)
                    waiting.extend(star for _, star in module.stars)
            self._exports[name] = frozenset(names)
        return self._exports[name]

    def bindings(self, module: Module, name: str) -> Sequence[Binding]:
        """Return what binds a name, in the module's order; a star import may be among it."""
        if not module.stars:
            return module.bindings.get(name, _NOTHING)
        stars = [Binding(index, star=star) for index, star in module.stars if name in self.exports(star)]
        return sorted((*module.bindings.get(name, ()), *stars), key=lambda binding: binding.index)

    def targets_of(self, module: Module, use: Use) -> tuple[Target, ...]:
        """Return what a use in a module leads to."""
        if use.origins:
            return tuple(
                target
                for origin in use.origins
                for target in self.targets(
                    origin.module, (*([origin.name] if origin.name else []), *use.path)
                )
            )
        return self.named(module, use.name, use.path)

    def named(self, module: Module, name: str, path: tuple[str, ...]) -> tuple[Target, ...]:
        """Return what a global name of a module leads to, with the attributes that are read off it."""
        if not self.bindings(module, name):
            loose = [
                Target("library", star, f"{star}.{name}")
                for _, star in module.stars
                if not self.is_ours(star)
            ]
            builtin = ".".join(("builtins", name, *path))
            return (Target("library", "builtins", builtin), *loose)
        return self.targets(module.name, (name, *path))

    def targets(self, module: str, path: tuple[str, ...]) -> tuple[Target, ...]:
        """Return what a dotted name, read off a module, leads to."""
        key = (module, "", path)
        if key not in self._targets:
            self._targets[key] = tuple(dict.fromkeys(self._search(module, path)))
        return self._targets[key]

    def _search(self, module: str, path: tuple[str, ...]) -> Iterator[Target]:
        seen = set()
        waiting = [(module, path)]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            name, rest = current
            if not self.is_ours(name):
                yield from self._outside(name, rest)
                continue
            yield Target("module", name)
            if not rest:
                yield Target("whole", name)
                continue
            yield from self._member(name, rest, waiting)

    def _outside(self, name: str, path: tuple[str, ...]) -> Iterator[Target]:
        dotted = ".".join((name, *path))
        if not self.is_there(name):
            yield Target("missing", name, dotted)
            return
        position = 0
        while position < len(path) and self.is_there(f"{name}.{path[position]}"):
            name = f"{name}.{path[position]}"
            position += 1
        yield Target("library", name, dotted)

    def _member(
        self, name: str, path: tuple[str, ...], waiting: list[tuple[str, tuple[str, ...]]]
    ) -> Iterator[Target]:
        """Yield what the first part of a path is in a project's module; leave where to go on in `waiting`."""
        part, rest = path[0], path[1:]
        submodule = f"{name}.{part}"
        is_module = self.is_there(submodule)
        if is_module:
            waiting.append((submodule, rest))
        module = self.module(name)
        if module is None:
            if not is_module:
                yield Target("missing", submodule, submodule)
            return
        bindings = self.bindings(module, part)
        if not bindings and not is_module and not (part.startswith("__") and part.endswith("__")):
            loose = [star for _, star in module.stars if not self.is_ours(star)]
            waiting.extend((star, path) for star in loose)
            if "__getattr__" in module.bindings:
                yield Target("definition", name, "__getattr__")
            elif not loose:
                yield Target("whole", name)  # something else gives it the name
            return
        if bindings:
            made = any(binding.whole for binding in bindings)
            yield Target("definition" if made else "link", name, part)
        for binding in bindings:
            waiting.extend(_imported(imported, rest) for imported in binding.imports)
            if binding.star:
                waiting.append((binding.star, path))


def _imported(imported: Imported, path: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return imported.module, (*((imported.name,) if imported.name else ()), *path)
