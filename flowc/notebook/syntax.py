"""Small questions about Python's syntax that walking code asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flowc.notebook.heap import Code


def annotations_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    arguments = node.args
    for argument in (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ):
        if argument is not None and argument.annotation is not None:
            yield argument.annotation
    if node.returns is not None:
        yield node.returns


def parameter_names(code: Code) -> list[str]:
    args = getattr(code.node, "args", None)
    if not isinstance(args, ast.arguments):
        return []
    return [argument.arg for argument in (*args.posonlyargs, *args.args)]


def keyword_names(code: Code) -> list[str]:
    args = getattr(code.node, "args", None)
    return [argument.arg for argument in args.kwonlyargs] if isinstance(args, ast.arguments) else []


def decorator_names(code: Code) -> set[str]:
    written = getattr(code.node, "decorator_list", [])
    return {path.rpartition(".")[2] for node in written if (path := dotted(node))}


def is_cached(code: Code) -> bool:
    """Say whether a function remembers what it gave."""
    return bool(decorator_names(code) & {"lru_cache", "cache"})


def is_class_method(code: Code) -> bool:
    return "classmethod" in decorator_names(code)


def is_static(code: Code) -> bool:
    return "staticmethod" in decorator_names(code)


def is_property(code: Code) -> bool:
    """Say whether a method runs where its name is read or set as an attribute."""
    names = [ast.unparse(decorator) for decorator in getattr(code.node, "decorator_list", [])]
    return any("property" in name or name.endswith((".setter", ".deleter")) for name in names)


def dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else None
    return node.id if isinstance(node, ast.Name) else None


def is_selection(node: ast.expr) -> bool:
    """Say whether an index picks by a mask or a list, which makes pandas and numpy copy."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor)
    return isinstance(node, ast.Compare | ast.List)


def is_key(node: ast.expr) -> bool:
    """Say whether an index is a text or a list of texts: a column or a dict's key, not a position."""
    parts = node.elts if isinstance(node, ast.List) else [node]
    return all(isinstance(part, ast.JoinedStr) or constant_text(part) is not None for part in parts)


def is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def constant_text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
