"""What type a value certainly has, as its step's own lines show it: then the signature says so.

Only what can't be otherwise counts: the one statement that gives the name its value calls a class, or a builtin or a
pandas function that always returns one type, or is a text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from flowc.emit.python.layout import is_import
from flowc.emit.python.statements import Statement

_BUILTINS = frozenset(("float", "int", "len", "str"))
_RETURNING_SELF = frozenset(("fit",))
_READERS = frozenset(("read_csv", "read_parquet", "read_feather", "DataFrame"))
_PARTS = frozenset(("chunksize", "iterator", "squeeze"))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the names at the top of the module are: `estimators` classes of scikit-learn, `pandas` that module's names,
    `taken` all that the notebook sets."""

    estimators: frozenset[str]
    pandas: frozenset[str]
    taken: frozenset[str]

    def of(self, name: str, body: Iterable[Statement]) -> str | None:
        """Return the annotation for what a name holds at the end of a step, None where nothing is certain."""
        binding = [each for each in body if name in each.names.binds]
        if len(binding) != 1 or name in binding[0].names.declared:
            return None
        match binding[0].node:
            case ast.Assign(targets=[ast.Name()], value=value):
                return self._of_value(value)
        return None

    def _of_value(self, value: ast.expr) -> str | None:
        match value:
            case ast.JoinedStr() | ast.Constant(value=str()):
                return "str"
            case ast.Call(func=ast.Name(id=name)) if name in _BUILTINS and name not in self.taken:
                return "int" if name == "len" else name
            case ast.Call(func=ast.Name(id=name)) if name in self.estimators:
                return name
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id=name)), attr=method)):
                return name if name in self.estimators and method in _RETURNING_SELF else None
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=method), keywords=keywords):
                whole = not any(each.arg is None or each.arg in _PARTS for each in keywords)
                return (
                    f"{module}.DataFrame" if module in self.pandas and method in _READERS and whole else None
                )
        return None


def evidence_in(top: Sequence[Statement], set_by_steps: Set[str]) -> Evidence:
    """Return what the imports at the top of the module tell; names that a step sets tell nothing."""
    members = {
        alias.asname or alias.name: node.module or ""
        for node in _nodes(top)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    modules = {
        alias.asname or alias.name: alias.name
        for node in _nodes(top)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    return Evidence(
        frozenset(n for n, of in members.items() if of.startswith("sklearn.") and n[0].isupper())
        - set_by_steps,
        frozenset(n for n, of in modules.items() if of == "pandas") - set_by_steps,
        frozenset(set_by_steps | {name for each in top for name in each.names.binds}),
    )


def _nodes(top: Iterable[Statement]) -> Iterable[ast.stmt]:
    return (each.node for each in top if is_import(each.node))
