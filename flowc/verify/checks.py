"""What is compared, and when in the kernel's way through the notebook.

A pipeline stores a value once, where it leaves its step; a kernel has one namespace that goes on changing. That value
stands for one version of the name: that which the last of its own statements to define or change it made. So:

- it is compared as it was *made*, when the kernel has run the cell of that statement. The step's later cells make no
  other version of it before it leaves;
- it is compared as it is *read*, just before each other step's first cell that reads it, if the kernel has run more
  cells in between. There it shows whether somebody changed it on the way whom analysis didn't see;
- what a name holds *at the end* is compared with what the step gave that made its last version;
- a parameter is compared as it was *given*, when the kernel has run its cell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from flowc.ir import Cell, FromTask, Pipeline, port_names
from flowc.notebook.guard import reading_cells
from flowc.notebook.steps import Edge
from flowc.types.secret import holds_secret

Occasion = Literal["given", "made", "read", "end"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the kernel's way: before a cell runs, or after."""

    cell: int
    after: bool


@dataclass(frozen=True, slots=True)
class Check:
    """A comparison of what a step gave with what the kernel has at a moment; of a parameter, where `step` is None.

    `reader` is the step that reads it then, `line` where in its cell the value was made.
    """

    step: str | None
    port: str
    name: str
    moment: Moment
    occasion: Occasion = "made"
    reader: str | None = None
    line: int = field(default=0, compare=False)


def checks_of(pipeline: Pipeline, edges: Iterable[Edge], ran: Sequence[int]) -> list[Check]:
    """Return all checks in the order of their moments; `ran` are the cells that the kernel runs."""
    found = dict.fromkeys([*_given(pipeline), *_crossing(pipeline, edges, ran), *_final(pipeline, ran)])
    return sorted(found, key=_order)


def _order(check: Check) -> tuple[int, bool, bool, int]:
    return check.moment.cell, check.moment.after, check.occasion == "end", check.line


def _given(pipeline: Pipeline) -> Iterator[Check]:
    cells = {cell.index: cell for cell in pipeline.cells}
    for parameter in pipeline.parameters:
        place = parameter.source
        if holds_secret(parameter.type):
            continue
        # What the cell sets again is another version there, which comes out of a step.
        if place is not None and place.cell in cells and _times_set(cells[place.cell], parameter.name) == 1:
            moment = Moment(place.cell, after=True)
            yield Check(None, parameter.name, parameter.name, moment, "given", line=place.line or 0)


def _times_set(cell: Cell, name: str) -> int:
    nodes = (node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name))
    return sum(node.id == name and isinstance(node.ctx, ast.Store) for node in nodes)


def _crossing(pipeline: Pipeline, edges: Iterable[Edge], ran: Sequence[int]) -> Iterator[Check]:
    for edge in edges:
        if edge.name is None or not edge.name.isidentifier():
            continue  # an order without data, or a random generator's state, which has no name in the notebook
        made, read = edge.defined.cell, _first_read(pipeline, edge) or edge.read.cell
        line = edge.defined.line or 0
        yield Check(edge.producer, edge.port, edge.name, Moment(made, after=True), line=line)
        if any(made < cell < read for cell in ran):
            moment = Moment(read, after=False)
            yield Check(edge.producer, edge.port, edge.name, moment, "read", edge.consumer, line)


def _first_read(pipeline: Pipeline, edge: Edge) -> int | None:
    task = pipeline.task(edge.consumer)
    given = FromTask(task=edge.producer, output=edge.port)
    port = next(
        port for port, binding in task.inputs.items() if binding == given and edge.name in port_names(port)
    )
    cells = {cell.index: cell for cell in pipeline.cells}
    return min(reading_cells(pipeline.component_of(task), port, edge.name or "", cells), default=None)


def _final(pipeline: Pipeline, ran: Sequence[int]) -> Iterator[Check]:
    for output in pipeline.outputs:
        step = output.value.task
        ports = pipeline.component_of(pipeline.task(step)).outputs
        port = next(port for port in ports if port.name == output.value.output)
        if port.source is None or port.source.cell is None:
            continue
        made, end, line = port.source.cell, max(ran), port.source.line or 0
        if not port.required:  # else it crosses, and an edge tells when it was made
            yield Check(step, port.name, output.name, Moment(made, after=True), line=line)
        if made < end:
            yield Check(step, port.name, output.name, Moment(end, after=True), "end", line=line)
