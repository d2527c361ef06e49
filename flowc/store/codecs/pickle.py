"""Everything else, by cloudpickle. Loaded only from our own store, after the digest is verified."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from cloudpickle import CloudPickler
from pydantic import SecretBytes, SecretStr

from flowc.errors import CodecError
from flowc.store.codecs.codec import Content, Draft

_PROTOCOL = 5
_DEPTH = 50


class PickleCodec:
    name = "pickle"

    def write(self, value: Any, draft: Draft) -> dict[str, Any]:
        try:
            draft.document = _pickled(value, draft.code)
        except CodecError:
            raise
        except Exception as error:  # a class's own __reduce__ may raise anything
            place, culprit = _culprit(value)
            raise CodecError(
                f"{place}, of type {type(culprit).__name__}, can't be stored: {error}",
                hint="return what it was made from, and make it anew in the task that needs it",
            ) from error
        return {}

    def read(self, content: Content) -> Any:
        return pickle.loads(content.document)  # noqa: S301  # what the digest vouches for is our own


class _Pickler(CloudPickler):  # type: ignore[misc]  # cloudpickle has no types
    def __init__(self, file: io.BytesIO, met: set[Any]) -> None:
        super().__init__(file, protocol=_PROTOCOL)
        self._met = met

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type | FunctionType):
            self._met.add(obj)
        if isinstance(obj, SecretStr | SecretBytes):
            raise CodecError(
                "a secret can't be the output of a task, nor be held in one: it would be stored",
                hint="give the secret as a parameter to each task that needs it",
            )
        if isinstance(obj, io.TextIOWrapper) and obj not in (sys.stdout, sys.stderr):
            # cloudpickle would make a copy of the file's text in memory of it.
            raise TypeError("an open file stays in the process that opened it")
        return super().reducer_override(obj)


def _pickled(value: Any, met: set[Any]) -> bytes:
    """Return the pickle, and put the classes and functions in it into `met`."""
    buffer = io.BytesIO()
    _Pickler(buffer, met).dump(value)
    return buffer.getvalue()


def _culprit(value: Any) -> tuple[str, Any]:
    """Return where in a value the part is that can't be pickled, as in "Model.session._ssl", and that part."""
    place = type(value).__name__
    for _ in range(_DEPTH):
        step = next(((name, part) for name, part in _parts(value) if not _picklable(part)), None)
        if step is None:
            break
        place, value = place + step[0], step[1]
    return place, value


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", item) for key, item in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{index}]", item) for index, item in enumerate(value))
    else:
        yield from ((f".{name}", item) for name, item in getattr(value, "__dict__", {}).items())


def _picklable(value: Any) -> bool:
    try:
        _pickled(value, set())
    except Exception:  # noqa: BLE001  # as above
        return False
    return True
