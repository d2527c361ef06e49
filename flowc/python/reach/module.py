"""A project's module as its top-level statements, and which of them make what each of its names is."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from flowc.python.reach.bindings import Bound, Imported, bound_in, children
from flowc.python.reach.changes import Change, changes_of
from flowc.python.reach.normal import words_digest
from flowc.python.reach.uses import Uses, uses_of


@dataclass(frozen=True, slots=True)
class Binding:
    """A statement that binds or changes a name. `whole` where more than the import of the name is in it."""

    index: int
    imports: tuple[Imported, ...] = ()
    whole: bool = True
    star: str | None = None


class Statement:
    """A top-level statement. One for type checkers only is never executed."""

    def __init__(self, node: ast.stmt, *, executed: bool, module: str, is_package: bool) -> None:
        self.node = node
        self.executed = executed
        self._module = module
        self._is_package = is_package

    @cached_property
    def bound(self) -> Bound:
        return bound_in([self.node], self._module, is_package=self._is_package)

    @cached_property
    def uses(self) -> Uses:
        """All that it uses, in the functions that it defines too."""
        return self.uses_in([self.node])

    def uses_in(self, nodes: Sequence[ast.AST]) -> Uses:
        """Return what code uses that stands in this statement's place."""
        return uses_of(nodes, self._module, is_package=self._is_package)

    @cached_property
    def eager(self) -> Uses:
        """What it uses when it is executed."""
        return self.eager_uses([self.node])

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What it changes in place when it is executed."""
        return tuple(changes_of(self.node))

    def eager_uses(self, nodes: Sequence[ast.AST]) -> Uses:
        """Return what parts of it use when they are executed."""
        return uses_of(nodes, self._module, is_package=self._is_package, eager_only=True)


@dataclass(slots=True)
class Module:
    """A module that was read. `raw` is the digest of its bytes; one that can't be parsed has no statements."""

    name: str
    file: str
    raw: str
    parsed: bool
    statements: list[Statement] = field(default_factory=list)
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[tuple[int, str]] = field(default_factory=list)
    docstring: str = ""
    futures: tuple[str, ...] = ()

    def bind(self, name: str, binding: Binding) -> None:
        """Let a statement be one of those that make a name what it is."""
        known = self.bindings.setdefault(name, [])
        if all(binding.index != each.index for each in known):
            known.append(binding)

    def unread(self, names: Iterable[str]) -> frozenset[str]:
        """Return those of the names that nothing in the module mentions but imports."""
        left = set(names)
        waiting: list[ast.AST] = [each.node for each in reversed(self.statements)]
        while waiting and left:
            node = waiting.pop()
            if isinstance(node, ast.Name):
                left.discard(node.id)
            else:
                waiting.extend(children(node))
        return frozenset(left)


def read_module(name: str, file: str) -> Module:
    """Read a module's file; what can't be parsed is there by its bytes alone."""
    try:
        data = Path(file).read_bytes()
    except OSError as error:  # it went away since it was found, or may not be read
        return Module(name, file, words_digest(("unreadable", type(error).__name__)), parsed=False)
    raw = words_digest((data.hex(),))
    tree = _parsed(data) if file.endswith(".py") else None
    if tree is None:
        return Module(name, file, raw, parsed=False)
    docstring = ast.get_docstring(tree, clean=False) or ""
    futures = tuple(sorted(_futures(tree.body)))
    module = Module(name, file, raw, parsed=True, docstring=docstring, futures=futures)
    take_statements(module, tree.body, is_package=Path(file).name == "__init__.py")
    return module


def take_statements(
    module: Module, body: Sequence[ast.stmt], *, is_package: bool, is_program: bool = False
) -> None:
    """Let a module have these statements, and the names that they bind."""
    for node, executed in ((each, True) for each in body) if is_program else _flat(body):
        index = len(module.statements)
        statement = Statement(node, executed=executed, module=module.name, is_package=is_package)
        module.statements.append(statement)
        bound = statement.bound
        whole = not isinstance(node, ast.Import | ast.ImportFrom)
        for name in sorted(bound.names):
            module.bind(name, Binding(index, tuple(bound.imports.get(name, ())), whole))
        module.stars.extend((index, star) for star in bound.stars)
    for index, statement in enumerate(module.statements):
        for name in sorted({change.name for change in statement.changes if change.name}):
            if any(each.whole and not each.imports for each in module.bindings.get(name, ())):
                module.bind(name, Binding(index))


def _parsed(data: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is its author's business
        try:
            return ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _flat(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield a module's statements, each with whether it is executed; those of `if TYPE_CHECKING:` one by one.

    What stands under `if __name__ == "__main__":` is not there for who imports the module.
    """
    for node in body:
        if not isinstance(node, ast.If):
            yield node, True
        elif _is_main(node.test):
            yield from _flat(node.orelse)
        elif _is_type_checking(node.test):
            yield from ((each, False) for each in node.body)
            yield from _flat(node.orelse)
        else:
            yield node, True


def _futures(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the future features that a module's code is compiled with."""
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            yield from (alias.name for alias in node.names)


def _is_main(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            name = any(isinstance(each, ast.Name) and each.id == "__name__" for each in (left, right))
            return name and any(
                isinstance(each, ast.Constant) and each.value == "__main__" for each in (left, right)
            )
    return False


def _is_type_checking(test: ast.expr) -> bool:
    return (getattr(test, "attr", None) or getattr(test, "id", None)) == "TYPE_CHECKING"
