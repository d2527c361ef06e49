"""Names of a notebook that stand in the text of `df.query` and `df.eval`: pandas looks them up where it is called."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

QUERYING = frozenset(("query", "eval"))
_NAME = re.compile(r"@([A-Za-z_]\w*)")


def names_in_text(text: str) -> Iterator[str]:
    """Yield the names of variables that the text of a query reads, which stand after an `@`."""
    yield from _NAME.findall(text)


def names_in_texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that any text in some code may read, as a query that is put together from it would."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from names_in_text(node.value)
