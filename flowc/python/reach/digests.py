"""The digests of what is reached: name by name, and one for what each module does by itself, in its order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowc.python.reach import outside
from flowc.python.reach.actions import Actions
from flowc.python.reach.closure import Closure
from flowc.python.reach.decorators import counted, is_ours
from flowc.python.reach.module import Binding, Module
from flowc.python.reach.normal import Function, code_digest, without_docstring, words_digest
from flowc.python.reach.project import Project


class Digests:
    """Digests of one project's code, each made once."""

    def __init__(self, project: Project, actions: Actions) -> None:
        self._project = project
        self._actions = actions
        self._names: dict[tuple[str, str, bool], str] = {}
        self._statements: dict[tuple[str, int, bool], str] = {}

    def of(self, closure: Closure, program: Module | None = None) -> dict[str, str]:
        """Return the digest of each name that is reached, as "module:name", and of modules' actions as "module:"."""
        documented = not outside.DOCUMENT_READERS.isdisjoint(closure.attributes)
        sources = not outside.SOURCE_READERS.isdisjoint(closure.attributes)
        found = {f"{missing}:": "missing" for missing in closure.missing}
        for (home, name), asked in closure.names.items():
            if program is None or home != program.name:
                found[f"{home}:{name}"] = self._name(home, name, documented or asked)
        acting = self._acting(closure) | self._circular(closure)
        for name in closure.executed:
            module = self._project.module(name)
            if module is None:
                continue
            if module is program:
                words = list(self._all(module, closure, documented))
            else:
                words = list(self._own(module, closure, acting, documented))
            if sources or not module.parsed:
                words.append(module.raw)
            if documented:
                words.append(module.docstring)
            if words:
                found[f"<{module.file}>:" if module is program else f"{name}:"] = words_digest(words)
        return found

    def _name(self, module_name: str, name: str, documented: bool) -> str:
        key = (module_name, name, documented)
        if key not in self._names:
            module = self._project.module(module_name)
            assert module is not None
            bindings = self._project.bindings(module, name)
            words = [word for each in bindings for word in self._binding(module, each, documented)]
            if _is_one_package(bindings):
                words.sort()
            words.extend(module.futures)
            self._names[key] = words_digest(words)
        return self._names[key]

    def _binding(self, module: Module, binding: Binding, documented: bool) -> Iterator[str]:
        if binding.star:
            yield f"star {binding.star}"
        if binding.whole:
            yield self._statement(module, binding.index, documented)
        elif not binding.star:
            for imported in binding.imports:
                yield f"import {imported.module} {imported.name or ''} {imported.executes or ''}"

    def _statement(self, module: Module, index: int, documented: bool) -> str:
        key = (module.name, index, documented)
        if key not in self._statements:
            node = counted(self._project, module, module.statements[index])
            if not documented and isinstance(node, Function) and self._is_plain(module, node):
                node = without_docstring(node)
            self._statements[key] = code_digest([node])
        return self._statements[key]

    def _is_plain(self, module: Module, function: Function) -> bool:
        """Say whether nothing but flowc sees a function when it is defined."""
        return all(is_ours(self._project, module, each) for each in function.decorator_list)

    # -- what a module does by itself

    def _all(self, program: Module, closure: Closure, documented: bool) -> Iterator[str]:
        for index, statement in enumerate(program.statements):
            asked = any(closure.names.get((program.name, name)) for name in statement.bound.names)
            yield self._statement(program, index, documented or asked)

    def _own(self, module: Module, closure: Closure, acting: set[str], documented: bool) -> Iterator[str]:
        """Yield the module's actions in order, and where its reached names stand among them.

        A value is computed from what names are at that moment. So the order counts of actions, of imports of
        modules that act, and of the statements of reached names that several bind or change, and which other
        reached statements stand between these.
        """
        actions = self._actions.of(module)
        turns = self._turns(module, closure)
        imported = self._project.imports_of(module)
        imports = {index for index, names in imported.items() if not acting.isdisjoint(names)}
        # Who is imported in a circle sees what its importer has defined so far.
        circular = module.name in acting and bool(imports)
        if not actions and not circular and len(turns | imports) < 2:
            return
        between: set[str] = set()
        for index, statement in enumerate(module.statements):
            if index in actions | turns | imports:
                yield from (*sorted(between), "then")
                between = set()
            if index in actions:
                yield self._statement(module, index, documented)
            elif index in turns:
                yield from sorted(statement.bound.names | {each.name or "" for each in statement.changes})
            elif index in imports:
                yield from sorted(acting & imported[index])
            elif (module.name, index) in closure.statements and (circular or statement.eager.uses):
                between |= statement.bound.names
        yield from sorted(between)

    def _turns(self, module: Module, closure: Closure) -> set[int]:
        turns: set[int] = set()
        for name, bindings in module.bindings.items():
            several = len(bindings) > 1 and not _is_one_package(bindings)
            if several and (module.name, name) in closure.names:
                turns.update(binding.index for binding in bindings)
        return turns

    def _acting(self, closure: Closure) -> set[str]:
        """Return the modules that do more than bind names when they are imported, or import one that does."""
        importers: dict[str, set[str]] = {}
        acting = []
        for name in closure.executed:
            module = self._project.module(name)
            if module is None:
                continue
            if self._actions.of(module):
                acting.append(name)
            for names in self._project.imports_of(module).values():
                for imported in names:
                    importers.setdefault(imported, set()).add(name)
        found = set(acting)
        while acting:
            for importer in importers.get(acting.pop(), set()) - found:
                found.add(importer)
                acting.append(importer)
        return found

    def _circular(self, closure: Closure) -> set[str]:
        """Return the modules that import each other in a circle, and those between two circles."""
        imports = {
            name: set().union(*self._project.imports_of(module).values()) & closure.executed
            for name in closure.executed
            if (module := self._project.module(name)) is not None
        }
        importers: dict[str, set[str]] = {name: set() for name in imports}
        for name, imported in imports.items():
            for each in imported & imports.keys():
                importers[each].add(name)
        left = set(imports)
        for edges, back in ((imports, importers), (importers, imports)):
            ends = [name for name in left if not edges[name] & left]
            while ends:
                name = ends.pop()
                if name in left:
                    left.discard(name)
                    ends.extend(each for each in back[name] & left if not edges[each] & left)
        return left


def _is_one_package(bindings: Sequence[Binding]) -> bool:
    """Say whether a name is bound by `import a.b` and `import a.c` alone, whose order tells nothing."""
    imports = {imported.module for each in bindings for imported in each.imports if imported.name is None}
    return len(imports) == 1 and not any(each.whole or each.star for each in bindings)
