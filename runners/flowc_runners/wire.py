"""Calls on their way to a worker process: what many calls share is pickled once, and sent to each worker once.

A run's code base and its components are the same objects in call after call. They travel with the first call that
names them; later ones name them by number.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from flowc.ir import Component
from flowc.runner import CodeBase, TaskCall


class Packer:
    """The driver's side. Keeps what it has packed alive, so that an object's id stays its own."""

    def __init__(self) -> None:
        self._shared: dict[int, tuple[object, bytes]] = {}

    def pack(self, call: TaskCall, known: set[int]) -> bytes:
        """Return the message that brings a call to a worker. `known` is what it has already, and is added to."""
        buffer = io.BytesIO()
        pickler = _Pickler(buffer)
        pickler.dump(call)
        for key, shared in pickler.named.items():
            if key not in self._shared:
                self._shared[key] = (shared, pickle.dumps(shared, pickle.HIGHEST_PROTOCOL))
        new = {key: self._shared[key][1] for key in pickler.named if key not in known}
        known.update(new)
        return pickle.dumps((new, buffer.getvalue()), pickle.HIGHEST_PROTOCOL)


class Unpacker:
    """A worker's side. Keeps the shared objects that have come."""

    def __init__(self) -> None:
        self._shared: dict[int, object] = {}

    def unpack(self, message: bytes) -> TaskCall:
        """Return the call that a message brings."""
        new, packed = pickle.loads(message)  # noqa: S301  # from the driver, through our own pipe
        self._shared.update({key: pickle.loads(data) for key, data in new.items()})  # noqa: S301
        call: TaskCall = _Unpickler(io.BytesIO(packed), self._shared).load()
        return call


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.named: dict[int, object] = {}

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, CodeBase | Component):
            return None
        self.named[id(value)] = value
        return id(value)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: dict[int, object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, key: int) -> object:
        return self._shared[key]
