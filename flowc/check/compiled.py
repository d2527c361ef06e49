"""Places in a compiled pipeline's own file: what is wrong with IR in JSON is shown there, and where it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from flowc.check.json_places import keys_of
from flowc.diagnostics import Diagnostic, Related, Source
from flowc.errors import NotFoundError
from flowc.ir import Component, Parameter, Pipeline, Port, PythonCode, Task
from flowc.python.load import load_code

_Placed = TypeVar("_Placed", Component, Parameter, Port, Task)


@dataclass(frozen=True, slots=True)
class InFile:
    """A pipeline whose parts have their JSON paths for places; `written` are the places that they had."""

    pipeline: Pipeline
    written: dict[Source, Source]

    def with_origin(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a diagnostic with the place in the code that the part was compiled from."""
        place = diagnostic.source
        if place is None or place.path is None:
            return diagnostic
        keys, top = keys_of(place.path), Source(file=place.file, path="$")
        around = (top.within(*keys[:length]) for length in range(len(keys), 0, -1))
        origin = next((self.written[part] for part in around if part in self.written), None)
        if origin is None:
            return diagnostic
        related = (*diagnostic.related, Related(message="compiled from here", source=origin))
        return diagnostic.model_copy(update={"related": related})


def unfound_code(pipeline: Pipeline) -> Iterator[Diagnostic]:
    """Find components whose functions are not in the modules that they name, which have been imported."""
    for name, component in pipeline.components.items():
        if not isinstance(component.code, PythonCode):
            continue
        try:
            load_code(component.code)
        except NotFoundError as error:
            place = component.source.within("code") if component.source else None
            message = f"component '{name}': {error.message}"
            yield Diagnostic(code="FC111", message=message, source=place, hint=error.hint)


def in_file(pipeline: Pipeline, file: str) -> InFile:
    """Return the pipeline with places in its JSON file."""
    top = Source(file=file, path="$")
    written: dict[Source, Source] = {}

    def placed(thing: _Placed, at: Source) -> _Placed:
        if thing.source is not None:
            written[at] = thing.source
        return thing.model_copy(update={"source": at})

    def all_placed(things: Iterable[_Placed], key: str, at: Source = top) -> tuple[_Placed, ...]:
        return tuple(placed(thing, at.within(key, number)) for number, thing in enumerate(things))

    components = {}
    for name, component in pipeline.components.items():
        at = top.within("components", name)
        ports = {key: all_placed(getattr(component, key), key, at) for key in ("inputs", "outputs")}
        components[name] = placed(component.model_copy(update=ports), at)
    moved = {
        "tasks": all_placed(pipeline.tasks, "tasks"),
        "parameters": all_placed(pipeline.parameters, "parameters"),
        "components": components,
        "source": top,
    }
    return InFile(pipeline.model_copy(update=moved), written)
