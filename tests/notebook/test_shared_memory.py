"""What leaves a step together is looked at for views of one memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from flowc.notebook.crossing import Bundle
from flowc.notebook.memory import SharedMemoryError, hold_apart


def _view() -> dict[str, Any]:
    x = np.zeros(4)
    return {"x": x, "v": x[1:]}


def _inside_objects() -> dict[str, Any]:
    x = np.zeros(4)
    return {"x": [{"k": x}], "v": pd.Series(x[1:])}


def _column() -> dict[str, Any]:
    df = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    return {"x": df, "v": df["a"].to_numpy()}


def _bytes() -> dict[str, Any]:
    data = bytearray(4)
    return {"x": data, "v": np.frombuffer(data, "u1")}


@pytest.mark.parametrize("make", [_view, _inside_objects, _column, _bytes])
def test_views_of_one_memory_are_refused_with_both_names(make: Any) -> None:
    with pytest.raises(SharedMemoryError, match="' are views of the same memory"):
        hold_apart("a", "v+x", Bundle(make()))


def test_a_value_that_holds_both_is_refused() -> None:
    with pytest.raises(SharedMemoryError, match="'m' holds views"):
        hold_apart("a", "m", list(_view().values()))


def _twice() -> dict[str, Any]:
    x = np.zeros(4)
    return {"x": x, "v": [x]}


def _interleaved() -> dict[str, Any]:
    x = np.zeros(4)
    return {"x": x[::2], "v": x[1::2]}


def _index() -> dict[str, Any]:
    index = pd.Index([1.5, 2.5, 3.5])
    return {"x": pd.Series([1.0, 2.0, 3.0], index=index), "v": pd.Series([1.0, 2.0], index=index[1:])}


def _copies() -> dict[str, Any]:
    x = np.zeros(4)
    return {"x": x, "v": x[1:].copy(), "empty": x[:0]}


@pytest.mark.parametrize("make", [_twice, _interleaved, _index, _copies])
def test_one_object_and_memory_that_only_lies_side_by_side_are_no_views(make: Any) -> None:
    hold_apart("a", "v+x", Bundle(make()))
