"""Methods of the notebook's own classes that no call names: what `a + b`, `a[k]`, `with a` and `str(a)` run.

What they do to their own instance, and to globals, is seen wherever a name of it is read. Here they are run with
the other things that they are given, so that what becomes of those is seen too, and what they give.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from flowc.notebook.callables import Callables
from flowc.notebook.heap import Code, Value, joined
from flowc.notebook.host import CONSUMED, NEXT_TAKEN, Arguments
from flowc.notebook.syntax import is_property, is_static, keyword_names, parameter_names

_OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
_UNARY = {ast.UAdd: "pos", ast.USub: "neg", ast.Invert: "invert"}
# Looking for something, in a set, among a dict's keys or in a list, hashes it and compares it with what is there.
LOOKED_UP = ("__hash__", "__eq__")
_COMPARISONS = {
    ast.Eq: ("__eq__",),
    ast.NotEq: ("__ne__", "__eq__"),
    ast.Lt: ("__lt__", "__gt__"),
    ast.Gt: ("__lt__", "__gt__"),
    ast.LtE: ("__le__", "__ge__"),
    ast.GtE: ("__le__", "__ge__"),
    ast.In: ("__contains__", "__iter__", "__next__", "__getitem__", *LOOKED_UP),
    ast.NotIn: ("__contains__", "__iter__", "__next__", "__getitem__", *LOOKED_UP),
}
TRUTH = ("__bool__", "__len__")
SHOWN = ("__format__", "__str__", "__repr__")
ENTERED = ("__enter__", "__exit__", "__aenter__", "__aexit__")
# Stands for reading an item of what may be a defaultdict, which adds it where it is missing.
ITEM_TAKEN = "[]"
FILLED = "defaultdict"
ITEM_READ = (ITEM_TAKEN, "__getitem__", "__class_getitem__", "__missing__", *LOOKED_UP)
ITEM_SET = ("__setitem__", "__delitem__", *LOOKED_UP)
_ATTRIBUTE_READ = ("__get__", "__getattr__", "__getattribute__")
_ATTRIBUTE_SET = ("__set__", "__delete__", "__setattr__", "__delattr__")
# Not what a library would run with things that it is given: making, unmaking and setting what an instance holds.
_NEVER_BY_LIBRARIES = frozenset(
    ("__init__", "__new__", "__post_init__", "__del__", "__init_subclass__", "__set_name__", "__prepare__")
)
_SETTING = frozenset((*ITEM_SET[:2], *_ATTRIBUTE_SET, *(f"__i{word}__" for word in _OPERATORS.values())))


def is_special(name: str) -> bool:
    """Say whether syntax or a library may call a method of this name."""
    return name in (NEXT_TAKEN, ITEM_TAKEN) or (name.startswith("__") and name not in _NEVER_BY_LIBRARIES)


def operator_names(operator: ast.operator, *, in_place: bool = False) -> tuple[str, ...]:
    """Return the methods that may be what an operator runs, of either side."""
    word = _OPERATORS[type(operator)]
    return (f"__{word}__", f"__r{word}__", *((f"__i{word}__",) if in_place else ()))


def unary_names(operator: ast.unaryop) -> tuple[str, ...]:
    """Return the methods that may be what an operator with one side runs."""
    word = _UNARY.get(type(operator))
    return (f"__{word}__",) if word else TRUTH


def comparison_names(operators: Iterable[ast.cmpop]) -> tuple[str, ...]:
    """Return the methods that may be what comparisons run, of either side."""
    return tuple(name for operator in operators for name in _COMPARISONS.get(type(operator), ()))


class Specials(Callables):
    """Runs methods that syntax and libraries call."""

    def implied(
        self, names: Iterable[str], receivers: Sequence[Value], others: Sequence[Value], node: ast.AST
    ) -> list[Value]:
        """Run the methods with these names that the notebook's classes have; return what they may give.

        Each of the receivers may be the one whose method it is; it is then given the others.
        """
        results: list[Value] = []
        own = [name for name in names if name in self.table.own]
        for receiver in receivers if own else ():
            given = Arguments((*(each for each in receivers if each is not receiver), *others))
            for name in own:
                self.call_later(name, receiver, given)
                results += self.run_special(name, receiver, given, node)
        return results

    def run_special(self, name: str, receiver: Value, given: Arguments, node: ast.AST) -> list[Value]:
        """Run a method of all instances that can be got at through a value."""
        if name == NEXT_TAKEN:
            self.change(self.heap.marked(receiver.top, *CONSUMED), node, "is consumed")
            return []
        if name == ITEM_TAKEN:
            filled = self.heap.marked(receiver.top, FILLED, inside=False)
            self.change(filled, node, "may get an item by being asked for it")
            return []
        results = []
        # It may not be run at all, so names that it reads need not be there.
        self._raises.append([])
        for code in self.heap.codes(receiver):
            method = code.method(name) if code.is_class else None
            if method is not None:
                own = self._instances_in(code, receiver)
                results.append(self.run(method, own, any_arguments(method, own, given.values()), node))
        self._raises.pop()
        return results

    def _instances_in(self, code: Code, value: Value) -> Value:
        found = self.heap.instances(code, value)
        if not found:
            return value
        return replace(value, top=found, kind=None, path=None, callee=None, instance=code, exact=False)

    def implied_by_library(
        self, receiver: Value | None, arguments: Arguments, node: ast.AST, *, sets: bool
    ) -> list[Value]:
        """Run what a library may run of the instances that it is given: it may compare, show and ask them.

        With `sets`, it may also change them by operators and by setting their items and attributes.
        """
        left_out = _NEVER_BY_LIBRARIES if sets else _NEVER_BY_LIBRARIES | _SETTING
        special = {name for name in self.table.own if name.startswith("__")} - left_out
        if not special:
            return []
        together = joined((*arguments.values(), *((receiver,) if receiver is not None else ())))
        everything = joined((together, self.heap.element(together)))
        return self.implied(sorted(special), [together], [everything], node)

    def read_attribute(self, whole: Value, name: str, node: ast.AST) -> list[Value]:
        """Run what reading an attribute may run; return what that may give."""
        if whole.path is not None:
            return []
        found = self.implied(_ATTRIBUTE_READ, [whole], [whole], node)
        if name in self.table.own:
            classes = (
                [whole.instance] if whole.instance else [c for c in self.heap.codes(whole) if c.is_class]
            )
            for code in classes:
                method = code.method(name)
                if method is not None and is_property(method):
                    found.append(self.run(method, whole, Arguments((whole,)), node))
        return found

    def set_attribute(self, whole: Value, name: str, value: Value, node: ast.AST) -> None:
        """Run what setting or deleting an attribute may run."""
        if whole.path is not None:
            return
        self.implied((*_ATTRIBUTE_SET, f"{name}.setter", f"{name}.deleter"), [whole], [value, whole], node)

    def define_class(
        self, bases: Value, meta: Value, held: Value, named: Sequence[Value], node: ast.AST
    ) -> None:
        """Run what defining a class runs of its bases, of its metaclass, and of what stands in its body."""
        self.implied(("__init_subclass__",), [bases], named, node)
        self.implied(("__prepare__", "__new__", "__init__"), [meta], [bases, held, *named], node)
        self.implied(("__set_name__",), [held], [], node)


def any_arguments(method: Code, receiver: Value, values: Iterable[Value]) -> Arguments:
    """Return the arguments of a method's call in which each parameter may be any of some values."""
    given = joined(values)
    own = () if is_static(method) else (receiver,)
    # One more for what takes all that are left (`*args`).
    others = (given,) * (max(len(parameter_names(method)) - len(own), 0) + 1)
    return Arguments((*own, *others), tuple((name, given) for name in (*keyword_names(method), "**")))
