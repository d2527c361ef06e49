"""What flows along a pipeline's edges, looked up once for the whole pipeline."""

from __future__ import annotations

from collections.abc import Callable

from flowc.ir import FromTask, Pipeline
from flowc.types.model import Type

TypeOf = Callable[[FromTask], Type]


def output_types(pipeline: Pipeline) -> TypeOf:
    """Return a look-up of the type of a task's output, in a checked pipeline."""
    types = {
        (task.name, port.name): port.type
        for task in pipeline.tasks
        for port in pipeline.component_of(task).outputs
    }
    return lambda origin: types[origin.task, origin.output]
