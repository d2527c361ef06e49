"""A check at run time of what analysis could not prove: that a step leaves as it was what others read after it.

A step has copies of its inputs. Where it changes one in place and a later step reads the same version, that step
would not see the change, which one kernel would show it. Only such inputs are looked at: after the step's last cell
before the reader's, the input is loaded once more and compared. So is a copy that left a step before its end with
what the step goes on with, where somebody reads the copy later still.
"""

from __future__ import annotations

import ast
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flowc.errors import FlowcError
from flowc.ir import (
    Binding,
    Cell,
    Component,
    FromParameter,
    FromTask,
    NotebookCode,
    Pipeline,
    Task,
    port_names,
)
from flowc.notebook.compare import NotComparableError, first_difference
from flowc.notebook.crossing import Bundle
from flowc.runner import Guard

_IMMUTABLE = (bool, int, float, complex, str, bytes, type(None))


class ChangedInputError(FlowcError):
    """A step changed in place what a later step reads as it was before."""

    exit_code = 1


class Watchman:
    """Holds a running step to its guards."""

    def __init__(self, step: str, guards: Sequence[Guard], inputs: Mapping[str, Any]) -> None:
        self._step = step
        self._guards = guards
        self._inputs = inputs
        self._copies: dict[str, Callable[[], Any]] = {}
        self._held: dict[tuple[str, str, bool], Any] = {}
        self._settled: dict[tuple[str, str], bytes] = {}

    def note(self, port: str, name: str, value: Any) -> None:
        """Note the object that came in, where it is guarded and can be changed."""
        self._note((port, name, False), value)

    def settle(self, port: str) -> None:
        """Take what came in by a port as it is now: the parameters cell, which all steps repeat, may compute on with
        what it assigned."""
        for (noted, name, left), value in self._held.items():
            if noted == port and not left:
                self._settled[noted, name] = pickle.dumps(value)

    def note_left(self, port: str, name: str, value: Any, copy: Callable[[], Any]) -> None:
        """Note the object of which a copy left by a port, where it is guarded; `copy` makes it again."""
        self._copies[port] = copy
        self._note((port, name, True), value)

    def _note(self, key: tuple[str, str, bool], value: Any) -> None:
        if type(value) not in _IMMUTABLE and any(_key(guard) == key for guard in self._guards):
            self._held[key] = value

    def check(self, cell: int) -> None:
        """Compare with what came or left what is to be unchanged after this cell; ChangedInputError if it is not."""
        for guard in self._guards:
            if guard.cell == cell and _key(guard) in self._held:
                self._hold(guard)

    def _hold(self, guard: Guard) -> None:
        before = self._before(guard)
        try:
            found = first_difference(before, self._held[_key(guard)])
        except NotComparableError:
            return  # nothing is there to see a change by
        if found is None:
            return
        readers = ", ".join(f"'{reader}'" for reader in guard.readers)
        raise ChangedInputError(
            f"step '{self._step}' changed '{guard.name}' in place, by cell {guard.cell}, and {readers} would read it"
            f" as it was before: {guard.name}{found.place} was {found.one} and is {found.other}",
            hint=f"tag the cell that changes it 'defines:{guard.name}', or work on a copy of it",
        )

    def _before(self, guard: Guard) -> Any:
        if (settled := self._settled.get((guard.port, guard.name))) is not None and not guard.left:
            return pickle.loads(settled)  # noqa: S301  # our own bytes
        before = self._copies[guard.port]() if guard.left else self._inputs[guard.port]
        return before.values[guard.name] if isinstance(before, Bundle) else before


def _key(guard: Guard) -> tuple[str, str, bool]:
    return guard.port, guard.name, guard.left


def guards_of(pipeline: Pipeline) -> dict[str, tuple[Guard, ...]]:
    """Return for each task of a notebook which inputs it must leave as they are, and until when.

    What a task passes on it is known to change, and readers take it from there.
    """
    readers: dict[tuple[Binding, str], dict[str, list[int]]] = defaultdict(dict)
    cells = {cell.index: cell for cell in pipeline.cells}
    entering = {task.name: list(_entering(task)) for task in pipeline.tasks}
    for task, names in entering.items():
        for binding, port, name in names:
            readers[binding, name][task] = reading_cells(pipeline.components[task], port, name, cells)
    guards = {}
    for task, names in entering.items():
        component = pipeline.components[task]
        passed_on = {name for port in component.outputs for name in port_names(port.name)}
        guards[task] = tuple(
            guard
            for binding, port, name in names
            if name not in passed_on
            for guard in _guards(_code(component).cells, port, name, _others(readers[binding, name], task))
        ) + tuple(_left_guards(task, component, readers))
    return guards


def _left_guards(
    task: str, component: Component, readers: Mapping[tuple[Binding, str], Mapping[str, list[int]]]
) -> Iterator[Guard]:
    """Yield the guards on what goes on in a step after a copy of it has left."""
    code = _code(component)
    for port, after in code.leaves.items():
        for name in port_names(port):
            reading = readers[FromTask(task=task, output=port), name]
            found = _guards(code.cells, port, name, reading)
            yield from (replace(guard, left=True) for guard in found if guard.cell > after)


def _others(readers: Mapping[str, list[int]], task: str) -> dict[str, list[int]]:
    return {name: cells for name, cells in readers.items() if name != task}


def _entering(task: Task) -> Iterator[tuple[Binding, str, str]]:
    for port, binding in task.inputs.items():
        if isinstance(binding, FromTask | FromParameter):
            yield from ((binding, port, name) for name in port_names(port))


def _code(component: Component) -> NotebookCode:
    assert isinstance(component.code, NotebookCode)
    return component.code


def reading_cells(component: Component, port: str, name: str, cells: Mapping[int, Cell]) -> list[int]:
    """Return the step's own cells that read a name as it came: where analysis saw it first, and by mention."""
    code = _code(component)
    came = code.enters.get(port, code.cells[0])
    # From where another version of it comes in, that is what is read.
    entries = [
        code.enters.get(each.name, code.cells[0])
        for each in component.inputs
        if name in port_names(each.name)
    ]
    until = min((cell for cell in entries if cell > came), default=None)
    own = [cell for cell in code.cells if until is None or cell < until]
    source = next(each.source for each in component.inputs if each.name == port)
    found = {index for index in own if source is not None and index == source.cell}
    for index in own:
        names = [node for node in ast.walk(ast.parse(cells[index].source)) if isinstance(node, ast.Name)]
        mentions = [node.ctx for node in names if node.id == name]
        if any(not isinstance(context, ast.Load) for context in mentions):
            break  # from here on it may be the step's own
        if mentions:
            found.add(index)
    return sorted(found)


def _guards(own: tuple[int, ...], port: str, name: str, readers: Mapping[str, list[int]]) -> Iterator[Guard]:
    """Yield a guard for each of the step's cells after which, before its next one, somebody else reads."""
    for cell, following in zip(own, (*own[1:], None), strict=True):
        here = tuple(
            reader
            for reader, cells in readers.items()
            if any(cell < read and (following is None or read < following) for read in cells)
        )
        if here:
            yield Guard(cell, port, name, here)
