"""Follows code to all that it reaches: a worklist over the statements and names of a project's modules."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from flowc.python.reach import outside
from flowc.python.reach.actions import Actions
from flowc.python.reach.bindings import absolute
from flowc.python.reach.decorators import uses_counted
from flowc.python.reach.module import Module, Statement
from flowc.python.reach.project import Project, Target
from flowc.python.reach.uses import Use


@dataclass(frozen=True, slots=True, order=True)
class Reading:
    """A read of the clock: the dotted name of what reads, and where."""

    name: str
    file: str
    line: int


class Closure:
    """What is reached from some start. The sets grow until nothing is waiting."""

    def __init__(self, project: Project, actions: Actions) -> None:
        self._project = project
        self._actions = actions
        self.names: dict[tuple[str, str], bool] = {}  # with whether something may read its docstring
        self.statements: set[tuple[str, int]] = set()
        self.executed: set[str] = set()
        self.missing: set[str] = set()
        self.distributions: dict[str, str] = {}
        self.environment: set[str] = set()
        self.texts: set[str] = set()
        self.clock: set[Reading] = set()
        self.attributes: set[str] = set()
        self._wholes: set[str] = set()
        self._around: set[str] = set()
        self._waiting: list[tuple[Module, int]] = []

    # -- starts

    def start_at(self, module: str, name: str, *, documented: bool) -> None:
        """Reach a module's name; without one the whole module."""
        self._follow(self._project.targets(module, (name,) if name else ()), documented=documented)
        self._work()

    def start_with(self, module: Module) -> None:
        """Reach all statements of a program: a module that nothing can import."""
        self.executed.add(module.name)
        for index in range(len(module.statements)):
            self._reach(module, index)
        for imported in self._project.imports_of(module).values():
            for name in imported:
                self._enter(name)
        self._work()

    def execute(self, name: str) -> None:
        """Let a module be imported: its actions, and those of all that it imports."""
        self._enter(name)
        self._work()

    # -- the worklist

    def _work(self) -> None:
        while self._waiting:
            module, index = self._waiting.pop()
            self._go_through(module, module.statements[index])

    def _reach(self, module: Module, index: int) -> None:
        if (module.name, index) not in self.statements:
            self.statements.add((module.name, index))
            self._waiting.append((module, index))

    def _go_through(self, module: Module, statement: Statement) -> None:
        uses = uses_counted(self._project, module, statement)
        for imported in uses.imports:
            self._import(imported.module, imported.name, imported.executes)
        self.texts.update(uses.texts)
        self.attributes |= uses.attributes
        if not outside.FINDING_ATTRIBUTES.isdisjoint(uses.attributes):
            self._reach_around(module)
        for use in uses.uses:
            if use.name == "__doc__":
                self.attributes.add("__doc__")
            targets = self._project.targets_of(module, use)
            self._follow(targets, documented=use.call is None)
            for target in targets:
                if target.kind in ("library", "missing"):
                    self._note(module, use, target.name)

    # -- what uses lead to

    def _follow(self, targets: Iterable[Target], *, documented: bool) -> None:
        for target in targets:
            match target.kind:
                case "module":
                    self._enter(target.module)
                case "link" | "definition":
                    self._name(target, documented)
                case "whole":
                    self._whole(target.module)
                case "library":
                    self._distribution(target.module)
                case "missing":
                    self.missing.add(target.module)

    def _name(self, target: Target, documented: bool) -> None:
        key = (target.module, target.name)
        known = self.names.get(key)
        self.names[key] = documented or bool(known)
        if known is not None:
            return
        module = self._project.module(target.module)
        assert module is not None
        for binding in self._project.bindings(module, target.name):
            if binding.star:
                self._follow(self._project.targets(binding.star, ("__all__",)), documented=False)
            if binding.whole:
                self._reach(module, binding.index)

    def _whole(self, name: str) -> None:
        """Reach all names of a module that is used as an object, and of all below it."""
        waiting = [name, *self._project.below(name)]
        for each in waiting:
            if each in self._wholes:
                continue
            self._wholes.add(each)
            self._enter(each)
            for exported in sorted(self._project.exports(each)):
                self._follow(self._project.targets(each, (exported,)), documented=True)

    def _reach_around(self, module: Module) -> None:
        top = module.name.partition(".")[0]
        if top not in self._around:
            self._around.add(top)
            for name in self._project.around(module.name):
                self._whole(name)

    # -- modules

    def _enter(self, name: str) -> None:
        """Let a module and the packages around it be executed."""
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current in self.executed or not self._project.is_ours(current):
                continue
            self.executed.add(current)
            package = current.rpartition(".")[0]
            if package:
                waiting.append(package)
            module = self._project.module(current)
            if module is not None:
                for index in self._actions.of(module):
                    self._reach(module, index)
                for imported in self._project.imports_of(module).values():
                    waiting.extend(imported)
                for _, star in module.stars:
                    self._distribution(star)

    def _import(self, module: str, name: str | None, executes: str | None) -> None:
        for each in (module, executes, f"{module}.{name}" if name else None):
            if each is None or (
                each not in (module, executes) and not self._project.is_module(module, name or "")
            ):
                continue
            if self._project.is_ours(each):
                self._enter(each)
            elif not self._project.is_there(each):
                self.missing.add(each)
            else:
                self._distribution(each)

    def _distribution(self, module: str) -> None:
        found = self._project.distribution(module)
        if found is not None:
            self.distributions[found[0]] = found[1]

    # -- what is read besides

    def _note(self, module: Module, use: Use, dotted: str) -> None:
        if outside.is_clock(dotted, use):
            self.clock.add(Reading(dotted, module.file, use.line))
        key = outside.environment_key(dotted, use)
        if key is not None:
            self._environment_name(module, key)
        text = outside.imported_text(dotted, use)
        if text is not None:
            self._imported_by_text(module, text)
        if outside.finds_own_names(dotted, use):
            self._whole(module.name)
        if outside.finds_modules(dotted):
            self._reach_around(module)

    def _environment_name(self, module: Module, key: ast.expr) -> None:
        if isinstance(key, ast.Name):
            nodes = [module.statements[each.index].node for each in module.bindings.get(key.id, ())]
            values = [getattr(node, "value", None) for node in nodes]
        else:
            values = [key]
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, str | bytes):
                name = value.value
                self.environment.add(name if isinstance(name, str) else name.decode("utf-8", "replace"))

    def _imported_by_text(self, module: Module, text: str) -> None:
        level = len(text) - len(text.lstrip("."))
        is_package = module.file.endswith("__init__.py")
        name = absolute(text[level:], level, module.name, is_package=is_package)
        if not text or not self._project.is_there(name):
            self._reach_around(module)
        else:
            self._follow(self._project.targets(name, ()), documented=True)
