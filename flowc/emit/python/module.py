"""The whole module: imports, shared definitions, a function for each step, and the pipeline."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flowc.diagnostics import Source
from flowc.emit.python.annotations import Annotations
from flowc.emit.python.calls import Calls, identifier
from flowc.emit.python.evidence import evidence_in
from flowc.emit.python.imports import Imports
from flowc.emit.python.layout import is_definition, lay_out
from flowc.emit.python.lines import LINE_FUNCTIONS, Lines, is_nothing
from flowc.emit.python.missing import (
    is_generator,
    missing_inputs,
    state_name,
    without_idle_generators,
    without_value,
)
from flowc.emit.python.parameters import ParameterText
from flowc.emit.python.places import may_use_files
from flowc.emit.python.statements import Statement
from flowc.emit.python.steps import Step, StepText, kept_outputs
from flowc.emit.python.text import docstring, quoted, tidy
from flowc.errors import UsageError
from flowc.ir import Binding, Component, FromTask, NotebookCode, Pipeline, Port, Task, port_names
from flowc.types.model import ScalarType

_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Home:
    """Where a notebook lies: its folder as seen from the module's, and the modules beside it that it may import."""

    folder: str = "."
    modules: frozenset[str] = frozenset()


def to_python(pipeline: Pipeline, home: Home | None = None) -> str:
    """Return a checked notebook's pipeline as a Python module of components that gives the same results.

    Raises UsageError where the pipeline is not a notebook's, CompileError (FC601) for what has no form in a module
    that certainly means the same.
    """
    if not all(isinstance(each.code, NotebookCode) for each in pipeline.components.values()):
        raise UsageError(
            f"pipeline '{pipeline.name}' is Python already", hint="'--to python' takes a notebook"
        )
    return _Module(pipeline, home or Home()).written()


class _Module:
    def __init__(self, pipeline: Pipeline, home: Home) -> None:
        self._pipeline = pipeline = without_idle_generators(pipeline)
        self._home = home
        self._layout = lay_out(pipeline)
        self._missing = without_value(pipeline, self._layout.bodies)
        self._names = self._layout.names() | _port_names(pipeline)
        self._imports = Imports(self._layout.imports, self._globals(), self._names)
        for name in ("component", "pipeline"):
            self._imports.member("flowc", name)
        self._here = self._imports.free("HERE")
        annotations = Annotations(self._imports, None if home.folder == "." else self._here)
        self._parameters = ParameterText(pipeline, annotations, self._layout.definitions)
        self._coroutines = {
            each.node.name
            for body in self._layout.running.values()
            for each in body
            if isinstance(each.node, ast.AsyncFunctionDef)
        }
        self._evidence = evidence_in(self._layout.imports, self._set_by_steps())
        self._types: dict[tuple[str, str], str] = {}
        self._no_value = self._imports.free("NoValue") if any(self._missing.values()) else ""

    def written(self) -> str:
        steps = list(self._steps())
        functions = [step.function for step in steps]
        definitions = "\n\n\n".join(filter(None, (self._definitions(), self._no_value_class())))
        texts = [self._step_text(step) for step in steps]
        taken = {*_BUILTINS, *functions, self._here, *self._globals(), *self._imports.names()}
        name = identifier(self._pipeline.name, taken, "_pipeline")
        texts.append(
            Calls(self._pipeline, steps, functions).text(name, self._imports, self._parameters.signature())
        )
        blocks = "\n\n\n".join(filter(None, (definitions, *texts)))
        head = "\n\n".join(filter(None, (self._docstring(), self._import_block(steps))))
        gap = "\n\n\n" if re.match(r"(@|#|def |async def |class )", blocks) else "\n\n"
        return f"{head}{gap}{blocks}\n"

    def _docstring(self) -> str:
        source = self._pipeline.source
        file = source.file.rpartition("/")[2] if source else self._pipeline.name
        return docstring(f"The pipeline of {file}, written by 'flowc compile --to python'.")

    def _import_block(self, steps: list[Step]) -> str:
        away = self._home.folder != "."
        local = away and self._imports.are_local(self._home.modules)
        anchor = ""
        if away or any(step.home for step in steps):
            path = self._imports.member("pathlib", "Path")
            folder = (
                f"({path}(__file__).parent / {quoted(self._home.folder)}).resolve()"
                if away
                else f"{path}(__file__).resolve().parent"
            )
            anchor = f"# The notebook's folder: its steps run in it, and paths start from it.\n{self._here} = {folder}"
        if local:
            system = self._imports.module("sys")
            before = f"{anchor}\n{system}.path.insert(0, str({self._here}))"
            return self._imports.text(self._home.modules, before)
        return "\n\n".join(filter(None, (self._imports.text(self._home.modules), anchor)))

    def _globals(self) -> set[str]:
        """Return what a function at the top can't be called: names that code of the notebook may find there."""
        reads: set[str] = set()
        for name, body in self._layout.bodies.items():
            component = self._pipeline.components[name]
            own = {each for port in component.inputs for each in port_names(port.name)}
            own |= {each for statement in body for each in statement.names.binds}
            reads |= {each for statement in body for each in statement.names.reads} - own
        return self._layout.bound_at_top() | reads

    def _set_by_steps(self) -> set[str]:
        bodies = self._layout.bodies.values()
        return {name for body in bodies for each in body for name in each.names.binds}

    def _note_types(self, task: Task, fields: Iterable[str], body: tuple[Statement, ...]) -> None:
        """Note of what types outputs certainly are."""
        code = self._pipeline.component_of(task).code
        assert isinstance(code, NotebookCode)
        for port in fields:
            if port not in code.leaves and not self._missing[task.name, port]:
                annotation = self._evidence.of(port, body)
                if annotation is not None:
                    self._types[task.name, port] = annotation

    # -- shared code

    def _definitions(self) -> str:
        text, before = "", None
        for statement in self._layout.definitions:
            if is_nothing(statement.node):
                continue
            lines = Lines(statement, self._imports.module, self._layout.bound_at_top(), self._coroutines)
            code = tidy(statement.text(lines.edits()))
            text += _gap(before, statement) + code if before else code
            before = statement
        return text

    def _no_value_class(self) -> str:
        if not self._no_value:
            return ""
        text = "Stands for a name that has no value at the end of a step."
        return f"class {self._no_value}:\n    {docstring(text)}"

    # -- steps

    def _steps(self) -> Iterator[Step]:
        # In the pipeline's function, parameters and results that are a step's only one have names of their own.
        taken = {*_BUILTINS, self._here, *self._globals(), *(each.name for each in self._pipeline.parameters)}
        kept = {
            name: kept_outputs(component, self._layout.bodies[name], self._layout.top)
            for name, component in self._pipeline.components.items()
        }
        lone = {ports[0].name for ports in kept.values() if len(ports) == 1}
        for task in self._pipeline.tasks:
            component = self._pipeline.component_of(task)
            function = self._function(component, taken | lone | self._imports.names())
            taken.add(function)
            self._imports.take(function)
            body = self._layout.bodies[component.name]
            fields = self._fields(component, _as_made(kept[component.name]))
            self._note_types(task, fields, body)
            yield Step(
                task=task,
                component=component,
                function=function,
                body=body,
                arguments=self._arguments(task, component, body),
                fields=fields,
                returned=self._returned(task.name, function, fields),
                types={port: type_ for (name, port), type_ in self._types.items() if name == task.name},
                home=self._here if self._needs_home(component) else None,
                may_lack=missing_inputs(task, self._missing),
                may_leave={port.name: self._missing[task.name, port.name] for port in component.outputs},
                no_value=self._no_value,
            )

    def _function(self, component: Component, taken: set[str]) -> str:
        """Return what a step's function is called: as the step, or by what it does where that means something else."""
        name = identifier(component.name, (), "_")
        if name not in taken:
            return name
        does = component.role or "make"
        return identifier(name if name == does else f"{does}_{name}", taken, "_step")

    def _returned(self, task: str, function: str, fields: dict[str, str]) -> str:
        if len(fields) < 2:
            known = next((self._types.get((task, port)) for port in fields), "None")
            return known or self._imports.member("typing", "Any")
        name = "".join(part[:1].upper() + part[1:] for part in function.split("_"))
        return self._imports.free(f"{name}Outputs")

    def _needs_home(self, component: Component) -> bool:
        paths = {port.name for port in component.inputs if port.type == ScalarType(name="path")}
        return may_use_files((each.node for each in self._layout.running[component.name]), paths)

    def _fields(self, component: Component, ports: Iterable[Port]) -> dict[str, str]:
        assert isinstance(component.code, NotebookCode)
        fields: dict[str, str] = {}
        for port in ports:
            name, taken = "_and_".join(port_names(port.name)).lstrip("_"), {*fields.values()}
            if is_generator(port.name):
                name = state_name(port.name)
            if port.name in component.code.leaves:
                # The function has it in a variable of this name until it returns.
                name, taken = f"{name}_after_cell_{component.code.leaves[port.name]}", taken | self._names
            fields[port.name] = identifier(name, taken, "_")
        return fields

    def _arguments(self, task: Task, component: Component, body: tuple[Statement, ...]) -> dict[str, str]:
        arguments: dict[str, str] = {}
        for port in _as_read(component, body):
            arguments[port.name] = self._argument(task, component, port, body, {*arguments.values()})
        return arguments

    def _argument(
        self, task: Task, component: Component, port: Port, body: tuple[Statement, ...], taken: set[str]
    ) -> str:
        """Return what the function calls an input: by its name, unless that means something before it comes in."""
        if is_generator(port.name):
            return identifier(state_name(port.name), self._names | taken, "_")
        binding = task.inputs[port.name]
        given = binding.output if isinstance(binding, FromTask) else port.name
        code = component.code
        assert isinstance(code, NotebookCode)
        enters = code.enters.get(port.name, code.cells[0])
        before: set[str] = set()
        for each in body:
            if each.cell.index < enters:
                before |= each.names.binds | (set() if is_definition(each.node) else each.names.reads)
        names = port_names(given)
        if names == [port.name] and port.name not in before:
            return port.name
        name = "_and_".join(names) if len(names) > 1 else f"{names[0]}_given"
        return identifier(name, self._names | taken, "_")

    def _known(self, binding: Binding) -> str | None:
        return self._types.get((binding.task, binding.output)) if isinstance(binding, FromTask) else None

    def _step_text(self, step: Step) -> str:
        annotations = {
            port.name: self._known(step.task.inputs[port.name])
            or self._parameters.annotation(step.task.inputs[port.name], port.type)
            for port in step.component.inputs
        }
        top = self._layout.bound_at_top()
        return StepText(step, self._imports, top, self._coroutines, annotations).text()


def _as_made(ports: Iterable[Port]) -> list[Port]:
    """Return outputs in the order in which the step's lines make them."""
    return sorted(ports, key=lambda port: _made_at(port.source))


def _made_at(source: Source | None) -> tuple[int, int, int]:
    if source is None:
        return 0, 0, 0
    return source.cell or 0, source.line or 0, source.column or 0


def _as_read(component: Component, body: Iterable[Statement]) -> list[Port]:
    """Return inputs in the order in which the step reads them first, those that only shared code reads at the end."""
    order: list[str] = []
    for statement in body:
        nodes = [node for node in ast.walk(statement.node) if isinstance(node, ast.Name)]
        order += [node.id for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset))]
    position = {name: number for number, name in reversed(list(enumerate(order)))}

    def first_read(port: Port) -> int:
        return min(position.get(name, len(order)) for name in port_names(port.name))

    return sorted(component.inputs, key=first_read)


def _gap(before: Statement | None, statement: Statement) -> str:
    definitions = (each for each in (before, statement) if each and hasattr(each.node, "decorator_list"))
    if any(definitions):
        return "\n\n\n"
    return "\n\n" if statement.comments.strip() else "\n"


def _port_names(pipeline: Pipeline) -> set[str]:
    ports = (
        port for component in pipeline.components.values() for port in (*component.inputs, *component.outputs)
    )
    names = {name for port in ports for name in port_names(port.name)}
    return names | {each.name for each in pipeline.parameters} | set(LINE_FUNCTIONS)
