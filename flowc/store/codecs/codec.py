"""What a codec is. Authors of others implement `Codec` and name it under the entry point `flowc.codecs`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from flowc.errors import CodecError, FlowcError, NotFoundError
from flowc.store.digest import DOCUMENT
from flowc.types.model import ArtifactType, Type
from flowc.types.names import ref_of, resolve_ref


class Draft:
    """Where a codec puts a value: into `document`, whole, or as files into `folder`.

    `type` is what the value was declared to be. The folder is made when it is first asked for, so that a small
    value never touches the disk. `code` takes in the classes and functions that the content refers to by name.
    """

    def __init__(self, type_: Type, make_folder: Callable[[], Path]) -> None:
        self.type = type_
        self.document: bytes | None = None
        self.code: set[Any] = set()
        self._make_folder = make_folder

    @cached_property
    def folder(self) -> Path:
        return self._make_folder()


@dataclass(frozen=True, slots=True)
class Content:
    """What a codec reads a value from; its digest has been verified. `type` is what the reader declared."""

    type: Type
    python_type: str
    folder: Path
    inline: bytes | None = None

    @property
    def document(self) -> bytes:
        return self.inline if self.inline is not None else (self.folder / DOCUMENT).read_bytes()


class Codec(Protocol):
    """A way to store the values of one family of types. Its `name` is recorded with each value."""

    @property
    def name(self) -> str: ...

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        """Store the value and return a few facts for display, as JSON data.

        Return None where the value isn't of this codec's family, or would not come back exactly: the next codec
        is tried. Every value is offered, so look at its class without importing the library (`is_a`).
        """
        ...

    def read(self, content: Content) -> Any:
        """Return the value."""
        ...


def is_a(value: Any, module: str, name: str) -> bool:
    """Say whether a value is of a class, without importing the module: a value of it is here only if it is, too."""
    cls = getattr(sys.modules.get(module), name, None)
    return isinstance(cls, type) and isinstance(value, cls)


def importable(cls: type) -> bool:
    """Say whether another process can find the class by its name."""
    try:
        return resolve_ref(ref_of(cls)) is cls
    except (FlowcError, ImportError):
        return False


def class_of(content: Content) -> Any:
    """Return the class that the value was of or, where that can't be imported, the one that its reader declared."""
    try:
        return resolve_ref(content.python_type)
    except NotFoundError as error:
        if isinstance(content.type, ArtifactType) and content.type.ref != content.python_type:
            return resolve_ref(content.type.ref)
        raise CodecError(
            f"the class {content.python_type} of a stored value can't be imported: {error}", hint=error.hint
        ) from error
