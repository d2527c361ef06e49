"""What is compared, and when in the kernel's way through the notebook.

A pipeline stores a value once, at its step's end; a kernel has one namespace that goes on changing. The step's value
stands for one version of the name: that which the last of its own statements to define or change it made. So:

- it is compared as it was *made*, when the kernel has run the cell of that statement. The step's later cells make no
  other version of it, or the compiler would have refused them;
- it is compared as it is *read*, just before each other step's first cell that reads it, if the kernel has run more
  cells in between. There it shows whether somebody changed it on the way whom analysis didn't see;
- the pipeline's results, which no step reads, are compared as they were made.

Values of parameters come from outside and are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flowc.ir import Pipeline, Port
from flowc.notebook.guard import reading_cells
from flowc.notebook.steps import Edge


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the kernel's way: before a cell runs, or after."""

    cell: int
    after: bool


@dataclass(frozen=True, slots=True)
class Check:
    """A comparison of what a step gave with what the kernel has at a moment. `reader` is who reads it there."""

    step: str
    port: str
    name: str
    moment: Moment
    reader: str | None = None


def checks_of(pipeline: Pipeline, edges: Iterable[Edge], ran: Sequence[int]) -> list[Check]:
    """Return all checks in the order of their moments; `ran` are the cells that the kernel runs."""
    found = dict.fromkeys([*_crossing(pipeline, edges, ran), *_results(pipeline)])
    return sorted(found, key=lambda check: (check.moment.cell, check.moment.after))


def _crossing(pipeline: Pipeline, edges: Iterable[Edge], ran: Sequence[int]) -> Iterator[Check]:
    for edge in edges:
        port = _port_of(pipeline, edge.producer, edge.name)
        if edge.name is None or not edge.name.isidentifier() or port is None:
            continue  # an order without data, or a random generator's state, which has no name in the notebook
        made, read = edge.defined.cell, _first_read(pipeline, edge.consumer, edge.name) or edge.read.cell
        yield Check(edge.producer, port.name, edge.name, Moment(made, after=True))
        if any(made < cell < read for cell in ran):
            yield Check(edge.producer, port.name, edge.name, Moment(read, after=False), edge.consumer)


def _first_read(pipeline: Pipeline, step: str, name: str) -> int | None:
    component = pipeline.component_of(pipeline.task(step))
    port = next(port.name for port in component.inputs if name in port.name.split("+"))
    cells = {cell.index: cell for cell in pipeline.cells}
    return min(reading_cells(component, port, name, cells), default=None)


def _results(pipeline: Pipeline) -> Iterator[Check]:
    for output in pipeline.outputs:
        port = _port_of(pipeline, output.value.task, output.name)
        if port is not None and port.source is not None and port.source.cell is not None:
            moment = Moment(port.source.cell, after=True)
            yield Check(output.value.task, port.name, output.name, moment)


def _port_of(pipeline: Pipeline, step: str, name: str | None) -> Port | None:
    """Return the port that a name leaves its step by, alone or with others."""
    ports = pipeline.component_of(pipeline.task(step)).outputs
    return next((port for port in ports if name in port.name.split("+")), None)
