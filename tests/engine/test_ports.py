"""What a function returned, held to its output ports."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pydantic import BaseModel

from flowc import ComponentError, Dataset
from flowc.engine.ports import WrongValueError, held_input, held_outputs
from flowc.ir import Component, Port, PythonCode
from flowc.types.describe import describe

CODE = PythonCode(module="m", qualname="f")


class Trip(BaseModel):
    miles: float


Array = np.ndarray[Any, Any]
TRIPS = pa.table({"miles": [1.5]})


def held(annotation: Any, value: Any) -> Any:
    component = Component(name="c", code=CODE, outputs=(Port(name="output", type=describe(annotation)),))
    return held_outputs(component, value)["output"]


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (Any, "anything", "anything"),
        (float, 3, 3.0),
        (int, np.int64(3), 3),
        (float, np.float32(0.5), 0.5),
        (bool, np.True_, True),
        (list[float], [1, 2.5], [1.0, 2.5]),
        (dict[str, int] | None, None, None),
        (Path, Path("a"), Path("a")),
        (Trip, Trip(miles=1), Trip(miles=1)),
        (Dataset[Trip], Dataset(TRIPS), Dataset(TRIPS)),
        (Dataset[Trip], pd.DataFrame({"miles": [1.5]}), Dataset(TRIPS)),
    ],
)
def test_what_fits_comes_through(annotation: Any, value: Any, expected: Any) -> None:
    found = held(annotation, value)
    assert found == expected
    assert type(found) is type(expected)


def test_objects_come_through_as_they_are() -> None:
    frames = [pd.DataFrame({"a": [1]})]
    assert held(list[pd.DataFrame], frames) is frames
    assert held(Array | None, None) is None
    assert held(dict[str, Array], {"a": np.zeros(2)})["a"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int, "3", "output 'output': expected int, got str"),
        (int, 3.0, "output 'output': expected int, got float"),
        (bool, 1, "output 'output': expected bool, got int"),
        (str, None, "output 'output': expected str, got None"),
        (Path, "a", "output 'output': expected Path, got str"),
        (
            list[int],
            [1, "2"],
            "output 'output': expected list[int], got list: [1] Input should be a valid integer",
        ),
        (Array, [1], "output 'output': expected ndarray, got list"),
        (list[pd.DataFrame], [1], "output 'output': [0]: expected DataFrame, got int"),
        (tuple[int, Array], (1,), "output 'output': expected tuple[int, ndarray], got tuple"),
        (dict[str, Array], {"a": 1}, "output 'output': ['a']: expected ndarray, got int"),
        (Array | None, 1, "output 'output': expected ndarray | None, got int"),
        (Dataset[Trip], math.pi, "output 'output': expected Dataset[Trip], got float"),
    ],
)
def test_what_does_not_fit_is_refused(annotation: Any, value: Any, message: str) -> None:
    with pytest.raises(WrongValueError) as refused:
        held(annotation, value)
    assert refused.value.message == message


def test_a_table_without_its_columns_is_refused() -> None:
    with pytest.raises(ComponentError, match=r"^output 'output': .*\n  column 'miles' is missing"):
        held(Dataset[Trip], Dataset(pa.table({"mile": [1.5]})))


class Two(NamedTuple):
    one: int
    other: int


def test_several_outputs_are_taken_by_name() -> None:
    ports = tuple(Port(name=name, type=describe(int)) for name in ("other", "one"))
    component = Component(name="c", code=CODE, outputs=ports)
    assert held_outputs(component, Two(1, 2)) == {"other": 2, "one": 1}
    assert held_outputs(component, {"one": 1, "other": 2}) == {"other": 2, "one": 1}
    with pytest.raises(WrongValueError, match="output 'other' is missing from the None that was returned"):
        held_outputs(component, None)


def test_an_input_is_widened_and_held() -> None:
    assert held_input(Port(name="x", type=describe(float)), 3) == 3.0
    with pytest.raises(WrongValueError, match="expected int"):
        held_input(Port(name="x", type=describe(int)), "three")
