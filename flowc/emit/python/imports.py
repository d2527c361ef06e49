"""The module's imports: the user's own and those that the generated code needs, in the order that ruff and isort
give them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Set

from flowc.emit.python.statements import Statement
from flowc.emit.python.text import call


class Imports:
    """Gives generated code names for what it imports: the user's name for it if there is one, else a free one.

    `top` are the names at the top of the module, `everywhere` those of its functions, too. Members of modules stand
    at the top only, in signatures and decorators; modules are also used in functions.
    """

    def __init__(self, statements: Iterable[Statement], top: Set[str], everywhere: Set[str]) -> None:
        self._top = set(top)
        self._taken = {*top, *everywhere}
        self._modules: dict[tuple[str, str], None] = {}
        self._members: dict[tuple[str, str, str], None] = {}
        self._verbatim: list[tuple[str, bool, str]] = []
        for statement in statements:
            self._add(statement)

    def _add(self, statement: Statement) -> None:
        node = statement.node
        if (
            statement.comments.strip()
            or statement.after.strip()
            or (
                isinstance(node, ast.ImportFrom)
                and (node.level or node.names[0].name == "*" or node.module == "__future__")
            )
        ):
            name = node.names[0].name if isinstance(node, ast.Import) else getattr(node, "module", "") or ""
            self._verbatim.append((name, isinstance(node, ast.ImportFrom), statement.text().strip("\n")))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                self._modules[alias.name, alias.asname or alias.name] = None
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self._members[node.module or "", alias.name, alias.asname or alias.name] = None

    def module(self, name: str) -> str:
        """Return what a module is called, importing it if need be."""
        for known, as_ in self._modules:
            if known == name:
                return as_
            if known == as_ and known.startswith(f"{name}."):
                return name
        as_ = self.free(name)
        self._modules[name, as_] = None
        return as_

    def member(self, module: str, name: str) -> str:
        """Return what a module's member is called, importing it if need be."""
        if known := self.known_member(module, name):
            return known
        as_ = name
        while as_ in self._top:
            as_ += "_"
        self.take(as_)
        self._members[module, name, as_] = None
        return as_

    def known_member(self, module: str, name: str) -> str | None:
        """Return what a module's member is called if it is imported already."""
        return next((as_ for *known, as_ in self._members if known == [module, name]), None)

    def names(self) -> set[str]:
        """Return the names that the imports bind."""
        return {as_.partition(".")[0] for _, as_ in self._modules} | {as_ for *_, as_ in self._members}

    def free(self, name: str) -> str:
        """Return the name, with as many underscores behind it as make it free, and take it."""
        while name in self._taken:
            name += "_"
        self.take(name)
        return name

    def take(self, name: str) -> None:
        """Keep a name from being given to an import."""
        self._top.add(name)
        self._taken.add(name)

    def text(self, local: Set[str] = frozenset(), before_local: str = "") -> str:
        """Return the import block: future, standard library, others, and last the modules beside the notebook, each
        section sorted. `before_local` makes these importable."""
        entries = [(name, False, _import(name, as_)) for name, as_ in self._modules]
        members: dict[str, list[tuple[str, str]]] = {}
        for module, name, as_ in self._members:
            members.setdefault(module, []).append((name, as_))
        entries += [(module, True, _import_from(module, names)) for module, names in members.items()]
        sections: dict[int, list[tuple[bool, str, str]]] = {}
        for name, from_, text in (*entries, *self._verbatim):
            sections.setdefault(_section(name, local), []).append((from_, name, text))
        blocks = {
            number: "\n".join(dict.fromkeys(text for *_, text in sorted(sections[number])))
            for number in sorted(sections)
        }
        if before_local and _LOCAL in blocks:
            late = (
                line + ("" if line.startswith((" ", ")")) else "  # noqa: E402")
                for line in blocks[_LOCAL].split("\n")
            )
            blocks[_LOCAL] = before_local + "\n\n" + "\n".join(late)
        return "\n\n".join(blocks.values())

    def are_local(self, local: Set[str]) -> bool:
        """Say whether any of the modules lies beside the notebook."""
        names = (
            *(key[0] for key in (*self._modules, *self._members)),
            *(name for name, *_ in self._verbatim),
        )
        return any(_section(name, local) == _LOCAL for name in names)


_LOCAL = 3


def _section(module: str, local: Set[str]) -> int:
    root = module.partition(".")[0]
    if root in local:
        return _LOCAL
    return 0 if root == "__future__" else 1 if root in sys.stdlib_module_names else 2


def _import(name: str, as_: str) -> str:
    return f"import {name}" if name == as_ else f"import {name} as {as_}"


def _import_from(module: str, names: list[tuple[str, str]]) -> str:
    ordered = sorted(names, key=lambda pair: (_kind(pair[0]), pair[0].lower(), pair))
    parts = [name if name == as_ else f"{name} as {as_}" for name, as_ in ordered]
    one_line = f"from {module} import {', '.join(parts)}"
    wrapped = call("import ", parts)
    return one_line if "\n" not in call(f"from {module} import ", parts) else f"from {module} {wrapped}"


def _kind(name: str) -> int:
    """Return isort's rank of a name: constants, then classes, then what is left."""
    return 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
