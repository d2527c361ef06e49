"""Whether a step's code may use files: such a step has to run in the notebook's folder, as its cells do.

Sound first: a step is let off only where all that it calls is known to touch no file but those that it is told of,
and it is told of none.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Set

_FILE_WORK = re.compile(
    r"(read|load|open|save|write|dump|walk|scan|glob|download|fetch|export)(_.*)?|(list|from|import)_.+"
    r"|to_(?!string|numpy|frame|list|dict|datetime|numeric|timedelta|period).+"
    r"|(im|fig)(read|save|write)|save(fig|txt|z)|(from|to)file|genfromtxt|loadtxt|memmap|exists|cwd|run"
)
_PATH = re.compile(r"\S*[./\\*?~]\S*")
_FILE_MODULES = re.compile(
    "os|shutil|glob|pathlib|io|subprocess|sqlite3|tempfile|zipfile|tarfile|fileinput|configparser|logging|csv|gzip"
    "|pickle|shelve|dbm|mmap|bz2|lzma|importlib|runpy"
)
_HARMLESS = re.compile(
    "numpy|pandas|sklearn|scipy|matplotlib|seaborn|plotly|altair|statsmodels|xgboost|lightgbm|torch|keras|tensorflow"
    "|tqdm|networkx|sympy|pydantic|flowc"
)


def may_use_files(statements: Iterable[ast.stmt], paths: Set[str] = frozenset()) -> bool:
    """Say whether the code, with all shared code that it needs, may look into the current folder.

    `paths` are the parameters that are paths: they are absolute, wherever the code runs.
    """
    own = list(statements)
    set_again = {
        node.id
        for statement in own
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return any(_touches(node, paths - set_again) for statement in own for node in _code_in(statement))


def _code_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of some code, without the formats in f-strings."""
    yield node
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name != "format_spec":
                yield from _code_in(child)


def _touches(node: ast.AST, paths: Set[str]) -> bool:
    match node:
        case ast.Import(names=aliases):
            return not all(_is_harmless(alias.name) for alias in aliases)
        case ast.ImportFrom(module=module, names=names):
            # `Path` itself touches nothing; what is done with it is looked at where it is used.
            named = [alias.name for alias in names]
            return (module, named) != ("pathlib", ["Path"]) and not _is_harmless(module or "")
        case ast.Call(func=ast.Attribute(attr=name), args=[ast.Name(id=path)]) if path in paths:
            return _FILE_WORK.fullmatch(name) is not None and not name.startswith("read_")
        case ast.Name(id=name):
            return name in ("open", "Path", "exec") or name.startswith("__flowc_")
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return _FILE_WORK.fullmatch(name) is not None
        case ast.Constant(value=str() as text):
            return _PATH.fullmatch(text) is not None and not text.replace(".", "").isdigit()
    return False


def _is_harmless(module: str) -> bool:
    root = module.partition(".")[0]
    standard = root in sys.stdlib_module_names and not _FILE_MODULES.fullmatch(root)
    return standard or _HARMLESS.fullmatch(root) is not None
