"""The code part of a task's fingerprint: what a function reaches, each part with its digest."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from flowc.python.reach.actions import Actions
from flowc.python.reach.closure import Closure, Reading
from flowc.python.reach.digests import Digests
from flowc.python.reach.module import Module, take_statements
from flowc.python.reach.normal import python_version, words_digest
from flowc.python.reach.project import Project

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reached:
    """All the code that a function may execute, and what it reads besides its arguments.

    `definitions`: the digest of the statements that make a name what it is, by "module:name"; "module:" has the
    module's own actions. `distributions`: versions of the installed packages that reached code imports.
    `environment`: variables that are read under a name that can be told. `texts`: strings that could name a file.
    `clock`: reads of the clock. `digest` is over definitions, distributions and Python's version.
    """

    definitions: Mapping[str, str]
    distributions: Mapping[str, str]
    environment: tuple[str, ...]
    texts: tuple[str, ...]
    clock: tuple[Reading, ...]
    digest: str


class CodeReach:
    """Finds what code reaches. It reads each file once: make a new one for each plan."""

    def __init__(self, search_path: Sequence[str], imported: Sequence[str] = ()) -> None:
        """Look for modules on `search_path`, as Python does on `sys.path`.

        `imported` are modules that are imported before any function runs, whether or not it reaches them: what they
        do then counts for all.
        """
        self._search_path = tuple(search_path)
        self._imported = tuple(imported)
        self._read: dict[tuple[str, str], Module] = {}
        self._world = _World(self._search_path, self._read)
        self._worlds: dict[Path, _World] = {}
        self._reached: dict[tuple[str, bool], Reached] = {}

    def of(self, ref: str, *, passed_on: bool = False) -> Reached:
        """Return what a function or class reaches, named as "module:qualname".

        Where it is `passed_on` to code that may read its docstring, as tools of language models are, that counts too.
        """
        module, _, qualname = ref.partition(":")
        name = qualname.partition(".")[0]
        key = f"{module}:{name}"
        if (key, passed_on) not in self._reached:
            world = self._world
            closure = self._closure(world)
            closure.start_at(module, name, documented=passed_on)
            # A library's own function is counted by its name, and with its library by the version.
            outside = {} if world.project.is_ours(module) else {key: "library"}
            self._reached[key, passed_on] = world.reached(closure, outside)
        return self._reached[key, passed_on]

    def of_program(self, body: Sequence[ast.stmt], name: str, folder: Path) -> Reached:
        """Return what statements reach that run by themselves, in `folder`: a notebook's step. All of them count."""
        if folder not in self._worlds:
            self._worlds[folder] = _World((str(folder), *self._search_path), self._read)
        world = self._worlds[folder]
        module = world.program(body, name, folder)
        closure = self._closure(world)
        closure.start_with(module)
        return world.reached(closure, program=module)

    def _closure(self, world: _World) -> Closure:
        closure = Closure(world.project, world.actions)
        for name in self._imported:
            closure.execute(name)
        return closure


class _World:
    """The modules of one search path."""

    def __init__(self, search_path: Sequence[str], read: dict[tuple[str, str], Module]) -> None:
        self.project = Project(search_path, read)
        self.actions = Actions(self.project)
        self.digests = Digests(self.project, self.actions)
        self._programs = 0

    def program(self, body: Sequence[ast.stmt], name: str, folder: Path) -> Module:
        """Take in a program under a name that is no module's: `import train` in a step "train" is of train.py."""
        self._programs += 1
        module = Module(f"<{name} {self._programs}>", name, "", parsed=True)
        take_statements(module, body, is_package=False, is_program=True)
        self.project.add(module, folder)
        return module

    def reached(
        self, closure: Closure, outside: Mapping[str, str] = _NONE, program: Module | None = None
    ) -> Reached:
        definitions = dict(sorted({**self.digests.of(closure, program), **outside}.items()))
        distributions = dict(sorted(closure.distributions.items()))
        return Reached(
            definitions=definitions,
            distributions=distributions,
            environment=tuple(sorted(closure.environment)),
            texts=tuple(sorted(closure.texts)),
            clock=tuple(sorted(closure.clock)),
            digest=_digest(definitions, distributions),
        )


def _digest(definitions: Mapping[str, str], distributions: Mapping[str, str]) -> str:
    words = ["flowc code 1", python_version(), str(len(definitions))]
    words.extend(word for pair in (*definitions.items(), *distributions.items()) for word in pair)
    return words_digest(words)
