"""Classes that show what their arguments name: `show('x', 'f(x)')`, which calls `eval` on each when it is displayed.

What `eval` is given can't be known in general. It can where texts reach a class from calls of it alone, each a
statement by itself that writes them out, and the class does nothing with them but keep, show and evaluate them. For the
analysis such a call is one with the expressions themselves, and `eval(text)` is `text`. Cells run as they are written.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# By these a class can be got at without its name: from anywhere, and from what has an instance of it.
_REFLECTION = frozenset(("vars", "globals", "locals", "exec", "__dict__"))
_OWN_REFLECTION = frozenset(("setattr", "delattr", "type", "__class__", "__setattr__"))


@dataclass(frozen=True, slots=True)
class _Evaluator:
    """A class that evaluates its arguments: the attribute that holds them, and the names that its functions bind."""

    node: ast.ClassDef
    attribute: str
    inner: frozenset[str]


def with_evaluated(trees: Sequence[ast.Module]) -> list[ast.Module]:
    """Return the cells' trees as the analysis is to read them."""
    classes = [part for tree in trees for part in tree.body if isinstance(part, ast.ClassDef)]
    evaluators = [found for node in classes if (found := _evaluator(node)) is not None]
    nodes = [node for tree in trees for node in ast.walk(tree)] if evaluators else []
    if _REFLECTION.intersection(map(_named, nodes)) or "eval" in map(_bound, nodes):
        return list(trees)
    plain = {each.node.name for each in evaluators if _is_closed(each, trees, nodes)}
    return [_Rewriting(plain).visit(copy.deepcopy(tree)) for tree in trees] if plain else list(trees)


def _evaluator(node: ast.ClassDef) -> _Evaluator | None:
    """Return what there is to know of a class that evaluates what it is given, if it has that form."""
    functions = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    attribute = next((_kept_as(each) for each in functions if each.name == "__init__"), None)
    bases = [base.id if isinstance(base, ast.Name) else None for base in node.bases]
    if attribute is None or node.decorator_list or node.keywords or bases not in ([], ["object"]):
        return None
    evals = {part for part in ast.walk(node) if _named(part) == "eval"}
    known = {call.func for function in functions for call in _evals_of_items(function, attribute)}
    if not evals or evals != known or _OWN_REFLECTION.intersection(map(_named, ast.walk(node))):
        return None
    inner = frozenset(name for part in ast.walk(node) if (name := _bound(part)) is not None)
    return _Evaluator(node, attribute, inner)


def _kept_as(function: ast.FunctionDef) -> str | None:
    """Return the attribute that all of a function's arguments are kept in, where it does nothing else."""
    match function:
        case ast.FunctionDef(
            args=ast.arguments(
                posonlyargs=[], args=[ast.arg(arg=own)], vararg=ast.arg(arg=given), kwonlyargs=[], kwarg=None
            ),
            body=[ast.Assign([ast.Attribute(ast.Name(id=to), attribute)], ast.Name(id=kept))],
            decorator_list=[],
        ) if (own, given) == (to, kept):
            return str(attribute)
    return None


def _evals_of_items(function: ast.FunctionDef, attribute: str) -> Iterator[ast.Call]:
    """Yield the calls `eval(item)` in loops `for item in self.attribute`, where nothing else is ever called `item`."""
    loops = [
        (loop, each.target)
        for loop in ast.walk(function)
        for each in (loop, *getattr(loop, "generators", ()))
        if isinstance(each, ast.For | ast.comprehension)
        and isinstance(each.iter, ast.Attribute)
        and each.iter.attr == attribute
    ]
    targets = {target for _, target in loops}
    others = {_bound(node) for node in ast.walk(function) if node not in targets}
    for loop, target in loops:
        for node in ast.walk(loop):
            match node:
                case ast.Call(func=ast.Name("eval"), args=[ast.Name(name)], keywords=[]) if (
                    isinstance(target, ast.Name) and name == target.id and name not in others
                ):
                    yield node


def _is_closed(evaluator: _Evaluator, trees: Iterable[ast.Module], nodes: Sequence[ast.AST]) -> bool:
    """Say whether nothing but texts that are written out ever reaches a class."""
    name, attribute = evaluator.node.name, evaluator.attribute
    calls = [
        part.value
        for tree in trees
        for part in tree.body
        if isinstance(part, ast.Expr) and _is_call_of(part.value, {name})
    ]
    mentions = sum(_named(node) == name for node in nodes)
    bindings = sum(_bound(node) == name for node in nodes)
    stores = sum(
        isinstance(node, ast.Attribute) and node.attr == attribute and not isinstance(node.ctx, ast.Load)
        for node in nodes
    )
    return (mentions, bindings, stores) == (len(calls), 1, 1) and all(
        _is_written_out(call, evaluator) for call in calls
    )


def _is_call_of(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _is_written_out(call: ast.expr, evaluator: _Evaluator) -> bool:
    assert isinstance(call, ast.Call)
    expressions = [_expression(argument) for argument in call.args]
    if call.keywords or None in expressions:
        return False
    names = {
        found
        for each in expressions
        if each is not None
        for node in ast.walk(each)
        for found in (_named(node), _bound(node))
    }
    return not names & {*evaluator.inner, evaluator.node.name, *_REFLECTION, "eval"}


def _expression(node: ast.expr) -> ast.expr | None:
    """Return the expression in a text, at the text's place; None for what is no such text."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    try:
        found = ast.parse(node.value.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    parts = list(ast.walk(found))
    if any(isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for part in parts):
        return None
    for part in parts:
        ast.copy_location(part, node)
    return found


def _named(node: ast.AST) -> str | None:
    """Return the name that a node speaks of, as a name or an attribute."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _bound(node: ast.AST) -> str | None:
    """Return the name that a node binds, if it does."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.alias(name=name, asname=asname):
            return asname or name.partition(".")[0]
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
    return None


class _Rewriting(ast.NodeTransformer):
    """Puts expressions in the place of texts, in calls of some classes, and texts in the place of `eval` in them."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._inside = False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        before, self._inside = self._inside, self._inside or node.name in self._names
        self.generic_visit(node)
        self._inside = before
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self._inside and _is_call_of(node, {"eval"}):
            return node.args[0]
        if _is_call_of(node, self._names):
            node.args = [_expression(argument) or argument for argument in node.args]
        return node
