"""Names that may have no value at a step's end, and random generators, which have no name: both go between a
notebook's steps all the same.

A name without a value is an instance of a class of the module, so that the step that gets it can have none either:
reading it there fails as it does in the notebook.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flowc.emit.python.imports import Imports
from flowc.emit.python.names import certainly_bound
from flowc.emit.python.statements import Statement
from flowc.ir import Component, FromTask, NotebookCode, Pipeline, Task, port_names

_GENERATOR = "<generator "
NoValues = Mapping[tuple[str, str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Generator:
    """How a library's global generator is read and set, as format texts."""

    module: str
    get: str
    set: str


_GENERATORS = (
    _Generator("random", "{module}.getstate()", "{module}.setstate({state})"),
    _Generator("numpy", "{module}.random.get_state()", "{module}.random.set_state({state})"),
    _Generator(
        "torch", "{module}.get_rng_state().numpy()", "{module}.set_rng_state({module}.from_numpy({state}))"
    ),
)


def is_generator(port: str) -> bool:
    """Say whether a port carries the state of a random generator."""
    return port.startswith(_GENERATOR)


def state_name(port: str) -> str:
    """Return what to call the state that a port carries."""
    return f"{_generator(port).module}_state"


def get_state(port: str, imports: Imports) -> str:
    """Return the expression for a generator's state."""
    generator = _generator(port)
    return generator.get.format(module=imports.module(generator.module))


def set_state(port: str, state: str, imports: Imports) -> str:
    """Return the statement that sets a generator's state."""
    generator = _generator(port)
    return generator.set.format(module=imports.module(generator.module), state=state)


def _generator(port: str) -> _Generator:
    name = port_names(port)[0].removeprefix(_GENERATOR).rstrip(">")
    return next(each for each in _GENERATORS if each.module == name)


def without_idle_generators(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline that carries no generator that its notebook can't draw from: NumPy's needs more than Python's
    own modules."""
    roots = {name for cell in pipeline.cells for name in _imported(ast.parse(cell.source))}
    if roots - sys.stdlib_module_names:
        return pipeline
    components = {
        name: component.model_copy(
            update={
                "inputs": tuple(port for port in component.inputs if not _is_idle(port.name)),
                "outputs": tuple(port for port in component.outputs if not _is_idle(port.name)),
            }
        )
        for name, component in pipeline.components.items()
    }
    tasks = [
        task.model_copy(
            update={"inputs": {port: given for port, given in task.inputs.items() if not _is_idle(port)}}
        )
        for task in pipeline.tasks
    ]
    return pipeline.model_copy(update={"components": components, "tasks": tuple(tasks)})


def _is_idle(port: str) -> bool:
    return is_generator(port) and _generator(port).module == "numpy"


def _imported(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or ".").partition(".")[0]


def without_value(pipeline: Pipeline, bodies: Mapping[str, Sequence[Statement]]) -> NoValues:
    """Return for each task and output the names that may have no value when they leave it."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    waiting = list(pipeline.tasks)
    done: set[str] = set()
    while waiting:
        task = next(each for each in waiting if done.issuperset(each.upstream()))
        waiting.remove(task)
        done.add(task.name)
        component = pipeline.component_of(task)
        for port in component.outputs:
            bound = _bound(component, bodies[component.name], missing_inputs(task, found), port.name)
            missing = set() if is_generator(port.name) else set(port_names(port.name)) - bound
            found[task.name, port.name] = frozenset(missing)
    return found


def missing_inputs(task: Task, missing: NoValues) -> dict[str, frozenset[str]]:
    """Return by port the names that may have no value when they come into a task."""
    return {
        port: missing[binding.task, binding.output].intersection(port_names(port))
        for port, binding in task.inputs.items()
        if isinstance(binding, FromTask)
    }


def _bound(
    component: Component, body: Iterable[Statement], lacking: Mapping[str, frozenset[str]], output: str
) -> set[str]:
    """Return the names that have a value for certain when an output leaves."""
    code = component.code
    assert isinstance(code, NotebookCode)
    end = code.leaves.get(output, max((*code.cells, *code.shared)))
    waiting = sorted(
        ((code.enters.get(port.name, code.cells[0]), port.name) for port in component.inputs), reverse=True
    )
    bound: set[str] = set()
    for statement in body:
        if statement.cell.index > end:
            break
        while waiting and waiting[-1][0] <= statement.cell.index:
            bound = _entered(waiting.pop()[1], bound, lacking)
        bound = certainly_bound([statement.node], bound)
    while waiting and waiting[-1][0] <= end:  # before cells that have no statement here
        bound = _entered(waiting.pop()[1], bound, lacking)
    return bound


def _entered(port: str, bound: set[str], lacking: Mapping[str, frozenset[str]]) -> set[str]:
    return (bound | set(port_names(port))) - lacking.get(port, frozenset())
