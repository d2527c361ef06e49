"""Parameters out of assignments that bind other names too: `twice, s = n * 2, 'x'` as two statements.

A statement is either computed or taken from outside. What a tuple computes is bound first, in its order; literals read
nothing, so that they come after it makes no difference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from flowc.notebook.lines import PlainCell
from flowc.notebook.literals import Literals, NotLiteralError


def split_parameters(cells: Sequence[PlainCell], wanted: frozenset[int], module: str) -> list[PlainCell]:
    """Return the cells, with such assignments of the cells `wanted` split. Lines stay those of the user's cell."""
    literals = Literals(module)
    return [
        _split(plain, literals) if plain.cell.index in wanted else _learned(plain, literals)
        for plain in cells
    ]


def _learned(plain: PlainCell, literals: Literals) -> PlainCell:
    for statement in plain.tree.body:
        literals.learn(statement)
    return plain


def _split(plain: PlainCell, literals: Literals) -> PlainCell:
    found = []
    for statement in plain.tree.body:
        literals.learn(statement)
        match statement:
            case ast.Assign(
                targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)],
                value=ast.Tuple(elts=values) | ast.List(elts=values),
            ) if len(targets) == len(values):
                parts = _parts(targets, values, literals)
                found += [(statement, parts)] if parts else []
    if not found:
        return plain
    lines = [line.encode() for line in plain.source.split("\n")]
    for statement, parts in reversed(found):
        _write(lines, statement, parts)
    source = b"\n".join(lines).decode()
    return replace(plain, source=source, tree=ast.parse(source))


@dataclass(frozen=True, slots=True)
class _Pair:
    name: str
    value: ast.expr
    literal: bool


def _parts(
    targets: Iterable[ast.expr], values: Iterable[ast.expr], literals: Literals
) -> list[tuple[list[str], list[ast.expr]]] | None:
    """Return the assignments that stand for one of a tuple; None where that is not so, or it may stay as it is."""
    pairs = []
    for target, value in zip(targets, values, strict=True):
        if not isinstance(target, ast.Name) or isinstance(value, ast.Starred):
            return None
        pairs.append(_Pair(target.id, value, _is_literal(value, literals)))
    names = {pair.name for pair in pairs}
    free = {
        node.id
        for pair in pairs
        if pair.literal
        for node in ast.walk(pair.value)
        if isinstance(node, ast.Name)
    }
    if len(names) < len(pairs) or names & free or len({pair.literal for pair in pairs}) < 2:
        return None
    computed = [pair for pair in pairs if not pair.literal]
    first = ([pair.name for pair in computed], [pair.value for pair in computed])
    return [first, *(([pair.name], [pair.value]) for pair in pairs if pair.literal)]


def _is_literal(value: ast.expr, literals: Literals) -> bool:
    try:
        literals.value(value)
    except NotLiteralError:
        return False
    return True


def _write(lines: list[bytes], statement: ast.stmt, parts: list[tuple[list[str], list[ast.expr]]]) -> None:
    assert statement.end_lineno is not None
    assert statement.end_col_offset is not None
    first, last = statement.lineno - 1, statement.end_lineno - 1
    head, tail = lines[first][: statement.col_offset], lines[last][statement.end_col_offset :]
    texts = [f"{', '.join(names)} = {', '.join(map(ast.unparse, values))}" for names, values in parts]
    if first < last:
        name, _, value = texts[-1].partition(" = ")
        texts[-1] = f"{name} = (" + "\n" * (last - first) + f"{value})"
    lines[first : last + 1] = (head + "; ".join(texts).encode() + tail).split(b"\n")
