"""A step as a `@component` function: its inputs as arguments, its cells as body, what leaves it returned."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from flowc.emit.python.imports import Imports
from flowc.emit.python.lines import Lines, is_nothing, is_shown
from flowc.emit.python.missing import get_state, is_generator, set_state
from flowc.emit.python.names import read_around_class
from flowc.emit.python.refusal import refuse
from flowc.emit.python.statements import Edit, Statement
from flowc.emit.python.text import (
    INDENT,
    INNER_WIDTH,
    call,
    docstring,
    indented,
    quoted,
    tidy,
    without_heading,
)
from flowc.ir import Component, FromTask, NotebookCode, Port, Task, port_names

_GIB = 2**30
_MIB = 2**20
_PICTURES = frozenset(("matplotlib", "seaborn", "plotly", "altair", "bokeh"))


@dataclass(frozen=True, slots=True)
class Step:
    """A task of the notebook with what the module says of it. `body` are its own statements, `fields` the outputs by
    port as the function returns them, `arguments` the inputs by port as it takes them."""

    task: Task
    component: Component
    function: str
    body: tuple[Statement, ...]
    arguments: dict[str, str]
    fields: dict[str, str]
    returned: str
    home: str | None
    may_lack: Mapping[str, frozenset[str]]
    may_leave: Mapping[str, frozenset[str]]
    no_value: str
    types: Mapping[str, str]

    @property
    def cells(self) -> tuple[int, ...]:
        code = self.component.code
        assert isinstance(code, NotebookCode)
        return code.cells

    def enters(self, port: str) -> int:
        """Return the cell before which an input is set."""
        code = self.component.code
        assert isinstance(code, NotebookCode)
        return code.enters.get(port, code.cells[0])

    def leaves(self) -> dict[str, int]:
        """Return after which cells outputs are taken that the function returns as they were there."""
        code = self.component.code
        assert isinstance(code, NotebookCode)
        return {port: cell for port, cell in code.leaves.items() if port in self.fields}

    def variables(self) -> set[str]:
        """Return the names that are variables of the function."""
        given = {name for port in self.arguments for name in port_names(port)}
        return {name for each in self.body for name in each.names.binds} | given

    def set_by_functions(self) -> list[str]:
        """Return the variables that only functions in the function set."""
        given = {name for port in self.arguments for name in port_names(port)}
        own = {name for each in self.body for name in each.names.binds - each.names.declared} | given
        return sorted(self.variables() - own)


def kept_outputs(
    component: Component, body: Iterable[Statement], top: Iterable[Statement]
) -> tuple[Port, ...]:
    """Return the outputs that a function gives: all but pictures, which no step keeps.

    Raises CompileError for some that may be views of one memory: only a notebook's step looks whether they are.
    """
    statements = list(body)
    assert isinstance(component.code, NotebookCode)
    for port in component.outputs:
        if port.name in component.code.apart:
            names = " and ".join(f"'{name}'" for name in port_names(port.name))
            message = f"{names} may hold views of one memory, which a later step changes"
            refuse(message, port.source, "make one of them with .copy()")
    return tuple(
        port for port in component.outputs if port.required or not _is_picture(port.name, statements, top)
    )


def _is_picture(name: str, body: Iterable[Statement], top: Iterable[Statement]) -> bool:
    """Say whether a name is bound to what a plotting library returned: no step keeps that."""
    libraries = {
        alias.asname or alias.name.partition(".")[0]
        for each in top
        if isinstance(each.node, ast.Import)
        for alias in each.node.names
        if alias.name.partition(".")[0] in _PICTURES
    }
    binding = [each.node for each in body if name in each.names.binds]
    return bool(binding) and all(
        isinstance(node, ast.Assign) and _root(node.value) in libraries for node in binding
    )


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


class StepText:
    """Writes one step's function. `annotations` are those of its arguments, by port."""

    def __init__(
        self,
        step: Step,
        imports: Imports,
        top: Set[str],
        coroutines: Set[str],
        annotations: Mapping[str, str],
    ) -> None:
        self._step = step
        self._imports = imports
        self._top = top
        self._coroutines = coroutines
        self._annotations = annotations
        returned = (name for port in step.fields for name in port_names(port))
        self._mentions = Counter(returned)
        for statement in step.body:
            for node in ast.walk(statement.node):
                if isinstance(node, ast.Name):
                    self._mentions[node.id] += 1
                elif isinstance(node, ast.Global | ast.Nonlocal):
                    self._mentions.update(node.names)

    def text(self) -> str:
        """Return the function, with the class of its outputs above it if there are several."""
        step = self._step
        arguments = [f"{name}: {self._annotations[port]}" for port, name in step.arguments.items()]
        head = f"@{self._decorator()}\n" + call(f"def {step.function}", arguments, f" -> {step.returned}:")
        parts = (
            [docstring(without_heading(step.component.description), INDENT)]
            if step.component.description
            else []
        )
        if step.home:
            parts.append(f"{self._imports.module('os')}.chdir({step.home})")
        body = self._body()
        returned = self._return()
        parts += [part for part in (body, returned) if part] or ([] if parts else ["pass"])
        inner = "\n".join(parts[:-1] + ([""] if returned and "\n" in body else []) + parts[-1:])
        function = f"{head}\n{indented(inner)}"
        return f"{self._outputs_class()}\n\n\n{function}" if len(step.fields) > 1 else function

    def _decorator(self) -> str:
        component, options = self._step.component, []
        resources, policy = component.resources, component.policy
        if component.name != self._step.function:
            options.append(f"name={quoted(component.name)}")
        if component.role:
            options.append(f"role={quoted(component.role)}")
        if resources.cpus != 1:
            options.append(f"cpus={resources.cpus:g}")
        if resources.memory is not None:
            options.append(f"memory={_size(resources.memory)}")
        options += [f"gpus={resources.gpus}"] if resources.gpus else []
        options += [f"processes={resources.processes}"] if resources.processes != 1 else []
        options += [f"retries={policy.retries}"] if policy.retries else []
        options += [f"timeout={policy.timeout:g}"] if policy.timeout is not None else []
        options += [] if policy.cache else ["cache=False"]
        name = self._imports.member("flowc", "component")
        return call(name, options) if options else name

    def _outputs_class(self) -> str:
        base = self._imports.member("typing", "NamedTuple")
        types = {
            field: self._step.types.get(port) or self._imports.member("typing", "Any")
            for port, field in self._step.fields.items()
        }
        fields = "\n".join(f"{INDENT}{field}: {type_}" for field, type_ in types.items())
        return f"class {self._step.returned}({base}):\n{fields}"

    def _return(self) -> str:
        early = self._step.leaves()
        values = [field if port in early else self._value(port) for port, field in self._step.fields.items()]
        if len(values) > 1:
            return call(f"return {self._step.returned}", values, width=INNER_WIDTH)
        return f"return {values[0]}" if values else ""

    def _value(self, port: str) -> str:
        """Return the expression for what leaves by a port."""
        if is_generator(port):
            return get_state(port, self._imports)
        missing, class_ = self._step.may_leave[port], self._step.no_value
        names = [
            f"locals().get({quoted(name)}, {class_}())" if name in missing else name
            for name in port_names(port)
        ]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    # -- the body

    def _body(self) -> str:
        self._refuse_what_scopes_change()
        # What is taken after a cell comes before what is set for the next one.
        waiting = sorted((*self._copies(), *self._entries()), key=lambda entry: entry[0])
        cells: dict[int, list[Statement]] = {}
        for statement in self._step.body:
            cells.setdefault(statement.cell.index, []).append(statement)
        blocks: list[str] = []
        for index, statements in sorted(cells.items()):
            while waiting and waiting[0][0] <= index:
                blocks.append(waiting.pop(0)[1])
            blocks.append("\n".join(self._statements(statements)))
        blocks += [line for _, line in waiting]
        declared = [
            f"{name}: {self._imports.member('typing', 'Any')}" for name in self._step.set_by_functions()
        ]
        return tidy("\n\n".join(filter(str.strip, ("\n".join(declared), *blocks))))

    def _entries(self) -> Iterator[tuple[float, str]]:
        """Yield what is to be done for inputs that don't just come in under their names, each with its cell."""
        # Generators come last, as in a notebook: whatever else is done may draw from them.
        for port, argument in sorted(self._step.arguments.items(), key=lambda pair: is_generator(pair[0])):
            lines = list(self._entry(port, argument))
            if lines:
                yield self._step.enters(port), "\n".join(lines)

    def _entry(self, port: str, argument: str) -> Iterator[str]:
        if is_generator(port):
            yield set_state(port, argument, self._imports)
            return
        wanted = port_names(port)
        if argument != port:
            binding = self._step.task.inputs[port]
            given = port_names(binding.output) if isinstance(binding, FromTask) else [port]
            yield f"{', '.join(name if name in wanted else '_' for name in given)} = {argument}"
        for name in sorted(self._step.may_lack.get(port, ())):
            yield f"if isinstance({name}, {self._step.no_value}):\n{INDENT}del {name}  # as in the notebook"

    def _copies(self) -> Iterator[tuple[float, str]]:
        """Yield the assignments that keep outputs as they are after a cell, each with the place for it."""
        for port, cell in self._step.leaves().items():
            copied = f"{self._imports.module('copy')}.deepcopy({self._value(port)})"
            yield cell + 0.5, f"{self._step.fields[port]} = {copied}"

    def _statements(self, statements: list[Statement]) -> Iterator[str]:
        index = statements[0].cell.index
        last = len(ast.parse(statements[0].cell.source).body) - 1
        for statement in statements:
            shown = index in self._step.cells and statement.position == last and is_shown(statement.node)
            text = self._statement(statement, shown)
            yield f"\n{text}\n" if hasattr(statement.node, "decorator_list") else text

    def _statement(self, statement: Statement, shown: bool) -> str:
        if is_nothing(statement.node):
            return statement.comments
        variables = self._step.variables()
        lines = Lines(statement, self._imports.module, variables | self._top, self._coroutines)
        edits = [*lines.edits(inside=variables), *self._unused(statement)]
        return printed(statement, edits) if shown else statement.text(edits)

    def _unused(self, statement: Statement) -> Iterator[Edit]:
        """Yield the names of a tuple that nothing in the function reads: a module says so by an underscore."""
        node = statement.node
        if not isinstance(node, ast.Assign):
            return
        for target in node.targets:
            for name in target.elts if isinstance(target, ast.Tuple) else ():
                if isinstance(name, ast.Name) and self._mentions[name.id] == 1 and name.id[0] != "_":
                    yield Edit(name, f"_{name.id}")

    def _refuse_what_scopes_change(self) -> None:
        """Refuse what a function's scope would give another meaning than a module's."""
        variables, bound = (
            self._step.variables(),
            {name for port in self._step.arguments for name in port_names(port)},
        )
        for statement in self._step.body:
            for name in sorted(statement.names.reads & variables - bound):
                if hasattr(builtins, name):
                    hint = "give the variable another name"
                    refuse(
                        f"'{name}' is Python's own here and a variable further down", statement.source, hint
                    )
            bound |= statement.names.binds
            for node in ast.walk(statement.node):
                if isinstance(node, ast.ClassDef):
                    _refuse_class_names(node, variables, statement)


def printed(statement: Statement, edits: list[Edit]) -> str:
    """Return a cell's last expression so that its value is shown, as a notebook does it."""
    return "\n".join(filter(None, (statement.comments, f"print({statement.code(edits)})" + statement.after)))


def _refuse_class_names(node: ast.ClassDef, variables: Set[str], statement: Statement) -> None:
    clash = sorted(read_around_class(node) & variables)
    if clash:
        message = f"class '{node.name}' has a '{clash[0]}' of its own and reads the step's"
        refuse(message, statement.source, "give one of them another name")


def _size(memory: int) -> str:
    for unit, name in ((_GIB, "GiB"), (_MIB, "MiB")):
        if memory % unit == 0:
            return f'"{memory // unit}{name}"'
    return str(memory)
