"""What names a piece of code binds in its own scope, and which of them by an import."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

_BIND_NOTHING: Final = frozenset((ast.Constant, ast.Lambda, ast.Pass, ast.Break, ast.Continue))


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import binds: a module, or the attribute `name` of one (which may be a submodule).

    `import a.b` binds `a` and executes `a.b`: it is the module a, with `executes` a.b.
    """

    module: str
    name: str | None = None
    executes: str | None = None


@dataclass(slots=True)
class Bound:
    """Names bound in one scope. `declared` are those that `global` says are the module's."""

    names: set[str] = field(default_factory=set)
    imports: dict[str, list[Imported]] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    stars: list[str] = field(default_factory=list)

    def with_names(self, names: Iterable[str]) -> Bound:
        self.names.update(names)
        return self


def children(node: ast.AST) -> list[ast.AST]:
    """Return a node's parts, in its order; `ast.iter_child_nodes` takes three times as long."""
    found: list[ast.AST] = []
    for name in node._fields:
        part = getattr(node, name, None)
        if isinstance(part, list):
            found.extend([each for each in part if isinstance(each, ast.AST)])
        elif isinstance(part, ast.AST) and not isinstance(part, ast.expr_context):
            found.append(part)
    return found


def bound_in(nodes: Sequence[ast.AST], module: str, *, is_package: bool) -> Bound:
    """Return what code binds in its own scope, at any depth of statements but not in functions and classes."""
    bound = Bound()
    outer: set[str] = set()
    waiting: list[tuple[ast.AST, bool]] = [(node, False) for node in nodes]
    while waiting:
        node, comprehension = waiting.pop()
        if type(node) in _BIND_NOTHING:
            continue
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if not comprehension:
                bound.names.add(name)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                bound.names.add(name)
                waiting.append((value, comprehension))
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.names.add(node.name)
                waiting.extend((each, comprehension) for each in node.decorator_list)
                continue
            case ast.Import() | ast.ImportFrom():
                for name, imported in imported_by(node, module, is_package=is_package):
                    if name == "*":
                        bound.stars.append(imported.module)
                    else:
                        bound.names.add(name)
                        bound.imports.setdefault(name, []).append(imported)
                continue
            case ast.Global(names=names):
                bound.declared.update(names)
            case ast.Nonlocal(names=names):
                outer.update(names)
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                bound.names.add(name)
            case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
                bound.names.add(name)
        inside = comprehension or isinstance(node, ast.comprehension)
        waiting.extend((child, inside) for child in children(node))
    bound.names -= bound.declared | outer
    return bound


def imported_by(
    node: ast.Import | ast.ImportFrom, module: str, *, is_package: bool
) -> Iterator[tuple[str, Imported]]:
    """Yield what an import binds, name by name; "*" for all names. Relative names become absolute."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, Imported(alias.name)
            else:
                top = alias.name.partition(".")[0]
                yield top, Imported(top, executes=None if top == alias.name else alias.name)
        return
    source = absolute(node.module or "", node.level, module, is_package=is_package)
    for alias in node.names:
        yield alias.asname or alias.name, Imported(source, alias.name)


def absolute(name: str, level: int, module: str, *, is_package: bool) -> str:
    """Return the absolute name of a module that is named relative to another."""
    if not level:
        return name
    parts = module.split(".")
    package = parts[: len(parts) - level + (1 if is_package else 0)]
    return ".".join((*package, name)) if name else ".".join(package)


def parameters_of(arguments: ast.arguments) -> Iterator[str]:
    """Yield the names of a function's parameters."""
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield argument.arg
    for more in (arguments.vararg, arguments.kwarg):
        if more is not None:
            yield more.arg
