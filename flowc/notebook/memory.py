"""Whether values share memory without holding each other, which no pickle keeps: views of arrays and tables.

Where analysis can't tell whether a name is a view of what a later step changes, both travel together, and this looks
at their memory when they leave: if they share it, the later change would be seen in one of them only.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cloudpickle

from flowc.errors import FlowcError
from flowc.ir import port_names
from flowc.notebook.crossing import Bundle

_WORK = 10_000


class SharedMemoryError(FlowcError):
    """Names leave a step that are views of the same memory, which a later step changes."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of memory that something inside a name's value uses. `array` is numpy's, to compare exactly."""

    start: int
    end: int
    name: str
    array: Any = None


def hold_apart(step: str, port: str, value: Any) -> None:
    """Raise SharedMemoryError where the values that leave by a port share memory."""
    names = port_names(port)
    found = _shared(value.values if isinstance(value, Bundle) else {names[0]: value})
    if found is None:
        return
    one, other = found
    what = f"'{one}' and '{other}' are views" if one != other else f"'{one}' holds views"
    raise SharedMemoryError(
        f"{what} of the same memory, which a later step changes: after step '{step}' they would be apart",
        hint="make one of them with .copy(), or put both cells in one step",
    )


def _shared(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the names of two values, or twice one, that share memory."""
    blocks = sorted(_blocks(values), key=lambda block: block.start)
    open_blocks: list[_Block] = []
    for block in blocks:
        open_blocks = [each for each in open_blocks if each.end > block.start]
        for other in open_blocks:
            if _overlap(other, block):
                return other.name, block.name
        open_blocks.append(block)
    return None


def _overlap(one: _Block, other: _Block) -> bool:
    if one.array is None or other.array is None:
        return True
    import numpy as np

    try:
        return bool(np.shares_memory(one.array, other.array, max_work=_WORK))
    except getattr(np, "exceptions", np).TooHardError:
        return True


def _blocks(values: Mapping[str, Any]) -> list[_Block]:
    """Return the memory of all arrays and tensors that pickling the values comes upon."""
    finder = _Finder()
    for name, value in values.items():
        finder.name = name
        try:
            finder.dump(value)
        except Exception as error:
            raise SharedMemoryError(
                f"'{name}' can't be looked into for views of what a later step changes: {error}",
                hint="put the cell that changes it in the same step",
            ) from error
    return finder.blocks


class _Nowhere:
    def write(self, data: Any) -> int:
        return len(data)


class _Finder(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    """Pickles to nowhere; what it comes upon stays alive in its memo, so that no address is used twice."""

    def __init__(self) -> None:
        super().__init__(_Nowhere())
        self.name = ""
        self.blocks: list[_Block] = []
        self._seen: dict[int, Any] = {}

    def persistent_id(self, obj: Any) -> str | None:
        if isinstance(obj, str | int | float | bytes | tuple | dict | list) or id(obj) in self._seen:
            return None
        pandas, numpy, torch = (sys.modules.get(name) for name in ("pandas", "numpy", "torch"))
        if pandas is not None and isinstance(obj, pandas.Index):
            return "index"  # nobody can change it
        if numpy is not None and isinstance(obj, numpy.ndarray):
            self._note(obj, *_bounds(numpy, obj), obj)
        elif torch is not None and isinstance(obj, torch.Tensor):
            storage = obj.untyped_storage()
            self._note(obj, storage.data_ptr(), storage.data_ptr() + storage.nbytes())
        elif isinstance(obj, bytearray | memoryview) and numpy is not None:
            self._note(obj, *_bounds(numpy, numpy.frombuffer(obj, "u1")))
        return None

    def _note(self, obj: Any, start: int, end: int, array: Any = None) -> None:
        self._seen[id(obj)] = obj
        if end > start:
            self.blocks.append(_Block(start, end, self.name, array))


def _bounds(numpy: Any, array: Any) -> tuple[int, int]:
    module = numpy.lib.array_utils if hasattr(numpy.lib, "array_utils") else numpy
    start, end = module.byte_bounds(array)
    return (int(start), int(end)) if array.size else (0, 0)
