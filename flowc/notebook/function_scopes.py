"""Which names a function has for its own, and which it takes from around it, by its text alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flowc.notebook.heap import Code
from flowc.notebook.syntax import keyword_names, parameter_names


def fixed_names(code: Code) -> frozenset[str]:
    """Return the parameters of a function that nothing in it sets, and what it itself knows of those around it."""
    every = list(ast.walk(code.node))
    set_inside = {
        each.id for each in every if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    }
    defined = {each.name for each in every if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    return frozenset({*parameter_names(code), *keyword_names(code), *code.bound} - set_inside - defined)


def scope_names(node: ast.AST) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the names that a function declares global, declares nonlocal, and binds itself."""
    declared_global: set[str] = set()
    declared_nonlocal: set[str] = set()
    bound: set[str] = set()
    args = getattr(node, "args", None)
    if isinstance(args, ast.arguments):
        every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
        bound |= {argument.arg for argument in every if argument is not None}
    for inner in own_nodes(node):
        match inner:
            case ast.Global(names=names):
                declared_global |= set(names)
            case ast.Nonlocal(names=names):
                declared_nonlocal |= set(names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                bound.add(name)
            case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
                bound.add(name)
            case ast.alias(name=name, asname=asname):
                bound.add(asname or name.partition(".")[0])
    bound -= declared_global | declared_nonlocal
    return frozenset(declared_global), frozenset(declared_nonlocal), frozenset(bound)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Go through the nodes of a function's own scope: not the bodies of functions and classes in it."""
    todo = list(ast.iter_child_nodes(node))
    while todo:
        inner = todo.pop()
        yield inner
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            todo += inner.decorator_list
        elif isinstance(inner, ast.Lambda):
            continue
        elif isinstance(inner, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            todo += [part for part in ast.walk(inner) if isinstance(part, ast.NamedExpr)]
        else:
            todo += ast.iter_child_nodes(inner)


def names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in own_nodes(node))
