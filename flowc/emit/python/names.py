"""What a statement's names mean to the module around it: which it reads there, which it sets.

The compiler's own tables (`symtable`) decide, so that comprehensions, lambdas, class bodies and `global` are right.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Names:
    """A statement's global names: those that it or any function in it reads or sets, and those that functions set
    by `global`."""

    reads: frozenset[str]
    binds: frozenset[str]
    declared: frozenset[str]


def names_of(statement: ast.stmt) -> Names:
    """Return the names of a statement at the top of a cell."""
    # Positions don't matter here, and `await` at the top is an error to symtable.
    text = ast.unparse(_WithoutAwait().visit(ast.parse(ast.unparse(statement))))
    top = symtable.symtable(text, "<cell>", "exec")
    inner = [symbol for table in _below(top) for symbol in table.get_symbols() if symbol.is_global()]
    outer = top.get_symbols()
    declared = {symbol.get_name() for symbol in inner if symbol.is_declared_global()}
    reads = {symbol.get_name() for symbol in (*outer, *inner) if symbol.is_referenced()}
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        reads.add(statement.target.id)
    for node in ast.walk(statement):
        if isinstance(node, ast.ClassDef):
            reads |= read_around_class(node)
    set_ = {symbol.get_name() for symbol in outer if symbol.is_assigned() or symbol.is_imported()}
    return Names(frozenset(reads), frozenset(set_ | declared), frozenset(declared))


def read_around_class(node: ast.ClassDef) -> set[str]:
    """Return the names that a class body reads from outside before it sets its own, as in `x = x`."""
    stored: set[str] = set()
    read: set[str] = set()
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            stored.add(statement.name)
            continue
        names = [each for each in ast.walk(statement) if isinstance(each, ast.Name)]
        read |= {each.id for each in names if isinstance(each.ctx, ast.Load)} - stored
        stored |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return read & stored


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _below(child)


class _WithoutAwait(ast.NodeTransformer):
    def visit_Await(self, node: ast.Await) -> ast.expr:
        self.generic_visit(node)
        return node.value

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node


def certainly_bound(statements: Iterable[ast.stmt], before: Iterable[str] = ()) -> set[str]:
    """Return the names that have a value when the statements have run to their end; those in `before` have one first.

    A loop counts as run at least once: where it is not, reading its names fails as it does in the notebook.
    """
    bound = set(before)
    for statement in statements:
        bound |= _bound_by(statement)
        bound -= set(_unbound_by(statement))
    return bound


def _unbound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement may take the value from: by `del`, and at the end of `except ... as`."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
            return
        case ast.Delete(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.ExceptHandler(name=str() as name):
            yield name
    for child in ast.iter_child_nodes(node):
        yield from _unbound_by(child)


def _bound_by(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            return _walrus(test) | _on_all_paths(body, orelse)
        case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
            return _heads(statement) | certainly_bound((*body, *orelse))
        case ast.With(body=body):
            return _heads(statement) | certainly_bound(body)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
            paths = _on_all_paths((*body, *orelse), *(handler.body for handler in handlers))
            return paths | certainly_bound(final)
        case ast.Expr(value=ast.Name(id=name)):
            return {name}  # as in `try: x`, which ends well only where x has a value
        case ast.Match(subject=subject, cases=cases):
            total = isinstance(cases[-1].pattern, ast.MatchAs) and cases[-1].pattern.pattern is None
            bound = [
                _captured(case.pattern) | certainly_bound(case.body)
                for case in cases
                if not _raises(case.body)
            ]
            return _walrus(subject) | (set.intersection(*bound) if total and bound else set())
    return set(names_of(statement).binds)


def _on_all_paths(*branches: Iterable[ast.stmt]) -> set[str]:
    """Return what every branch binds that comes to its end."""
    lists = [list(branch) for branch in branches]
    ending = [branch for branch in lists if not _raises(branch)]
    return set.intersection(*map(certainly_bound, ending)) if ending else set()


def _raises(branch: Sequence[ast.stmt]) -> bool:
    return bool(branch) and isinstance(branch[-1], ast.Raise)


def _captured(pattern: ast.pattern) -> set[str]:
    """Return the names that a pattern binds where it fits; each alternative of one binds the same."""
    nodes = list(ast.walk(pattern))
    found = {node.name for node in nodes if isinstance(node, ast.MatchAs | ast.MatchStar)}
    found |= {node.rest for node in nodes if isinstance(node, ast.MatchMapping)}
    return {name for name in found if name is not None}


def _heads(statement: ast.stmt) -> set[str]:
    """Return the names that a loop's or a with's own line binds."""
    match statement:
        case ast.For(target=target):
            return _stored(target)
        case ast.With(items=items):
            return {name for item in items if item.optional_vars for name in _stored(item.optional_vars)}
        case ast.While(test=test):
            return _walrus(test)
    return set()


def _stored(target: ast.expr) -> set[str]:
    return {
        node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _walrus(expression: ast.expr) -> set[str]:
    return {
        node.target.id
        for node in ast.walk(expression)
        if isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name)
    }
