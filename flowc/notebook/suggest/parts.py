"""Which of a notebook's cells are parameters, shared code, or work; and what each cell of work takes from others.

The compiler itself answers: all work cells are analysed as if each were a step of its own.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from flowc.errors import CompileError
from flowc.notebook.analysis import Analysis, TaggedCell, analyse, is_definition
from flowc.notebook.lines import plain_cell
from flowc.notebook.model import Notebook
from flowc.notebook.parameters import Assigned, read_parameters
from flowc.notebook.tags import Part, Tagged, read_tags
from flowc.notebook.versions import SHARED, Atom

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Value:
    """A name as one cell left it: what crosses where a cell and a later one are in different steps."""

    name: str
    cell: int


@dataclass(slots=True)
class Parts:
    """The cells that take part, by their index in the notebook. `fixed` has those whose tags give them a part."""

    trees: dict[int, ast.Module] = field(default_factory=dict)
    fixed: dict[int, Tagged] = field(default_factory=dict)
    parameters: dict[int, tuple[Assigned, ...]] = field(default_factory=dict)
    shared: dict[int, Part] = field(default_factory=dict)
    work: tuple[int, ...] = ()
    taken: dict[int, frozenset[Value]] = field(default_factory=dict)
    made: dict[int, tuple[str, ...]] = field(default_factory=dict)


def find_parts(notebook: Notebook) -> Parts:
    """Return the parts of a notebook's cells. Raises CompileError where a tag or a cell can't be read."""
    tagged, problems = read_tags(notebook)
    cells = []
    for cell in notebook.cells:
        if cell.index in tagged and tagged[cell.index].part != "skip":
            plain, wrong = plain_cell(notebook, cell)
            problems += wrong
            if plain is not None and plain.tree.body:
                cells.append(TaggedCell(plain, tagged[cell.index]))
    if any(problem.severity == "error" for problem in problems):
        raise CompileError(problems)
    parts = Parts({cell.index: cell.plain.tree for cell in cells})
    parts.fixed = {cell.index: cell.tagged for cell in cells if cell.tagged.part}
    _find_shared(parts, cells)
    parameters = _find_parameters(notebook, parts, cells)
    analysis = _analysed(parts, cells, parameters)
    _read_analysis(parts, analysis)
    return parts


def _find_shared(parts: Parts, cells: Iterable[TaggedCell]) -> None:
    for cell in cells:
        if cell.index not in parts.fixed:
            kind = _kind_of(cell.plain.tree)
            if kind:
                parts.shared[cell.index] = kind


def _kind_of(tree: ast.Module) -> Part | None:
    """Return the tag for a cell that seems to hold nothing but shared code: definitions, with constants and set-up.

    Whether a call only sets something up is the analysis's to say.
    """
    defines = any(isinstance(node, _DEFINITIONS) for node in tree.body)
    imports = any(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body)
    rest = [node for node in tree.body if not is_definition(node) and not _is_set_up(node)]
    if not all(map(_is_constant, rest)) or (rest and not defines and not imports):
        return None
    return "functions" if defines or not imports else "imports"


def _is_constant(node: ast.stmt) -> bool:
    """Say whether a statement gives names values that cost nothing to make again."""
    match node:
        case ast.Assign(targets=targets, value=value):
            plain = all(isinstance(target, ast.Name) for target in targets)
        case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
            plain = True
        case _:
            return False
    calls = [part.func for part in ast.walk(value) if isinstance(part, ast.Call)]
    return plain and all(isinstance(func, ast.Name) and func.id == "Path" for func in calls)


def _is_set_up(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call()):
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()], value=ast.Constant()):
            return True
    return False


def _find_parameters(notebook: Notebook, parts: Parts, cells: Sequence[TaggedCell]) -> list[Assigned]:
    """Return the parameters of tagged cells, and of cells at the top that hold only literals."""
    tagged = {cell.index for cell in cells if cell.tagged.part == "parameters"}
    candidates = set()
    for cell in cells:
        if cell.index in tagged or cell.index in parts.shared:
            continue
        if cell.index in parts.fixed or not _is_literal_cell(cell.plain.tree):
            if parts.fixed.get(cell.index, Tagged()).part in ("imports", "functions"):
                continue
            break
        candidates.add(cell.index)
    plain = [cell.plain for cell in cells]
    found, _ = read_parameters(notebook, plain, frozenset(candidates), "")
    bound = _times_bound(cells)
    for index in sorted(candidates):
        own = tuple(assigned for assigned in found if assigned.cell == index)
        if len(own) == len(_bound_names(parts.trees[index])) and all(
            bound[assigned.parameter.name] == 1 for assigned in own
        ):
            parts.parameters[index] = own
    wanted = frozenset(tagged | parts.parameters.keys())
    return read_parameters(notebook, plain, wanted, "")[0]


def _is_literal_cell(tree: ast.Module) -> bool:
    """Say whether a cell only assigns what a person could give; an empty list waits for something to be put in."""
    for node in tree.body:
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                if isinstance(value, ast.List | ast.Dict | ast.Set | ast.Call) and not any(
                    isinstance(part, ast.Constant) for part in ast.walk(value)
                ):
                    return False
                if isinstance(value, ast.Constant) and value.value is None and isinstance(node, ast.Assign):
                    return False
            case ast.Expr(value=ast.Constant()):
                continue
            case _:
                return False
    return True


def _bound_names(tree: ast.Module) -> list[str]:
    return [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _times_bound(cells: Iterable[TaggedCell]) -> Counter[str]:
    """Return how often each name is bound: one that is bound again is a variable, not a parameter."""
    return Counter(name for cell in cells for name in _bound_names(cell.plain.tree))


def _analysed(parts: Parts, cells: Sequence[TaggedCell], parameters: Sequence[Assigned]) -> Analysis:
    """Analyse each work cell as a step of its own. What proves not to be shared code is work, too."""
    while True:
        analysis = analyse([TaggedCell(cell.plain, _alone(parts, cell)) for cell in cells], parameters)
        impure = {atom.cell for atom in analysis.atoms if not _is_shared(atom)} & parts.shared.keys()
        if not impure:
            return analysis
        for cell in impure:
            del parts.shared[cell]


def _is_shared(atom: Atom) -> bool:
    return atom.unit == SHARED and (atom.setup or is_definition(atom.node) or _is_constant(atom.node))


def _alone(parts: Parts, cell: TaggedCell) -> Tagged:
    if cell.index in parts.parameters:
        return replace(cell.tagged, part="parameters")
    if cell.index in parts.shared:
        return replace(cell.tagged, part=parts.shared[cell.index])
    if cell.tagged.part in ("parameters", "imports", "functions"):
        return cell.tagged
    return replace(cell.tagged, part="step", step=_unit(cell.index))


def _unit(cell: int) -> str:
    return f"cell-{cell}"


def _read_analysis(parts: Parts, analysis: Analysis) -> None:
    kept = {*parts.shared, *parts.parameters}
    kept |= {cell for cell, tagged in parts.fixed.items() if tagged.part != "step"}
    parts.work = tuple(index for index in sorted(parts.trees) if index not in kept)
    units = {_unit(index): index for index in parts.work}
    taken: dict[int, set[Value]] = {index: set() for index in parts.work}
    made: dict[int, dict[str, None]] = {index: {} for index in parts.work}
    for atom in analysis.atoms:
        here = units.get(atom.unit)
        if here is None:
            continue
        for version in atom.reads:
            maker = units.get(version.unit)
            if maker is not None and maker != here and version.bound != "no":
                taken[here].add(Value(version.name, maker))
        made[here].update((name, None) for name in atom.writes if name.isidentifier())
    parts.taken = {index: frozenset(values) for index, values in taken.items()}
    parts.made = {index: tuple(names) for index, names in made.items()}
