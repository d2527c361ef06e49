"""Types that nobody wrote down, from what earlier runs made: how a run differs from those before it, and columns that a
notebook's step reads of a table that never had them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import did_you_mean
from flowc.ir import Cell, FromTask, NotebookCode, Pipeline, Task, port_names
from flowc.types.model import short_name

_FRAME = "pandas.core.frame:DataFrame"
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Evidence:
    """An output as an earlier run made it. `columns` has the names of a table's columns with their Arrow types."""

    python_type: str
    columns: Mapping[str, str] | None
    run: str


def changes(before: Evidence, after: Evidence) -> list[str]:
    """Return in words how an output differs from what an earlier run made: its type, or its columns."""
    if before.python_type != after.python_type:
        return [f"is a {short_name(after.python_type)}, and was a {short_name(before.python_type)}"]
    if before.columns is None or after.columns is None:
        return []
    went = [f"column '{name}' went" for name in before.columns if name not in after.columns]
    came = [
        f"column '{name}' ({kind}) appeared"
        for name, kind in after.columns.items()
        if name not in before.columns
    ]
    other = [
        f"column '{name}' is {kind}, and was {before.columns[name]}"
        for name, kind in after.columns.items()
        if before.columns.get(name, kind) != kind
    ]
    return [*went, *came, *other]


def check_columns(pipeline: Pipeline, evidence: Mapping[tuple[str, str], Evidence]) -> Iterator[Diagnostic]:
    """Find the columns that steps of a notebook read of a DataFrame that came without them.

    `evidence` is to hold outputs only of tasks whose code, and that of all above them, is what it was.
    """
    for task in pipeline.tasks:
        code = pipeline.component_of(task).code
        for port, given in task.inputs.items():
            seen = evidence.get((given.task, given.output)) if isinstance(given, FromTask) else None
            if isinstance(code, NotebookCode) and seen is not None and _is_plain_frame(seen):
                yield from _missing(pipeline, task, code, port_names(port)[0], seen)


def _is_plain_frame(seen: Evidence) -> bool:
    # Names of several levels are written as tuples.
    return seen.python_type == _FRAME and not any(name.startswith("(") for name in seen.columns or {"(": ""})


def _missing(
    pipeline: Pipeline, task: Task, code: NotebookCode, name: str, seen: Evidence
) -> Iterator[Diagnostic]:
    known = set(seen.columns or {})
    for cell in pipeline.cells:
        if cell.index not in code.cells:
            continue
        for statement in ast.parse(cell.source).body:
            uses = _Uses(name)
            uses.visit(statement)
            if not uses.plain or not isinstance(statement, _SIMPLE):
                if uses.met:
                    return  # it may be another table from here on, or have other columns
                continue
            for column, node in uses.read:
                if column not in known:
                    known.add(column)  # said once
                    yield _diagnostic(task, name, column, seen, _place(pipeline, cell, node))
            known |= uses.made


_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
# What changes a DataFrame's columns in place without saying `inplace`.
_CHANGING = frozenset(("insert", "pop", "update", "eval", "__setitem__", "__delitem__"))


class _Uses(ast.NodeVisitor):
    """How one statement uses a table. `plain` says that it only reads it, or gives it columns by their names."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.met = False
        self.plain = True
        self.read: list[tuple[str, ast.expr]] = []
        self.made: set[str] = set()

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not self._is_it(node.value):
            self.generic_visit(node)
            return
        self.met = True
        names = _texts(node.slice)
        if isinstance(node.ctx, ast.Load):
            self.read += names
            self.visit(node.slice)
        elif isinstance(node.ctx, ast.Store) and names:
            self.made |= {column for column, _ in names}
        else:
            self.plain = False

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._is_it(node.value):
            self.met = True
            self.plain = self.plain and isinstance(node.ctx, ast.Load) and node.attr not in _CHANGING
        else:
            # What is set below it, as in `df.loc[0, "x"] = 1`, may be a new column.
            self.plain = self.plain and (isinstance(node.ctx, ast.Load) or not self._holds_it(node))
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if any(keyword.arg in ("inplace", None) for keyword in node.keywords) and self._holds_it(node.func):
            self.plain = False
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id == self._name:
            # Handed on, bound anew or deleted.
            self.met, self.plain = True, False

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._give_up_if_held(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._give_up_if_held(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name) and not (
                isinstance(target, ast.Subscript) and self._is_it(target.value)
            ):
                self._give_up_if_held(target)
        self.generic_visit(node)

    def _give_up_if_held(self, node: ast.AST) -> None:
        if self._holds_it(node):
            self.met, self.plain = True, False

    def _holds_it(self, node: ast.AST) -> bool:
        return any(map(self._is_it, ast.walk(node)))

    def _is_it(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self._name


def _texts(key: ast.expr) -> list[tuple[str, ast.expr]]:
    items = key.elts if isinstance(key, ast.List) else [key]
    return [
        (item.value, item) for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]


def _place(pipeline: Pipeline, cell: Cell, node: ast.expr) -> Source:
    return Source(
        file=pipeline.source.file if pipeline.source else "",
        cell=cell.index,
        cell_id=cell.id,
        line=node.lineno,
        column=node.col_offset + 1,
        end_line=node.end_lineno,
        end_column=(node.end_col_offset or 0) + 1,
    )


def _diagnostic(task: Task, name: str, column: str, seen: Evidence, place: Source) -> Diagnostic:
    columns = list(seen.columns or {})
    more = f", and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else ""
    hint = did_you_mean(column, columns) or f"its columns are: {', '.join(columns[:_MOST_NAMED])}{more}"
    return Diagnostic(
        code="FC320",
        severity="warning",
        message=f"step '{task.name}' reads column '{column}' of '{name}', which had none when run {seen.run} made it",
        source=place,
        hint=hint,
    )
