"""The annotations of classes, which may name what is not defined yet, or ever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_origin

import typing_extensions
from pydantic import BaseModel, PydanticUndefinedAnnotation

from flowc.errors import UsageError

_REQUIRED: tuple[tuple[Any, bool | None], ...] = (
    (typing_extensions.Required, True),
    (typing_extensions.NotRequired, False),
    (typing_extensions.ReadOnly, None),
)


def undefined(cls: Any, name: str | None) -> UsageError:
    """Return the error for a class with an annotation that names nothing."""
    hint = "import or define it at the top of the module"
    return UsageError(f"{cls.__name__} names '{name}', which is not defined", hint=hint)


def complete(cls: type[BaseModel]) -> None:
    """Let pydantic resolve the names in a model's annotations. Raises UsageError for one that is not defined."""
    try:
        if cls is not BaseModel:  # which pydantic can't rebuild, and which has no annotations
            cls.model_rebuild()
    except PydanticUndefinedAnnotation as error:
        raise undefined(cls, error.name) from error


def keys_of(cls: Any) -> Iterator[tuple[str, Any, bool]]:
    """Give a TypedDict's keys: each one's name, its annotation, and whether it is required.

    Raises UsageError where an annotation names something that is not defined.
    """
    try:
        hints = typing_extensions.get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise undefined(cls, error.name) from error
    for name, hint in hints.items():
        required = name in cls.__required_keys__
        while qualifier := next((each for each in _REQUIRED if get_origin(hint) is each[0]), None):
            # Under `from __future__ import annotations` the class itself does not know what is said here.
            required = required if qualifier[1] is None else qualifier[1]
            hint = hint.__args__[0]  # noqa: PLW2901
        yield name, hint, required
