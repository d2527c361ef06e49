"""Decorators that do nothing when a module is imported but make one function of another."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from flowc.python.reach.module import Module, Statement
from flowc.python.reach.normal import Function, without_policy
from flowc.python.reach.project import Project, Target
from flowc.python.reach.uses import Uses

_WRAPPERS: Final = frozenset(("wraps", "functools.wraps"))


def is_ours(project: Project, module: Module, decorator: ast.expr) -> bool:
    """Say whether a decorator is flowc's `component` or `pipeline`."""
    return any(
        target.kind == "library"
        and target.module.partition(".")[0] == "flowc"
        and target.name.rpartition(".")[2] in ("component", "pipeline")
        for target in _targets(project, module, decorator)
    )


def counted(project: Project, module: Module, statement: Statement) -> ast.stmt:
    """Return a statement without what flowc alone reads of it: what a component needs, and how it is treated."""
    node = statement.node
    if not isinstance(node, Function) or not node.decorator_list:
        return node
    return without_policy(node, [each for each in node.decorator_list if is_ours(project, module, each)])


def uses_counted(project: Project, module: Module, statement: Statement) -> Uses:
    """Return what a statement uses, but for what flowc alone reads."""
    node = counted(project, module, statement)
    return statement.uses if node is statement.node else statement.uses_in([node])


def only_wraps(project: Project, module: Module, decorator: ast.expr) -> bool:
    """Say whether a decorator of the project's only puts a function around another one, and registers nothing."""
    arguments = _arguments(decorator) if isinstance(decorator, ast.Call) else []
    if any(isinstance(node, ast.Call) for part in arguments for node in ast.walk(part)):
        return False
    for target in _targets(project, module, decorator):
        if target.kind in ("link", "module"):
            continue
        home = project.module(target.module) if target.kind == "definition" else None
        if home is None:
            return False
        made = [home.statements[each.index].node for each in project.bindings(home, target.name)]
        levels = 2 if isinstance(decorator, ast.Call) else 1
        if not all(isinstance(node, Function) and _only_returns(node, levels) for node in made):
            return False
    return bool(_targets(project, module, decorator))


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _only_returns(function: Function, levels: int) -> bool:
    """Say whether a function, and as many in it as are called, only define functions and return them."""
    if function.decorator_list and not all(_is_wraps(each) for each in function.decorator_list):
        return False
    inner: list[Function] = []
    for statement in function.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner.append(statement)
            case ast.Return(value=ast.Name()) | ast.Expr(value=ast.Constant()):
                pass
            case _:
                return False
    if levels > 1:
        return bool(inner) and all(_only_returns(each, levels - 1) for each in inner)
    return all(_is_wraps(each) for one in inner for each in one.decorator_list)


def _is_wraps(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func) in _WRAPPERS


def _targets(project: Project, module: Module, decorator: ast.expr) -> Sequence[Target]:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    return project.named(module, node.id, tuple(reversed(path))) if isinstance(node, ast.Name) else ()
