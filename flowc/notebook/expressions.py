"""What expressions give, and what assigning to targets does."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from flowc.notebook.calls import Calls
from flowc.notebook.heap import IMMUTABLE, Value, joined
from flowc.notebook.host import ITEMS, Scope
from flowc.notebook.specials import (
    ITEM_READ,
    ITEM_SET,
    LOOKED_UP,
    SHOWN,
    TRUTH,
    comparison_names,
    operator_names,
    unary_names,
)
from flowc.notebook.syntax import is_key, is_selection

_PLAIN_ATTRIBUTES = frozenset(
    (
        "shape",
        "size",
        "ndim",
        "dtype",
        "dtypes",
        "name",
        "__name__",
        "__doc__",
        "empty",
        "stem",
        "suffix",
        "parent",
    )
)
_INDEXERS = frozenset(("loc", "iloc", "at", "iat"))


class Expressions(Calls):
    """Walks expressions and targets."""

    def value(self, node: ast.expr) -> Value:
        """Go through an expression and return what it may give."""
        self.heap.budget.spend(3)
        visit = getattr(self, f"_of_{type(node).__name__}", None)
        if visit is not None:
            result: Value = visit(node)
            return result
        return joined(
            [self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        )

    def _of_Constant(self, _node: ast.Constant) -> Value:
        return IMMUTABLE

    def _of_Name(self, node: ast.Name) -> Value:
        return self.as_value(self._name(node.id, node), node)

    def _of_JoinedStr(self, node: ast.JoinedStr) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.implied(SHOWN, [self.value(part.value)], [], node)
                if part.format_spec is not None:
                    self.value(part.format_spec)
        return IMMUTABLE

    def _of_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        before = self.snapshot()
        self.bind(node.target.id, value, node.target)
        if self._scopes and self._scopes[-1].kind == "comprehension":
            self.join([before, self.snapshot()])
        return value

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        self.test(node.test)
        return self._either([node.body, node.orelse])

    def test(self, node: ast.expr) -> None:
        """Go through what is asked for its truth."""
        self.implied(TRUTH, [self.value(node)], [], node)

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        first = self.value(node.values[0])
        self.implied(TRUTH, [first], [], node)
        rest = node.values[1:]
        if not any(isinstance(part, ast.NamedExpr) for value in rest for part in ast.walk(value)):
            values = [first, *map(self.value, rest)]
            self.implied(TRUTH, values[:-1], [], node)
            return joined(values)
        states, values = [self.snapshot()], [first]
        for part in rest:
            values.append(self.value(part))
            self.implied(TRUTH, [values[-1]], [], node)
            states.append(self.snapshot())
        self.join(states)
        return joined(values)

    def _either(self, nodes: list[ast.expr]) -> Value:
        before, states, values = self.snapshot(), [], []
        for node in nodes:
            self.restore(before)
            values.append(self.value(node))
            states.append(self.snapshot())
        self.join(states)
        return joined(values)

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Mod):
            # The left side may be a text that is filled in.
            self.implied(SHOWN, [right], [], node)
        found = self.implied(operator_names(node.op), [left, right], [], node)
        return joined([self._operated(left, right), *found])

    def _operated(self, left: Value, right: Value) -> Value:
        if not left.top and not right.top:
            return replace(IMMUTABLE, code=left.code | right.code)
        if left.instance or right.instance:
            return self._anything((left, right), known=True)
        kind = next((kind for kind in ("frame", "array") if kind in (left.kind, right.kind)), left.kind)
        if kind in ("frame", "array"):
            return self.heap.fresh(kind=kind)
        return self.heap.fresh(self.heap.element(left), self.heap.element(right), kind=kind)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        operand = self.value(node.operand)
        found = self.implied(unary_names(node.op), [operand], [], node)
        if isinstance(node.op, ast.Not):
            return IMMUTABLE
        return joined([self._operated(operand, IMMUTABLE), *found])

    def _of_Compare(self, node: ast.Compare) -> Value:
        values = [self.value(node.left), *map(self.value, node.comparators)]
        for operator, value, written in zip(node.ops, values[1:], node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                self._consume(value, written)
        with_constant = any(isinstance(each, ast.Constant) for each in (node.left, *node.comparators))
        if not with_constant and any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops):
            self.note("identity", node)
        self._note_equality(values, node)
        found = self.implied(comparison_names(node.ops), values, [], node)
        if all(isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn) for operator in node.ops):
            return IMMUTABLE
        return joined([self.heap.fresh() if any(value.top for value in values) else IMMUTABLE, *found])

    def _note_equality(self, values: Iterable[Value], node: ast.AST) -> None:
        """Take note where objects of the notebook's classes are compared or looked up: by identity, by default."""
        if any(code.is_class and not code.is_enum for value in values for code in self.heap.codes(value)):
            self.note("identity", node)

    def _of_Tuple(self, node: ast.Tuple) -> Value:
        parts = [self.value(part) for part in node.elts]
        if not any(part.top or part.code for part in parts):
            return replace(IMMUTABLE, kind="tuple", stuck=next((p.stuck for p in parts if p.stuck), None))
        made = self.heap.fresh(*parts, kind="tuple")
        starred = any(isinstance(part, ast.Starred) for part in node.elts)
        return made if starred else replace(made, parts=tuple(parts))

    def _of_List(self, node: ast.List) -> Value:
        return self.heap.fresh(*map(self.value, node.elts), kind="list")

    def _of_Set(self, node: ast.Set) -> Value:
        return self.heap.fresh(*map(self.value, node.elts), kind="set")

    def _of_Dict(self, node: ast.Dict) -> Value:
        keys = [self.value(key) for key in node.keys if key is not None]
        return self.heap.fresh(*keys, *map(self.value, node.values), kind="dict")

    def _of_Starred(self, node: ast.Starred) -> Value:
        value = self.value(node.value)
        self._consume(value, node.value)
        return joined((value, self._next(value)))

    def _of_Lambda(self, node: ast.Lambda) -> Value:
        return self._function(node, node.args)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, args: ast.arguments
    ) -> Value:
        defaults = [
            self.value(default) for default in (*args.defaults, *args.kw_defaults) if default is not None
        ]
        return self._made(node, defaults)

    def _made(self, node: Any, held: list[Value]) -> Value:
        code = self.code_of(node)
        value = self.heap.fresh(*held)
        self.heap.functions |= value.top
        value = replace(value, code=value.code | {code}, callee=code, stuck=None)
        self.heap.link(value.top, Value(code=value.code))
        self.capture(value, code)
        return value

    def _of_Await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def _of_Yield(self, node: ast.Yield) -> Value:
        if node.value is not None:
            self.value(node.value)
        return self.heap.fresh()

    def _of_YieldFrom(self, node: ast.YieldFrom) -> Value:
        return self._anything((self.value(node.value),), known=True)

    def _of_ListComp(self, node: ast.ListComp) -> Value:
        return self.heap.fresh(*self._comprehended(node, [node.elt]), kind="list")

    def _of_SetComp(self, node: ast.SetComp) -> Value:
        return self.heap.fresh(*self._comprehended(node, [node.elt]), kind="set")

    def _of_DictComp(self, node: ast.DictComp) -> Value:
        return self.heap.fresh(*self._comprehended(node, [node.key, node.value]), kind="dict")

    def _of_GeneratorExp(self, node: ast.GeneratorExp) -> Value:
        source = self.value(node.generators[0].iter)
        made = self._made(node, [source])
        held = self._comprehended(node, [node.elt])
        self.heap.link(made.top, joined(held))
        self.heap.mark(made.top, "generator")
        return replace(made, callee=None, kind="generator", stuck="a generator")

    def _comprehended(self, node: Any, results: list[ast.expr]) -> list[Value]:
        through = self.value if isinstance(node, ast.GeneratorExp) else self._items
        first = through(node.generators[0].iter)
        scope = Scope("comprehension", {}, set())
        self._scopes.append(scope)
        for position, generator in enumerate(node.generators):
            source = first if position == 0 else through(generator.iter)
            self._consume(source, generator.iter)
            self._comprehension_target(generator.target, self._next(source), scope)
            for condition in generator.ifs:
                self.test(condition)
        values = [self.value(result) for result in results]
        self._scopes.pop()
        return values

    def _comprehension_target(self, target: ast.expr, value: Value, scope: Scope) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                scope.names[node.id] = joined((value, self._next(value))) if node is not target else value
            elif isinstance(node, ast.Attribute | ast.Subscript):
                self._change_part(node, value)

    def _of_Attribute(self, node: ast.Attribute) -> Value:
        whole = self.value(node.value)
        if node.attr == "__globals__":
            self.note("dynamic", node, node.attr)
        found = self.read_attribute(whole, node.attr, node)
        return joined([self.attribute_as_value(whole, node, node), *found])

    def attribute(self, whole: Value, node: ast.Attribute) -> Value:
        if whole.path is not None:
            return Value(whole.top, whole.code, path=f"{whole.path}.{node.attr}")
        if whole.callee is not None and whole.callee.is_class:
            method = whole.callee.method(node.attr)
            if method is not None:
                return replace(whole, callee=method)
            if whole.callee.is_enum:
                return Value(code=whole.code)
        if node.attr in _PLAIN_ATTRIBUTES and whole.instance is None:
            return replace(IMMUTABLE, code=whole.code)
        if whole.instance is not None:
            return self.heap.element(whole)
        view = self.heap.view(whole)
        if node.attr == "T" and whole.kind in ("frame", "array"):
            self.heap.sure_views |= view.top
        return view

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        return self._item(self.value(node.value), node)

    def _item(self, whole: Value, node: ast.Subscript) -> Value:
        key = self.value(node.slice)
        found = self.implied(ITEM_READ, [whole], [key], node)
        self.implied(LOOKED_UP, [key], [whole], node)
        return joined([self._plain_item(whole, key, node), *found])

    def _plain_item(self, whole: Value, key: Value, node: ast.Subscript) -> Value:
        if key.top:
            self._note_equality([key], node)
        if whole.path is not None:
            return replace(whole, path=f"{whole.path}.__getitem__")
        if whole.callee is not None and whole.callee.is_enum:
            return Value(code=whole.code)
        if isinstance(node.slice, ast.Slice) and whole.kind in ("list", "tuple"):
            return self.heap.fresh(self.heap.element(whole), kind=whole.kind)
        if whole.kind in ITEMS or whole.instance is not None:
            return self.heap.element(whole)
        if is_selection(node.slice):
            return self.heap.fresh(self.heap.element(whole), kind=whole.kind)
        known = whole.kind in ("frame", "array")
        view = self.heap.view(whole, whole.kind if known else None)
        column = whole.kind == "frame" and is_key(node.slice)
        if known and (column or any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))):
            self.heap.sure_views |= view.top
        return view

    def _of_Slice(self, node: ast.Slice) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.value(part)
        return IMMUTABLE

    # -- targets

    def _assign(self, target: ast.expr, value: Value, written: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, value, target)
            case ast.Starred(value=inner):
                self._assign(inner, self.heap.fresh(value, kind="list"), None)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                self._unpack(elts, value, written)
            case ast.Attribute() | ast.Subscript():
                self._change_part(target, value)

    def _unpack(self, targets: list[ast.expr], value: Value, written: ast.expr | None) -> None:
        parts = written.elts if isinstance(written, ast.Tuple | ast.List) else None
        starred = any(isinstance(part, ast.Starred) for part in [*targets, *(parts or [])])
        if parts is not None and len(parts) == len(targets) and not starred:
            # `a, b = b, a`: the parts were walked before; only what they may be is wanted here.
            known = value.parts or (None,) * len(parts)
            values = [self._quiet(part) or one for part, one in zip(parts, known, strict=True)]
            for target, part, one in zip(targets, parts, values, strict=True):
                self._assign(target, one if one is not None else self._next(value), part)
            return
        starred = any(isinstance(target, ast.Starred) for target in targets)
        if value.parts is not None and len(value.parts) == len(targets) and not starred:
            for target, one in zip(targets, value.parts, strict=True):
                self._assign(target, one, None)
            return
        self._consume(value, targets[0] if targets else None)
        # What a library's call has just made and nobody else has are objects of their own, one for each name.
        apart = value.kind == "parts" and isinstance(written, ast.Call)
        for target in targets:
            self._assign(target, self.heap.foreign() if apart else self._next(value), None)

    def _quiet(self, node: ast.expr) -> Value | None:
        """Return the value of a plain name or constant once more, without walking it as a read of its own."""
        if isinstance(node, ast.Constant):
            return IMMUTABLE
        return self._name(node.id, node) if isinstance(node, ast.Name) else None

    def _change_class(self, cls: Value, node: ast.AST) -> None:
        """Change the classes that a value got from an instance may be."""
        for code in self.heap.codes(cls):
            if isinstance(code.node, ast.ClassDef) and not code.nested:
                self.change(self._name(code.node.name, node).top, node, "has an attribute set")

    def _change_part(self, target: ast.Attribute | ast.Subscript, value: Value) -> None:
        whole = self.value(target.value)
        indexed = False
        if isinstance(target, ast.Subscript):
            key = self.value(target.slice)
            self.implied(ITEM_SET, [whole], [key, value], target)
            self.implied(LOOKED_UP, [key], [whole], target)
            if isinstance(target.value, ast.Attribute) and target.value.attr in _INDEXERS:
                frame = self.value(target.value.value)
                whole, indexed = (frame, True) if frame.kind == "frame" else (whole, False)
        else:
            self.set_attribute(whole, target.attr, value, target)
        if whole.path is not None:
            self.note("state", target, whole.path)
        if whole.kind == "type":
            self._change_class(whole, target)
        if whole.top:
            what = "an item" if isinstance(target, ast.Subscript) else f"attribute '{target.attr}'"
            self.heap.link(whole.top, value)
            # A column that is set takes the place of the old one, whose views keep what they show.
            buffers = isinstance(target, ast.Subscript) and (
                indexed or whole.kind == "array" or not is_key(target.slice)
            )
            self.change(whole.top, target, f"has {what} set", buffers=buffers)
