"""The keys of a TypedDict, which has them as annotations only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_origin

import typing_extensions

from flowc.errors import UsageError

_REQUIRED: tuple[tuple[Any, bool | None], ...] = (
    (typing_extensions.Required, True),
    (typing_extensions.NotRequired, False),
    (typing_extensions.ReadOnly, None),
)


def keys_of(cls: Any) -> Iterator[tuple[str, Any, bool]]:
    """Give each key's name, its annotation, and whether it is required.

    Raises UsageError where an annotation names something that is not defined.
    """
    try:
        hints = typing_extensions.get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"{cls.__name__} names '{error.name}', which is not defined",
            hint="define it at the top of a module",
        ) from error
    for name, hint in hints.items():
        required = name in cls.__required_keys__
        while qualifier := next((each for each in _REQUIRED if get_origin(hint) is each[0]), None):
            # Under `from __future__ import annotations` the class itself does not know what is said here.
            required = required if qualifier[1] is None else qualifier[1]
            hint = hint.__args__[0]  # noqa: PLW2901
        yield name, hint, required
