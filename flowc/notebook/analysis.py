"""Which code belongs to which step: cells become atoms (statements) of steps, of shared code, or parameters."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flowc.errors import CompileError
from flowc.notebook.budget import Budget, OutOfBudgetError, gives_up
from flowc.notebook.dataflow import CellWalker, RegionKey, last_mentions
from flowc.notebook.effects import effects_table
from flowc.notebook.evaluated import with_evaluated
from flowc.notebook.heap import IMMUTABLE, Code, Heap, Regions, Value
from flowc.notebook.host import NEXT_TAKEN
from flowc.notebook.lines import PlainCell
from flowc.notebook.model import Notebook
from flowc.notebook.parameters import Assigned
from flowc.notebook.queries import names_in_texts
from flowc.notebook.specials import ITEM_TAKEN
from flowc.notebook.tags import Tagged
from flowc.notebook.versions import PARAMETER, SHARED, Atom, Place, Version

_FACTORIES = frozenset(
    (
        "namedtuple",
        "NewType",
        "TypedDict",
        "NamedTuple",
        "TypeVar",
        "ParamSpec",
        "partial",
        "make_dataclass",
        "Enum",
    )
)
_CONSTANT_NODES = (
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.UnaryOp,
    ast.BinOp,
    ast.Name,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)


@dataclass(frozen=True, slots=True)
class TaggedCell:
    """A code cell that takes part: as Python, with what its tags say."""

    plain: PlainCell
    tagged: Tagged

    @property
    def index(self) -> int:
        return self.plain.cell.index


@dataclass(slots=True)
class Analysis:
    """All that is known of a notebook's names once its cells have been walked."""

    atoms: list[Atom]
    cells_of: dict[str, list[int]]
    env: dict[str, Version]
    heap: Heap
    walker: CellWalker
    entangled: frozenset[int]
    parameters: dict[str, Assigned]
    apart: frozenset[int] = frozenset()
    joined_cells: list[tuple[int, str]] = field(default_factory=list)


def analyse(notebook: Notebook, cells: Sequence[TaggedCell], parameters: Sequence[Assigned]) -> Analysis:
    """Walk the notebook's cells until no more entangled names are found.

    Raises CompileError where that would take too long, or where code is nested too deeply.
    """
    codes: dict[Any, Code] = {}
    trees = with_evaluated([cell.plain.tree for cell in cells])
    cells = [
        replace(cell, plain=replace(cell.plain, tree=tree)) for cell, tree in zip(cells, trees, strict=True)
    ]
    mentions = last_mentions((cell.index, cell.plain.tree) for cell in cells)
    for cell in cells:
        mentions.update({name: max(mentions.get(name, -1), cell.index) for name in cell.tagged.reads})
    views = any(_may_make_views(node) for cell in cells for node in ast.walk(cell.plain.tree))
    table = replace(
        effects_table(),
        own=frozenset(_own_methods(cells)),
        keywords=frozenset(_keywords(cells)),
        queried=frozenset(names_in_texts(node for cell in cells for node in ast.walk(cell.plain.tree))),
    )
    entangled: frozenset[RegionKey] = frozenset()
    apart: frozenset[RegionKey] = frozenset()
    budget = Budget()
    while True:
        walker = CellWalker(table, codes, entangled, mentions, star_names, Heap(views, budget))
        try:
            result = _Round(walker, cells, parameters).walk()
            apart |= walker.keys(walker.marks.apart)
            hazards = walker.keys(walker.marks.hazards | _compared(result))
        except (OutOfBudgetError, RecursionError) as error:
            place = walker.here
            source = notebook.place(place.cell, place.line, place.column)
            raise CompileError([gives_up(error, source)]) from error
        if hazards <= entangled:
            result.entangled, result.apart = walker.entangled, walker.regions(apart)
            return result
        entangled |= hazards


def _keywords(cells: Iterable[TaggedCell]) -> Iterator[str]:
    for cell in cells:
        for node in ast.walk(cell.plain.tree):
            if isinstance(node, ast.keyword) and node.arg:
                yield node.arg
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                yield node.value


def _own_methods(cells: Iterable[TaggedCell]) -> Iterator[str]:
    yield NEXT_TAKEN
    for cell in cells:
        for node in ast.walk(cell.plain.tree):
            if isinstance(node, ast.Attribute) and node.attr in ("cache_info", "cache_clear"):
                yield node.attr
            if "defaultdict" in (
                getattr(node, "id", ""),
                getattr(node, "attr", ""),
                getattr(node, "name", ""),
            ):
                yield ITEM_TAKEN
            if isinstance(node, ast.ClassDef):
                for part in ast.walk(node):
                    if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                        yield part.name
                        yield from (f"{part.name}.{kind}" for kind in ("setter", "deleter"))
                    elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        yield part.id


def _may_make_views(node: ast.AST) -> bool:
    """Say whether code may come from where objects share memory without holding each other: not plain Python."""
    match node:
        case ast.Import(names=names):
            modules = [alias.name for alias in names]
        case ast.ImportFrom(module=module):
            modules = [module or "."]
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ("memoryview", "__import__", "import_module")
        case _:
            return False
    roots = {module.partition(".")[0] for module in modules}
    return not roots <= sys.stdlib_module_names or bool(roots & {"ctypes", "array", "mmap", "importlib"})


def _compared(analysis: Analysis) -> Regions:
    """Return what names from different places share in a step that tells objects from equal ones."""
    comparing = {
        atom.unit for atom in analysis.atoms if any(event == "identity" for event, *_ in atom.events)
    } - {SHARED, PARAMETER}
    found: set[int] = set()
    for unit in comparing:
        read = {version for atom in analysis.atoms if atom.unit == unit for version in atom.reads}
        by_region: dict[int, set[tuple[str, int]]] = {}
        for version in read:
            if version.unit != unit and version.value.callee is None:
                for region in analysis.heap.reach(version.value.top):
                    by_region.setdefault(region, set()).add((version.unit, version.atom))
        found |= {region for region, origins in by_region.items() if len(origins) > 1}
    return frozenset(found)


class _Round:
    """One walk through all cells."""

    def __init__(
        self, walker: CellWalker, cells: Sequence[TaggedCell], parameters: Sequence[Assigned]
    ) -> None:
        self._walker = walker
        self._cells = cells
        self._parameters = {assigned.parameter.name: assigned for assigned in parameters}
        self._first = next((cell.tagged.step for cell in cells if cell.tagged.step), None) or ""
        self._current = ""
        self._number = 0
        self._result = Analysis([], {}, {}, walker.heap, walker, frozenset(), self._parameters)

    def walk(self) -> Analysis:
        for cell in self._cells:
            self._walk_cell(cell)
        self._result.env = self._walker.names.all()
        return self._result

    def _walk_cell(self, cell: TaggedCell) -> None:
        atoms = [
            Atom(self._number + position, cell.index, position, node)
            for position, node in enumerate(cell.plain.tree.body)
        ]
        self._number += len(atoms) + 1
        self._result.atoms += atoms
        if cell.tagged.step:
            self._current = cell.tagged.step
            self._walk_step(cell, atoms, self._current)
        elif cell.tagged.part == "parameters":
            self._walk_parameters(cell, atoms)
        elif cell.tagged.part in ("imports", "functions") or not self._current:
            self._walk_shared(cell, atoms)
        elif not self._is_shared(atoms):
            self._walk_step(cell, atoms, self._current)

    def _walk_step(self, cell: TaggedCell, atoms: Iterable[Atom], step: str) -> None:
        own = self._result.cells_of.setdefault(step, [])
        if cell.index not in own:
            own.append(cell.index)
        last = None
        for atom in atoms:
            last = atom
            if not (is_definition(atom.node) and self._walker.try_shared(atom)):
                atom.unit = step
                self._walker.walk_atom(atom)
        self._declare(cell, last, step)

    def _declare(self, cell: TaggedCell, atom: Atom | None, step: str) -> None:
        """Do what the tags `reads:` and `defines:` say of names that analysis can't see."""
        if atom is None or not (cell.tagged.reads or cell.tagged.defines):
            return
        loads = [ast.Expr(ast.Name(name, ast.Load())) for name in cell.tagged.reads]
        names = [ast.Name(name, ast.Store()) for name in cell.tagged.defines]
        unknown = ast.Call(ast.Name("getattr", ast.Load()), [], [])
        stores = [ast.Assign([name], unknown) for name in names]
        declared = ast.Module([*loads, *stores], [])
        for node in ast.walk(declared):
            ast.copy_location(node, atom.node)
        extra = Atom(
            self._number - 1,
            cell.index,
            atom.position,
            ast.If(ast.Constant(True), [*loads, *stores], []),
            step,
        )
        ast.copy_location(extra.node, atom.node)
        self._result.atoms.append(extra)
        self._walker.walk_atom(extra)

    def _walk_shared(self, cell: TaggedCell, atoms: Iterable[Atom]) -> None:
        step = self._current or self._first
        rest = [atom for atom in atoms if not self._try_shared_or_defer(atom, step)]
        if rest:
            own = self._result.cells_of.setdefault(step, [])
            if cell.index not in own:
                own.append(cell.index)
            self._result.joined_cells.append((cell.index, step))

    def _try_shared_or_defer(self, atom: Atom, step: str) -> bool:
        if self._walker.try_shared(atom):
            return True
        atom.unit = step
        self._walker.walk_atom(atom)
        return False

    def _is_shared(self, atoms: list[Atom]) -> bool:
        if not all(is_definition(atom.node) or _is_constant(atom.node) for atom in atoms):
            return False
        mark = self._walker.checkpoint()
        if all(self._walker.try_shared(atom) for atom in atoms):
            return True
        self._walker.rollback(mark)
        return False

    def _walk_parameters(self, cell: TaggedCell, atoms: list[Atom]) -> None:
        by_position: dict[int, list[Assigned]] = {}
        for assigned in self._parameters.values():
            if assigned.cell == cell.index:
                by_position.setdefault(assigned.position, []).append(assigned)
        for atom in atoms:
            if atom.position not in by_position:
                self._walk_shared(cell, [atom])
                continue
            self._walker.try_shared(atom)
            atom.unit = PARAMETER
            written = atom.writes
            atom.writes = {}
            for assigned in by_position[atom.position]:
                name = assigned.parameter.name
                made = written[name].value if name in written else IMMUTABLE
                place = Place(cell.index, atom.node.lineno, atom.node.col_offset + 1)
                value = self._walker.heap.fresh(kind=assigned.kind) if made.top else Value(code=made.code)
                self._walker.bind_parameter(name, value, place, atom.number)


def is_definition(node: ast.stmt) -> bool:
    """Say whether a statement imports or defines, so that it may be repeated in other steps."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return True
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return any(isinstance(part, ast.Lambda) or _is_factory(part) for part in ast.walk(value))
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
        case ast.If(body=body, orelse=orelse):
            return all(map(is_definition, (*body, *orelse)))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            inner = [*body, *orelse, *finalbody, *(part for handler in handlers for part in handler.body)]
            return any(map(_is_import, body)) and all(
                is_definition(part) or _is_constant(part) for part in inner
            )
    return False


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_factory(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _FACTORIES


def _is_constant(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=targets, value=value) if all(isinstance(part, ast.Name) for part in targets):
            return all(isinstance(part, _CONSTANT_NODES) for part in ast.walk(value))
        case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
            return all(isinstance(part, _CONSTANT_NODES) for part in ast.walk(value))
    return False


def star_names(module: str) -> Sequence[str] | None:
    """Return the names that `from module import *` binds, or None where only importing it could tell.

    Modules of the standard library are imported; others are read as text.
    """
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        try:
            found = importlib.import_module(module)
        except ImportError:
            return None
        return list(getattr(found, "__all__", [name for name in vars(found) if not name.startswith("_")]))
    try:
        spec = importlib.util.find_spec(root) if root and "." not in module else None
        source = (
            spec.loader.get_source(root)
            if spec and spec.loader and hasattr(spec.loader, "get_source")
            else None
        )
        tree = ast.parse(source) if source else None
    except (ImportError, SyntaxError, ValueError):
        return None
    return _public_names(tree) if tree is not None else None


def _public_names(tree: ast.Module) -> Sequence[str] | None:
    names: list[str] = []
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                try:
                    return list(ast.literal_eval(value))
                except ValueError:
                    return None
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case ast.Assign(targets=targets):
                names += [
                    part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
                ]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case ast.Import(names=aliases):
                names += [alias.asname or alias.name.partition(".")[0] for alias in aliases]
            case ast.ImportFrom(names=aliases):
                if any(alias.name == "*" for alias in aliases):
                    return None
                names += [alias.asname or alias.name for alias in aliases]
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Delete():
                continue
            case _:
                return None
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


__all__ = ["SHARED", "Analysis", "TaggedCell", "analyse", "is_definition", "star_names"]
