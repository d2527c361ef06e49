"""What a cell is for, by what it calls: reading data, checking it, changing it, learning, measuring, or saving.

Strength matters: `model.fit` says what a cell is for, `df.describe()` only hints at it, and a hint alone is no reason
to begin a step.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from flowc.ir import Role

STRONG, WEAK = 3, 1
# Where two roles are equally strong, the one that comes first here: training a model says more than preparing it.
_RANK: Final[tuple[Role, ...]] = ("train", "evaluate", "ingest", "transform", "serve", "validate")
_CALLS: Final[tuple[tuple[Role, int, str], ...]] = (
    ("ingest", STRONG, r"read_(csv|parquet|json|excel|feather|table|hdf|fwf|sql\w*|pickle|html|xml|orc)"),
    ("ingest", STRONG, r"(load|fetch)_(?!model|weights|state|ext)\w+|loadtxt|genfromtxt|loadmat"),
    ("ingest", STRONG, r"make_(classification|regression|blobs|moons)|urlretrieve|open_dataset|scan_\w+"),
    ("transform", STRONG, r"\w*(Scaler|Encoder|Imputer|Vectorizer|Binarizer|Discretizer|Normalizer)"),
    ("transform", STRONG, r"train_test_split|get_dummies|fit_transform|fit_resample|PCA|ColumnTransformer"),
    ("transform", STRONG, r"fillna|dropna|drop_duplicates|interpolate|ffill|bfill|merge|pivot_table|melt"),
    ("transform", STRONG, r"to_categorical|pad_sequences|explode"),
    ("transform", WEAK, r"astype|drop|rename|replace|apply|assign|to_datetime|to_numeric|concat|join"),
    ("transform", WEAK, r"map|cut|qcut|query|reshape"),
    ("train", STRONG, r"fit|fit_predict|partial_fit|fit_generator|train_on_batch|backward"),
    ("train", STRONG, r"cross_val_score|cross_validate"),
    ("train", WEAK, r"compile|GridSearchCV|RandomizedSearchCV|train"),
    ("evaluate", STRONG, r"\w+_(score|error|loss)|score|evaluate|classification_report|confusion_matrix"),
    ("evaluate", STRONG, r"(roc|precision_recall|det|calibration)_curve|auc|\w*Display"),
    ("evaluate", WEAK, r"predict|predict_proba|decision_function|crosstab"),
    ("serve", STRONG, r"save|save_model|export|save_pretrained|push_to_hub|to_onnx"),
    ("serve", WEAK, r"dump|to_csv|to_parquet|to_pickle|to_json|to_excel|savez?|savetxt|write_table"),
    ("validate", STRONG, r"validate|infer_schema|validate_statistics|DataFrameSchema|expect_\w+"),
    ("validate", WEAK, r"describe|info|isna|isnull|duplicated|value_counts"),
)
# Our users' own functions: their names are words, not an interface, so they only hint.
_WORDS: Final[tuple[tuple[Role, str], ...]] = (
    ("ingest", r"(load|read|fetch|get|download)_\w*(data|dataset|frame|df|images|texts?)"),
    ("transform", r"(clean|prepare|preprocess|transform|encode|normali[sz]e|scale|split|impute|add)(_\w+)?"),
    ("train", r"(train|fit)_\w+"),
    ("evaluate", r"(evaluate|measure|test|compare)(_\w+)?"),
    ("serve", r"(save|export|publish|deploy)_\w+"),
    ("validate", r"(check|validate|verify)(_\w+)?"),
)
_CALL_PATTERNS: Final = tuple((role, weight, re.compile(text)) for role, weight, text in _CALLS)
_WORD_PATTERNS: Final = tuple((role, re.compile(text)) for role, text in _WORDS)


@dataclass(frozen=True, slots=True)
class Hint:
    """The role that a piece of code speaks for, how strongly, and the call that says so."""

    role: Role
    strength: int
    call: str


class RoleReader:
    """Finds the roles of cells, knowing the notebook's own functions and what its names were made as."""

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        self._own: dict[str, list[Hint]] = {}
        self._prepares: set[str] = set()
        for tree in trees:
            self._learn(tree)

    def _learn(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    hints = _by_role([*_word_hints(name), *self._hints(node.body)]).values()
                    self._own[name] = [Hint(hint.role, hint.strength, name) for hint in hints]
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)):
                    if any(hint.role == "transform" for hint in _call_hints(_last_name(func))):
                        self._prepares.add(name)

    def role_of(self, statements: Iterable[ast.stmt]) -> Hint | None:
        """Return what these statements are for, or None where no call tells. Definitions do nothing by themselves."""
        return strongest_of(self._hints(statements))

    def _hints(self, statements: Iterable[ast.stmt]) -> list[Hint]:
        hints: list[Hint] = []
        todo: list[ast.AST] = list(reversed(list(statements)))
        while todo:
            node = todo.pop()
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                    continue
                case ast.Assert():
                    hints.append(Hint("validate", STRONG, "assert"))
                case ast.Call(func=func):
                    hints += self._of_call(func)
                case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str()))]):
                    hints.append(Hint("transform", WEAK, "a column is assigned"))
            todo += reversed(list(ast.iter_child_nodes(node)))
        return hints

    def _of_call(self, func: ast.expr) -> list[Hint]:
        name = _last_name(func)
        if isinstance(func, ast.Name) and name in self._own:
            return self._own[name]
        if name == "fit" and self._is_preparation(func):
            return [Hint("transform", STRONG, "fit")]
        return _call_hints(name)

    def _is_preparation(self, func: ast.expr) -> bool:
        """Say whether a `fit` is that of a scaler, an encoder and the like, made here or earlier."""
        if not isinstance(func, ast.Attribute):
            return False
        match func.value:
            case ast.Name(id=name):
                return name in self._prepares
            case ast.Call(func=made):
                return any(hint.role == "transform" for hint in _call_hints(_last_name(made)))
        return False


def strongest_of(hints: Iterable[Hint]) -> Hint | None:
    """Return the strongest hint; of equal ones that of the role which says most, then the first."""
    return min(hints, key=lambda hint: (-hint.strength, _RANK.index(hint.role)), default=None)


def _by_role(hints: Iterable[Hint]) -> dict[Role, Hint]:
    """Return the strongest hint for each role: a function is called often, and its body counts once."""
    found: dict[Role, Hint] = {}
    for hint in hints:
        if hint.role not in found or found[hint.role].strength < hint.strength:
            found[hint.role] = hint
    return found


def _call_hints(name: str) -> list[Hint]:
    return [Hint(role, weight, name) for role, weight, pattern in _CALL_PATTERNS if pattern.fullmatch(name)]


def _word_hints(name: str) -> list[Hint]:
    return [Hint(role, WEAK, name) for role, pattern in _WORD_PATTERNS if pattern.fullmatch(name)]


def _last_name(func: ast.expr) -> str:
    match func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
