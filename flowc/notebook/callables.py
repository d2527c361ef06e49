"""Methods and library functions as values: what `x.append` and `heapq.heappush` do once something else calls them.

Each is taken for the lambda that calls it, `lambda *args, **kwargs: x.append(*args, **kwargs)`, so that whoever
calls it, a library, a function of the notebook or a later step, does what the lambda would. Only those are that
change something; any other is as good as data.
"""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from flowc.notebook.effects import Effect
from flowc.notebook.heap import Code, Value, joined
from flowc.notebook.host import ITEMS, Host

# Names that no notebook has: the object that a function holds, and the one that it is given.
_HELD, _GIVEN = "<held>", "<given>"
_PLAIN_KINDS = ITEMS | {"rng", "estimator"}


class Library(ast.expr):
    """Stands in code of our own for something that an import path names."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path


class Callables(Host):
    """Makes functions of what is called without being written as a call."""

    def _of_Library(self, node: Library) -> Value:
        return Value(path=node.path)

    def code_of(self, node: Any) -> Code:
        """Return the function that is made here: one for each set of functions that it is known to take along."""
        known = self.known_captures(node)
        made = tuple((name, value.callee or value.path) for name, value in known.items())
        key = (node, made) if made else node
        if key not in self._codes:
            self._codes[key] = Code(node, self.captured(), self.nested, bound=known)
        return self._codes[key]

    def as_value(self, value: Value, node: ast.expr) -> Value:
        """Return what a name or an attribute stands for where it is not called: with what calling it would do."""
        if value.path is None or not _does_something(self.effect_of(value.path)):
            return value
        return replace(value, code=value.code | {self._code_for(node, Library(value.path))})

    def attribute_as_value(self, whole: Value, attribute: ast.Attribute, node: ast.expr) -> Value:
        """Return what an attribute is where it is not called at once, at a place in the notebook."""
        if attribute.attr == "__class__":
            return self.type_of(whole)
        bound = self._bound_method(whole, attribute.attr, node)
        return self.as_value(self.attribute(whole, attribute), node) if bound is None else bound

    @abstractmethod
    def type_of(self, value: Value) -> Value:
        """Return the class of a value."""

    def _bound_method(self, whole: Value, name: str, node: ast.expr) -> Value | None:
        """Return a method of an object as a function that holds the object; None for what is surely data."""
        if not whole.top or whole.path is not None or whole.callee is not None:
            return None
        own = self._own_method(whole, name)
        sure = own and whole.instance is not None
        if not own:
            effect = self.table.method(whole.kind, name)
            does = _does_something(effect) or name == "__getitem__"
            if whole.instance is not None or not effect.known or not does:
                return None
            sure = whole.kind in _PLAIN_KINDS
        called = ast.Attribute(ast.Name(_HELD, ast.Load()), name, ast.Load())
        function = self._function_holding(whole, self._code_for(node, called, [ast.arg(_HELD)]))
        return function if sure else joined((function, self.heap.view(whole)))

    def method_caller(self, name: str, arguments: Iterable[Value], node: ast.expr) -> Value:
        """Return a function that calls a method of what it is given, with arguments that it holds."""
        called = ast.Attribute(ast.Name(_GIVEN, ast.Load()), name, ast.Load())
        code = self._code_for(node, called, [ast.arg(_HELD)], [ast.arg(_GIVEN)])
        return self._function_holding(joined(arguments), code)

    def _function_holding(self, held: Value, code: Code) -> Value:
        function = self.heap.fresh(held)
        self.heap.functions |= function.top
        function = replace(function, code=function.code | {code}, callee=code, stuck=None)
        self.heap.link(function.top, Value(code=function.code))
        return function

    def _own_method(self, whole: Value, name: str) -> bool:
        """Say whether this may be a method of one of the notebook's classes."""
        if name not in self.table.own:
            return False
        classes = [whole.instance] if whole.instance else [c for c in self.heap.codes(whole) if c.is_class]
        return any(code.method(name) for code in classes) or not classes

    def effect_of(self, path: str) -> Effect:
        """Return what calling `path` does; a method got from its class does what the method does."""
        if (method := self.unbound(path)) is not None:
            effect = self.table.method(*method)
            changed = (0, *(position + 1 for position in effect.changed_arguments))
            return replace(effect, changed_arguments=changed) if effect.changes else effect
        return self.table.function(path)

    def unbound(self, path: str) -> tuple[str, str] | None:
        """Return kind and name for a path that is a method's in a class, where the table knows such a method."""
        owner, _, name = path.rpartition(".")
        short = owner.rpartition(".")[2]
        is_class = (
            short[:1].isupper() or short == "ndarray" or isinstance(getattr(builtins, short, None), type)
        )
        kind = {"DataFrame": "frame", "Series": "frame", "ndarray": "array"}.get(short, short)
        known = path not in self.table.functions and self.table.method(kind, name).known
        return (kind, name) if is_class and known else None

    def _code_for(
        self, node: ast.expr, called: ast.expr, held: Sequence[ast.arg] = (), given: Sequence[ast.arg] = ()
    ) -> Code:
        """Return the function for a place in the notebook that calls this with all that it is given or holds."""
        if node not in self._codes:
            passed: list[ast.expr] = [ast.Starred(ast.Name("args", ast.Load()), ast.Load())]
            if given:
                passed.append(ast.Starred(ast.Name(_HELD, ast.Load()), ast.Load()))
            call = ast.Call(called, passed, [ast.keyword(None, ast.Name("kwargs", ast.Load()))])
            defaults: list[ast.expr | None] = [ast.Constant(None) for _ in held]
            parameters = ast.arguments(
                list(given), [], ast.arg("args"), list(held), defaults, ast.arg("kwargs"), []
            )
            function = ast.Lambda(parameters, call)
            for part in ast.walk(function):
                ast.copy_location(part, node)
            self._codes[node] = Code(function, nested=True)
        return self._codes[node]


def _does_something(effect: Effect) -> bool:
    return bool(effect.changes or effect.changed_arguments or effect.draws or effect.seeds or effect.mark)
