"""What is compared, and when in the kernel's way through the notebook.

A pipeline stores a value once, where it leaves its step; a kernel has one namespace that goes on changing. That value
stands for one version of the name: that which the last of its own statements to define or change it made. So:

- it is compared as it was *made*, when the kernel has run the cell of that statement. The step's later cells make no
  other version of it before it leaves;
- it is compared as it is *read*, just before each other step's first cell that reads it, if the kernel has run more
  cells in between. There it shows whether somebody changed it on the way whom analysis didn't see;
- the pipeline's results, which no step reads, are compared as they were made.

Values of parameters come from outside and are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flowc.ir import FromTask, Pipeline, Port, port_names
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
        if edge.name is None or not edge.name.isidentifier():
            continue  # an order without data, or a random generator's state, which has no name in the notebook
        made, read = edge.defined.cell, _first_read(pipeline, edge) or edge.read.cell
        yield Check(edge.producer, edge.port, edge.name, Moment(made, after=True))
        if any(made < cell < read for cell in ran):
            yield Check(edge.producer, edge.port, edge.name, Moment(read, after=False), edge.consumer)


def _first_read(pipeline: Pipeline, edge: Edge) -> int | None:
    task = pipeline.task(edge.consumer)
    given = FromTask(task=edge.producer, output=edge.port)
    port = next(
        port for port, binding in task.inputs.items() if binding == given and edge.name in port_names(port)
    )
    cells = {cell.index: cell for cell in pipeline.cells}
    return min(reading_cells(pipeline.component_of(task), port, edge.name or "", cells), default=None)


def _results(pipeline: Pipeline) -> Iterator[Check]:
    for output in pipeline.outputs:
        port = _port_of(pipeline, output.value.task, output.name)
        if port is not None and port.source is not None and port.source.cell is not None:
            moment = Moment(port.source.cell, after=True)
            yield Check(output.value.task, port.name, output.name, moment)


def _port_of(pipeline: Pipeline, step: str, name: str | None) -> Port | None:
    """Return the port that a name leaves its step by, alone or with others."""
    ports = pipeline.component_of(pipeline.task(step)).outputs
    return next((port for port in ports if name in port_names(port.name)), None)
