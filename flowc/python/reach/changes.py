"""Which objects a statement changes in place, as far as it says so: by what names, and how deep inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from flowc.python.reach.bindings import children
from flowc.python.reach.normal import Function

# Methods of Python's own containers that change them and nothing else.
MUTATORS: Final = frozenset(
    ("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "pop", "popitem")
) | frozenset(("popleft", "remove", "reverse", "setdefault", "sort", "update", "subtract"))


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the object that `name` stands for, or `deep` of one inside it. No name: of something else.

    `method` is that which is called on it. One that is not `plain` is a guess by a method's name, or a decorator.
    """

    name: str | None
    deep: bool = False
    method: str | None = None
    call: ast.Call | None = None
    plain: bool = True


def executed(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield a statement and those inside it that are executed with it: not the bodies of functions."""
    waiting: list[ast.AST] = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, ast.stmt):
            yield current
        if isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        inside: list[ast.AST] = []
        for name in ("body", "handlers", "cases", "orelse", "finalbody"):
            part = getattr(current, name, ())
            inside.extend(part if isinstance(part, list) else ())
        waiting.extend(reversed(inside))


def own_expressions(node: ast.stmt) -> list[ast.AST]:
    """Return what a statement itself evaluates, without the statements inside it and without its decorators."""
    match node:
        case ast.FunctionDef(args=args) | ast.AsyncFunctionDef(args=args):
            return [*args.defaults, *(each for each in args.kw_defaults if each is not None)]
        case ast.ClassDef(keywords=keywords, bases=bases):
            return [*bases, *(keyword.value for keyword in keywords)]
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(iter=iterated) | ast.AsyncFor(iter=iterated):
            return [iterated]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.context_expr for item in items]
        case ast.Match(subject=subject, cases=cases):
            return [subject, *(case.guard for case in cases if case.guard is not None)]
        case ast.Try() | ast.TryStar():
            return [handler.type for handler in node.handlers if handler.type is not None]
    return [node]


def decorators_of(node: ast.stmt) -> Sequence[ast.expr]:
    """Return the decorators of a function or class; none for any other statement."""
    return node.decorator_list if isinstance(node, Function | ast.ClassDef) else ()


def changes_of(statement: ast.stmt) -> Iterator[Change]:
    """Yield what a statement changes in place when it is executed."""
    for node in executed(statement):
        for target in _targets(node):
            yield from _changed_target(target, augmented=isinstance(node, ast.AugAssign))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _changed_by_call(node.value)
        for decorator in decorators_of(node):
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(function, ast.Attribute):
                yield replace(_change(function.value, method=function.attr), plain=False)
        for expression in own_expressions(node):
            for call in _mutating_calls(expression):
                for change in _changed_by_call(call):
                    yield replace(change, plain=False)


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            waiting = list(targets)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            waiting = [target]
        case ast.For(target=target) | ast.AsyncFor(target=target):
            waiting = [target]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            waiting = [item.optional_vars for item in items if item.optional_vars is not None]
        case _:
            return
    while waiting:
        target = waiting.pop()
        if isinstance(target, ast.Tuple | ast.List):
            waiting.extend(target.elts)
        elif isinstance(target, ast.Starred):
            waiting.append(target.value)
        else:
            yield target


def _changed_target(target: ast.expr, *, augmented: bool) -> Iterator[Change]:
    if isinstance(target, ast.Attribute | ast.Subscript):
        yield _change(target.value)
    elif augmented and isinstance(target, ast.Name):
        yield Change(target.id)


def _changed_by_call(call: ast.Call) -> Iterator[Change]:
    if isinstance(call.func, ast.Attribute):
        yield _change(call.func.value, method=call.func.attr, call=call)


def _change(holder: ast.expr, *, method: str | None = None, call: ast.Call | None = None) -> Change:
    deep = False
    while isinstance(holder, ast.Attribute | ast.Subscript):
        deep, holder = True, holder.value
    return Change(holder.id if isinstance(holder, ast.Name) else None, deep, method, call)


def _mutating_calls(expression: ast.AST) -> Iterator[ast.Call]:
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda | ast.stmt) and node is not expression:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            yield node
        waiting.extend(children(node))
