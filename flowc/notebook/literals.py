"""Values and types of the parameters cell, found without running the notebook.

Only literals, operators, and classes of a few standard modules are understood; all else is for the steps to compute.
"""

from __future__ import annotations

import ast
import builtins
import enum
import importlib
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

_MODULES: Final = frozenset(
    ("pathlib", "datetime", "typing", "typing_extensions", "collections.abc", "pydantic")
)
_CALLED: Final = frozenset(
    ("pathlib.Path", "datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta")
) | {
    f"builtins.{name}"
    for name in ("int", "float", "str", "bool", "abs", "min", "max", "round", "list", "tuple")
}
_TYPES: Final = frozenset(
    ("int", "float", "str", "bool", "list", "dict", "tuple", "set", "frozenset", "bytes", "object", "None")
)
_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
}
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_LARGEST_POWER = 64
_LONGEST = 100_000


class NotLiteralError(ValueError):
    """The expression says something that only running the notebook can tell."""


class Literals:
    """Evaluates expressions of literals, with the imports and enums that the notebook has made so far."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._paths: dict[str, str] = {}
        self._enums: dict[str, type[enum.Enum]] = {}
        self._unknown: set[str] = set()

    def learn(self, statement: ast.stmt) -> None:
        """Take in an import or an enum's definition; everything else makes the names it binds unknown."""
        bound = bound_names(statement)
        for name in bound:
            self._paths.pop(name, None)
            self._enums.pop(name, None)
        self._unknown |= bound
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    self._paths[alias.asname or alias.name] = alias.name
            case ast.ImportFrom(module=str() as module, names=names, level=0):
                for alias in names:
                    self._paths[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.ClassDef():
                self._learn_enum(statement)

    def _learn_enum(self, node: ast.ClassDef) -> None:
        bases = [self._path(base) or "" for base in node.bases]
        kinds = [base for base in bases if base.startswith("enum.") and hasattr(enum, base[5:])]
        if not kinds:
            return
        members: dict[str, Any] = {}
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if not name.startswith("_"):
                    try:
                        members[name] = len(members) + 1 if isinstance(value, ast.Call) else self.value(value)
                    except NotLiteralError:
                        return
        self._enums[node.name] = _make_enum(node.name, members, self._module)

    def value(self, node: ast.expr) -> Any:
        """Return an expression's value. Raises NotLiteralError where it is no literal."""
        match node:
            case ast.Constant(value=value) if value is not Ellipsis:
                return value
            case ast.List(elts=elts):
                return [self.value(part) for part in elts]
            case ast.Tuple(elts=elts):
                return tuple(self.value(part) for part in elts)
            case ast.Set(elts=elts):
                return self._safely(set, [self.value(part) for part in elts])
            case ast.Dict(keys=keys, values=values) if all(key is not None for key in keys):
                pairs = zip(keys, values, strict=True)
                return self._safely(
                    dict, [(self.value(key), self.value(value)) for key, value in pairs if key]
                )
            case ast.UnaryOp(op=op, operand=operand):
                return self._safely(_UNARY[type(op)], self.value(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.value(left), self.value(right))
            case ast.JoinedStr(values=[]):
                return ""
            case ast.Attribute() | ast.Subscript():
                return self._member(node)
            case ast.Call(func=func, args=args, keywords=keywords):
                return self._call(func, args, keywords)
        raise NotLiteralError(ast.unparse(node))

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Pow) and isinstance(left, int | float) and isinstance(right, int | float):
            if abs(right) > _LARGEST_POWER:
                raise NotLiteralError("a large power")
            return self._safely(operator.pow, left, right)
        if type(op) not in _BINARY:
            raise NotLiteralError("an operator")
        for one, other in ((left, right), (right, left)):
            if isinstance(op, ast.Mult) and hasattr(one, "__len__") and len(one) * int(other or 0) > _LONGEST:
                raise NotLiteralError("a long sequence")
        return self._safely(_BINARY[type(op)], left, right)

    def _safely(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (TypeError, ValueError, ArithmeticError, KeyError) as error:
            raise NotLiteralError(str(error)) from error

    def _member(self, node: ast.Attribute | ast.Subscript) -> Any:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self._enums:
                found = self._enums[name].__members__.get(attr)
                if found is not None:
                    return found
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)) if (
                name in self._enums
            ):
                found = self._enums[name].__members__.get(key)
                if found is not None:
                    return found
        raise NotLiteralError(ast.unparse(node))

    def _call(self, func: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> Any:
        path = self._path(func)
        if path not in _CALLED or any(keyword.arg is None for keyword in keywords):
            raise NotLiteralError(ast.unparse(func))
        positional = [self.value(argument) for argument in args]
        named = {str(keyword.arg): self.value(keyword.value) for keyword in keywords}
        function = self._object(path)
        return self._safely(lambda: function(*positional, **named))

    def _path(self, node: ast.expr) -> str | None:
        """Return the dotted import path that a name or attribute stands for."""
        if isinstance(node, ast.Name):
            if node.id in self._paths:
                return self._paths[node.id]
            known = node.id not in self._unknown and hasattr(builtins, node.id)
            return f"builtins.{node.id}" if known else None
        if isinstance(node, ast.Attribute):
            head = self._path(node.value)
            return f"{head}.{node.attr}" if head else None
        return None

    def _object(self, path: str) -> Any:
        module, _, name = path.rpartition(".")
        if module == "builtins":
            return getattr(builtins, name)
        if module not in _MODULES:
            raise NotLiteralError(path)
        found = getattr(importlib.import_module(module), name, None)
        if found is None:
            raise NotLiteralError(path)
        return found

    def annotation(self, node: ast.expr) -> Any:
        """Return the type that an annotation stands for. Raises NotLiteralError where that needs the notebook."""
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=str() as text):
                try:
                    return self.annotation(ast.parse(text, mode="eval").body)
                except SyntaxError as error:
                    raise NotLiteralError(text) from error
            case ast.Name(id=name) if name in self._enums:
                return self._enums[name]
            case ast.Name() | ast.Attribute():
                path = self._path(node)
                if path is None or (path.startswith("builtins.") and path[9:] not in _TYPES):
                    raise NotLiteralError(ast.unparse(node))
                return self._object(path)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return self._safely(operator.or_, self.annotation(left), self.annotation(right))
            case ast.Subscript(value=generic, slice=index):
                return self._subscripted(self.annotation(generic), index)
        raise NotLiteralError(ast.unparse(node))

    def _subscripted(self, generic: Any, index: ast.expr) -> Any:
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if getattr(generic, "__name__", getattr(generic, "_name", "")) == "Literal":
            arguments: Iterable[Any] = [self.value(part) for part in parts]
        elif getattr(generic, "__name__", getattr(generic, "_name", "")) == "Annotated":
            arguments = [self.annotation(parts[0])]
            return next(iter(arguments))
        else:
            arguments = [... if _is_ellipsis(part) else self.annotation(part) for part in parts]
        arguments = tuple(arguments)
        return self._safely(lambda: generic[arguments if len(arguments) != 1 else arguments[0]])


def bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement may bind, other than by an import."""
    nodes = list(ast.walk(statement))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return stored | {node.name for node in nodes if isinstance(node, definitions)}


def _make_enum(name: str, members: dict[str, Any], module: str) -> type[enum.Enum]:
    create: Any = enum.Enum
    made: type[enum.Enum] = create(name, members, module=module)
    return made


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def annotation_of_value(value: Any) -> Any:
    """Return the annotation that a value without one stands for; Any where the value doesn't tell."""
    if value is None:
        return Any
    container: Any = type(value)
    if isinstance(value, list | set | frozenset):
        return container[_common(value)]
    if isinstance(value, tuple):
        return container[tuple(map(annotation_of_value, value))] if value else tuple
    if isinstance(value, dict):
        return container[_common(value), _common(value.values())]
    return container


def _common(values: Iterable[Any]) -> Any:
    kinds = {repr(kind): kind for kind in map(annotation_of_value, values)}
    if set(kinds.values()) == {int, float}:
        return float
    return next(iter(kinds.values())) if len(kinds) == 1 else Any
