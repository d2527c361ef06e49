"""Pipelines of any size whose tasks do nothing: what is left is our own cost."""

from __future__ import annotations

from flowc import component, pipeline
from flowc.ir import Pipeline


@component
def start() -> int:
    return 0


@component
def step(number: int) -> int:
    return number + 1


def chain(tasks: int) -> Pipeline:
    """Return a pipeline in which each task waits for the one before."""

    @pipeline(name=f"chain-{tasks}")
    def made() -> object:
        last = start()
        for _ in range(tasks - 1):
            last = step(last)
        return last

    return made.compile()


def fan(tasks: int) -> Pipeline:
    """Return a pipeline in which all tasks but the first wait for the first alone."""

    @pipeline(name=f"fan-{tasks}")
    def made() -> None:
        first = start()
        for _ in range(tasks - 1):
            step(first)

    return made.compile()
