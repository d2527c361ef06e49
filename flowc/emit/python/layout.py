"""What of a notebook's code stands at the top of the module, and what inside each step's function.

At the top may stand what means the same in every step: imports, definitions and constants whose own globals stand
there, too. What reads or sets a variable of a step goes into the function of each step that needs it: there "a
function sees the value that its globals have when it is called" holds as it does in a notebook.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flowc.emit.python.refusal import refuse
from flowc.emit.python.statements import Statement, statements_of
from flowc.ir import Component, FromTask, NotebookCode, Pipeline, port_names

_MUTABLE = (ast.List, ast.Dict, ast.Set)
_CONSTANTS = (
    ast.Constant,
    ast.Tuple,
    ast.UnaryOp,
    ast.BinOp,
    ast.Name,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
    *_MUTABLE,
)
_FACTORIES = frozenset(("namedtuple", "NewType", "TypeVar", "ParamSpec", "NamedTuple", "TypedDict", "Enum"))
_READERS = frozenset(("keys", "values", "items", "get", "copy", "index", "count", "join", "format", "isin"))
_CALLERS = frozenset(
    (
        "map",
        "filter",
        "sorted",
        "min",
        "max",
        "sort",
        "reduce",
        "apply",
        "applymap",
        "transform",
        "agg",
        "aggregate",
    )
)
_CHANGERS = frozenset(("shuffle", "heappush", "heappop", "heapify", "insort", "insort_left", "insort_right"))


@dataclass(frozen=True, slots=True)
class Layout:
    """The statements at the top, those of each component's body, and all that run in it, wherever they stand: each in
    the notebook's order."""

    top: tuple[Statement, ...]
    bodies: dict[str, tuple[Statement, ...]]
    running: dict[str, tuple[Statement, ...]]

    @property
    def imports(self) -> tuple[Statement, ...]:
        return tuple(each for each in self.top if is_import(each.node))

    @property
    def definitions(self) -> tuple[Statement, ...]:
        return tuple(each for each in self.top if not is_import(each.node))

    def names(self) -> set[str]:
        """Return every name that the notebook's code reads or sets at the top of a cell."""
        everything = (*self.top, *(each for body in self.bodies.values() for each in body))
        return {name for each in everything for name in each.names.reads | each.names.binds}

    def bound_at_top(self) -> set[str]:
        return {name for each in self.top for name in each.names.binds}


def lay_out(pipeline: Pipeline) -> Layout:
    """Return the layout of a notebook's pipeline. Raises CompileError where a class would have to stand twice."""
    file = pipeline.source.file if pipeline.source else pipeline.name
    cells = {cell.index: statements_of(file, cell) for cell in pipeline.cells}
    running = {name: tuple(_running(component, cells)) for name, component in pipeline.components.items()}
    everything = list(dict.fromkeys(each for body in running.values() for each in body))
    everything.sort(key=lambda each: (each.cell.index, each.position))
    top = _at_top(everything, _shared(pipeline, running), _variables(pipeline))
    bodies = {name: tuple(each for each in body if each not in top) for name, body in running.items()}
    _refuse_repeated_classes(bodies)
    for name, body in bodies.items():
        code = pipeline.components[name].code
        assert isinstance(code, NotebookCode)
        if _passes_data(pipeline, name):
            _refuse_travelling_functions(body, code.cells, bodies)
    return Layout(tuple(each for each in everything if each in top), bodies, running)


def _passes_data(pipeline: Pipeline, component: str) -> bool:
    """Say whether values of a step come from others, or leave it."""
    given = (task.inputs.values() for task in pipeline.tasks if task.component == component)
    came = any(isinstance(binding, FromTask) for bindings in given for binding in bindings)
    return came or bool(pipeline.components[component].outputs)


def _running(component: Component, cells: dict[int, tuple[Statement, ...]]) -> Iterator[Statement]:
    code = component.code
    assert isinstance(code, NotebookCode)
    for index in sorted({*code.shared, *code.cells}):
        parts = code.parts.get(index)
        yield from (each for each in cells[index] if parts is None or each.position in parts)


def _shared(pipeline: Pipeline, running: dict[str, tuple[Statement, ...]]) -> set[Statement]:
    """Return the statements that are shared code: those that a step runs of cells that aren't its own."""
    found: set[Statement] = set()
    for name, body in running.items():
        code = pipeline.components[name].code
        assert isinstance(code, NotebookCode)
        found |= {each for each in body if each.cell.index not in code.cells}
    return found


def _variables(pipeline: Pipeline) -> set[str]:
    """Return the names that come to a step from outside or leave it."""
    ports = [
        port.name
        for component in pipeline.components.values()
        for port in (*component.inputs, *component.outputs)
    ]
    return {name for port in ports for name in port_names(port)} | {each.name for each in pipeline.parameters}


def _at_top(everything: list[Statement], shared: set[Statement], variables: set[str]) -> set[Statement]:
    top = {
        each
        for each in everything
        if is_definition(each.node) or (each in shared and _is_constant(each.node))
    }
    while True:
        below = [each for each in everything if each not in top]
        taken = variables | {name for each in below for name in each.names.binds} | _bound_twice(everything)
        keep = {
            each
            for each in top
            if not (each.names.binds | each.names.reads) & taken
            and not each.names.declared
            and not _may_be_changed(each, everything)
        }
        if keep == top:
            return top
        top = keep


def _bound_twice(everything: Iterable[Statement]) -> set[str]:
    """Return the names that have more than one meaning; an import may be repeated."""
    meanings: dict[str, set[object]] = {}
    for each in everything:
        imported = dict(_imported(each.node))
        for name in each.names.binds:
            meanings.setdefault(name, set()).add(imported.get(name, each))
    return {name for name, found in meanings.items() if len(found) > 1}


def _imported(node: ast.stmt) -> Iterator[tuple[str, tuple[str, ...]]]:
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                root = alias.name.partition(".")[0]
                yield (alias.asname, (alias.name,)) if alias.asname else (root, (root,))
        case ast.ImportFrom(module=module, names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name, (module or "", alias.name)


def _may_be_changed(statement: Statement, everything: Iterable[Statement]) -> bool:
    """Say whether a constant is a list, dict or set that something may change: at the top, the next step to run in
    the same process would see that."""
    match statement.node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            if not any(isinstance(part, _MUTABLE) for part in ast.walk(value)):
                return False
        case _:
            return False
    names = statement.names.binds
    functions = {
        each.node.name
        for each in everything
        if isinstance(each.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    return any(
        each.names.reads & names and not all(_only_read(each.node, name, functions) for name in names)
        for each in everything
    )


def _only_read(statement: ast.stmt, name: str, functions: set[str]) -> bool:
    """Say whether no use of a name in a statement could change what it holds."""
    parents = {child: node for node in ast.walk(statement) for child in ast.iter_child_nodes(node)}
    uses = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == name)
    return all(
        _reads(use, parents.get(use), parents, functions) for use in uses if isinstance(use.ctx, ast.Load)
    )


def _reads(
    use: ast.AST, parent: ast.AST | None, parents: dict[ast.AST, ast.AST], functions: set[str]
) -> bool:
    match parent:
        case ast.Attribute(attr=method):
            return method in _READERS
        case ast.Subscript(value=value, ctx=context):
            return value is not use or isinstance(context, ast.Load)
        case ast.keyword():
            return _reads(parent, parents.get(parent), parents, functions)
        case ast.Call(func=ast.Name(id=called)):
            return called not in functions and called not in _CHANGERS
        case ast.Call(func=ast.Attribute(attr=called)):
            return called not in _CHANGERS
        case (
            ast.For()
            | ast.comprehension()
            | ast.Compare()
            | ast.BinOp()
            | ast.FormattedValue()
            | ast.Starred()
        ):
            return True
    return False


def is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def is_definition(node: ast.stmt) -> bool:
    """Say whether a statement imports or defines and does nothing else."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return True
        case ast.Assign(targets=[ast.Name()], value=value):
            return isinstance(value, ast.Lambda) or _is_factory(value)
        case ast.If(body=body, orelse=orelse):
            return all(map(is_definition, (*body, *orelse)))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
            inner = (*body, *orelse, *final, *(each for handler in handlers for each in handler.body))
            return any(map(is_import, body)) and all(
                is_definition(each) or _is_constant(each) for each in inner
            )
    return type(node).__name__ == "TypeAlias"


def _is_factory(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _FACTORIES
    return False


def _is_constant(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=targets, value=value) if all(isinstance(each, ast.Name) for each in targets):
            return all(isinstance(part, _CONSTANTS) for part in ast.walk(value))
        case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
            return all(isinstance(part, _CONSTANTS) for part in ast.walk(value))
    return isinstance(node, ast.Pass)


def _refuse_travelling_functions(
    body: tuple[Statement, ...], own: tuple[int, ...], bodies: dict[str, tuple[Statement, ...]]
) -> None:
    """Refuse a function that several steps define for themselves, and that may go from one to another in a value: it
    would go on seeing the variables of the step that it comes from."""
    for function in body:
        name = getattr(function.node, "name", None)
        if name is None or sum(function in other for other in bodies.values()) < 2:
            continue
        others = [each for each in body if each is not function]
        named = any(name in each.names.reads for each in others)
        if (named or function.cell.index in own) and all(_only_called(each.node, name) for each in others):
            continue
        variables = {known for each in others for known in each.names.binds}
        reads = sorted(function.names.reads & variables) or sorted(function.names.reads)
        refuse(
            f"function '{name}' may go from one step to another, and it reads '{reads[0] if reads else name}'",
            function.source,
            "hand it what it needs as an argument, or call it where it is needed",
        )


def _only_called(statement: ast.stmt, name: str) -> bool:
    """Say whether a function is not kept by a statement: it is called, or given to what calls it at once."""
    parents = {child: node for node in ast.walk(statement) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(statement):
        if not (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)):
            continue
        holder = parents.get(node)
        if isinstance(holder, ast.keyword):
            holder = parents.get(holder)
        called = holder.func if isinstance(holder, ast.Call) else None
        target = getattr(called, "attr", getattr(called, "id", None))
        if called is None or (called is not node and target not in _CALLERS):
            return False
    return True


def _refuse_repeated_classes(bodies: dict[str, tuple[Statement, ...]]) -> None:
    """Refuse a class that each of several steps would have to define: its instances would not be each other's."""
    seen: dict[Statement, str] = {}
    for name, body in bodies.items():
        for each in body:
            if not isinstance(each.node, ast.ClassDef):
                continue
            if each in seen:
                others = {known for other in bodies.values() for one in other for known in one.names.binds}
                reads = sorted(each.names.reads & others)
                why = (
                    f"it reads '{reads[0]}', which a step sets"
                    if reads
                    else "its name is used for something else"
                )
                refuse(
                    f"class '{each.node.name}' can't stand at the top of a module: {why}",
                    each.source,
                    f"steps '{seen[each]}' and '{name}' use it: hand it what it needs as an argument",
                )
            seen[each] = name
