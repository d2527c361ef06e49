"""The rule of `flowc check --strict`: every port of a function says its type."""

from __future__ import annotations

from collections.abc import Iterator

from flowc.diagnostics import Diagnostic
from flowc.ir import Pipeline, PythonCode
from flowc.types.model import AnyType


def check_untyped(pipeline: Pipeline) -> Iterator[Diagnostic]:
    """Return a note for each input or output of a Python component that anything may flow through."""
    for component in pipeline.components.values():
        if not isinstance(component.code, PythonCode):
            continue  # a notebook's names have no annotations
        for what, ports in (("input", component.inputs), ("output", component.outputs)):
            for port in ports:
                if isinstance(port.type, AnyType):
                    yield Diagnostic(
                        code="FC310",
                        severity="note",
                        message=f"{what} '{port.name}' of component '{component.name}' has no type",
                        source=port.source or component.source,
                        hint="annotate it, and what flows through it is checked before anything runs",
                    )
