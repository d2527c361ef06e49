"""Which of a notebook's cells are parameters, shared code, or work; and what each cell of work takes from others.

The compiler's own analysis answers, given all the work as one step: it knows which statement made what another reads.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from flowc.errors import CompileError
from flowc.notebook.analysis import Analysis, TaggedCell, analyse, is_definition
from flowc.notebook.lines import plain_cell
from flowc.notebook.model import Notebook
from flowc.notebook.parameters import Assigned, read_parameters
from flowc.notebook.tags import Part, Tagged, read_tags
from flowc.notebook.versions import SHARED, Atom

_WORK = "work"
_MEASURES = re.compile(r"%%(timeit|prun|memit|lprun|mprun)\b")
_LOOKS = re.compile(
    r"\s*(%(timeit|prun|memit|lprun|mprun|tensorboard|ls|ll|pwd|whos?|hist(ory)?|lsmagic|quickref|pinfo2?|pdoc"
    r"|psource|cat|less|more|man|debug|tb)\b.*|\?+[\w.]+|[\w.%]+\?+)\s*"
)
_EXTENSION = re.compile(r"\s*%(re)?load_ext\b")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Value:
    """A name as one cell left it: what crosses where a cell and a later one are in different steps."""

    name: str
    cell: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """A global random generator, and the cell that last drew from it or seeded it."""

    generator: str
    after: int


@dataclass(slots=True)
class Parts:
    """The cells that take part, by their index in the notebook.

    `fixed` has those whose tags give them a part, `skipped` those that are only of use in an interactive session.
    """

    trees: dict[int, ast.Module] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)
    fixed: dict[int, Tagged] = field(default_factory=dict)
    parameters: dict[int, tuple[Assigned, ...]] = field(default_factory=dict)
    shared: dict[int, Part] = field(default_factory=dict)
    work: tuple[int, ...] = ()
    taken: dict[int, frozenset[Value]] = field(default_factory=dict)
    made: dict[int, tuple[str, ...]] = field(default_factory=dict)
    drawing: dict[int, Drawing] = field(default_factory=dict)


def find_parts(notebook: Notebook) -> Parts:
    """Return the parts of a notebook's cells. Raises CompileError where a tag or a cell can't be read."""
    tagged, problems = read_tags(notebook)
    parts, cells = Parts(), []
    for cell in notebook.cells:
        tags = tagged.get(cell.index)
        if tags is None or tags.part == "skip":
            continue
        if tags.part is None and _only_looks(cell.source):
            parts.skipped.add(cell.index)
            continue
        plain, wrong = plain_cell(notebook, cell)
        problems += wrong
        if plain is not None and plain.tree.body:
            cells.append(TaggedCell(plain, tags))
    if any(problem.severity == "error" for problem in problems):
        raise CompileError(problems)
    parts.trees = {cell.index: cell.plain.tree for cell in cells}
    parts.fixed = {cell.index: cell.tagged for cell in cells if cell.tagged.part}
    kinds = {cell.index: _kind_of(cell.plain.tree) for cell in cells if cell.index not in parts.fixed}
    parts.shared = {index: kind for index, kind in kinds.items() if kind}
    parameters = _find_parameters(notebook, parts, cells)
    _read_analysis(parts, _analysed(notebook, parts, cells, parameters))
    return parts


def _only_looks(source: str) -> bool:
    """Say whether a cell only measures or shows something by lines that IPython knows, and can be left out."""
    lines = [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if lines and _MEASURES.match(lines[0]):
        return True
    looks = [line for line in lines if _LOOKS.fullmatch(line)]
    return bool(looks) and all(line in looks or _EXTENSION.match(line) for line in lines)


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
    plain = [cell.plain for cell in cells]
    candidates = frozenset(_literal_cells_at_the_top(parts, cells))
    found, _ = read_parameters(notebook, plain, candidates, "")
    # A name that is bound again is a variable, not a parameter.
    bound = Counter(name for cell in cells for name in _bound_names(cell.plain.tree))
    for index in sorted(candidates):
        own = tuple(assigned for assigned in found if assigned.cell == index)
        names = _bound_names(parts.trees[index])
        if {assigned.parameter.name for assigned in own} == set(names) and all(
            bound[name] == 1 for name in names
        ):
            parts.parameters[index] = own
    tagged = {index for index, tags in parts.fixed.items() if tags.part == "parameters"}
    return read_parameters(notebook, plain, frozenset(tagged | parts.parameters.keys()), "")[0]


def _literal_cells_at_the_top(parts: Parts, cells: Iterable[TaggedCell]) -> Iterator[int]:
    for cell in cells:
        if cell.index in parts.shared or cell.tagged.part in ("parameters", "imports", "functions"):
            continue
        if cell.tagged.part or not _is_literal_cell(cell.plain.tree):
            return
        yield cell.index


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


def _analysed(
    notebook: Notebook, parts: Parts, cells: Sequence[TaggedCell], parameters: Sequence[Assigned]
) -> Analysis:
    """Analyse all work as one step. What proves not to be shared code is work, too."""
    while True:
        as_one = [TaggedCell(cell.plain, _as_one(parts, cell)) for cell in cells]
        analysis = analyse(notebook, as_one, parameters)
        impure = {atom.cell for atom in analysis.atoms if not _is_shared(atom)} & parts.shared.keys()
        if not impure:
            return analysis
        for cell in impure:
            del parts.shared[cell]


def _is_shared(atom: Atom) -> bool:
    return atom.unit == SHARED and (atom.setup or is_definition(atom.node) or _is_constant(atom.node))


def _as_one(parts: Parts, cell: TaggedCell) -> Tagged:
    if cell.index in parts.parameters:
        return replace(cell.tagged, part="parameters")
    if cell.index in parts.shared:
        return replace(cell.tagged, part=parts.shared[cell.index])
    if cell.tagged.part in ("parameters", "imports", "functions"):
        return cell.tagged
    return replace(cell.tagged, part="step", step=_WORK)


def _read_analysis(parts: Parts, analysis: Analysis) -> None:
    kept = {*parts.shared, *parts.parameters}
    kept |= {cell for cell, tagged in parts.fixed.items() if tagged.part != "step"}
    parts.work = tuple(index for index in sorted(parts.trees) if index not in kept)
    cell_of = {atom.number: atom.cell for atom in analysis.atoms}
    taken: dict[int, set[Value]] = {index: set() for index in parts.work}
    made: dict[int, dict[str, None]] = {index: {} for index in parts.work}
    for atom in analysis.atoms:
        if atom.unit != _WORK or atom.cell not in taken:
            continue
        made[atom.cell].update((name, None) for name in atom.writes if name.isidentifier())
        for version in atom.reads:
            maker = cell_of[version.atom]
            if version.unit == _WORK and maker != atom.cell and version.bound != "no":
                taken[atom.cell].add(Value(version.name, maker))
    parts.taken = {index: frozenset(values) for index, values in taken.items()}
    parts.made = {index: tuple(names) for index, names in made.items()}
    parts.drawing = _drawing(analysis)


def _drawing(analysis: Analysis) -> dict[int, Drawing]:
    """Return the cells that go on with the random numbers of an earlier one: apart, they would get others."""
    last: dict[str, int] = {}
    found: dict[int, Drawing] = {}
    for atom in analysis.atoms:
        for event, _, generator in atom.events:
            if event not in ("draws", "seeds") or generator is None:
                continue
            if atom.unit != _WORK:
                last.pop(generator, None)
                continue
            before = last.get(generator, atom.cell)
            if event == "draws" and before != atom.cell:
                known = found.get(atom.cell)
                if known is None or before < known.after:
                    found[atom.cell] = Drawing(generator, before)
            last[generator] = atom.cell
    return found
