"""Arguments become values, and values find their inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowc.check import check_pipeline
from flowc.diagnostics import Source
from flowc.errors import CompileError, UsageError
from flowc.ir import (
    Component,
    Constant,
    FromParameter,
    FromTask,
    FunctionRef,
    Parameter,
    Pipeline,
    Port,
    PythonCode,
    Task,
)
from flowc.plan import Plan, make_plan
from flowc.runner import Literal, Reference
from flowc.types.model import CallableType, ScalarType

ROOT = Path("/project")
HERE = Source(file="taxi/taxi.py")
PATH, INT, FLOAT, SECRET = (ScalarType(name=name) for name in ("path", "int", "float", "secret"))
PIPELINE = Pipeline(
    name="p",
    parameters=(
        Parameter(name="csv", type=PATH, required=False, default="x.csv", source=HERE),
        Parameter(name="epochs", type=INT, source=HERE),
        Parameter(name="key", type=SECRET, required=False, default="none", source=HERE),
    ),
    components={
        "read": Component(
            name="read",
            inputs=(Port(name="path", type=PATH), Port(name="extra", type=PATH)),
            outputs=(Port(name="output", type=INT),),
            code=PythonCode(module="m", qualname="read"),
        ),
        "train": Component(
            name="train",
            inputs=(
                Port(name="data", type=INT),
                Port(name="rate", type=FLOAT),
                Port(name="build", type=CallableType()),
            ),
            code=PythonCode(module="m", qualname="train"),
        ),
    },
    tasks=(
        Task(
            name="train",
            component="train",
            inputs={
                "data": FromTask(task="read"),
                "rate": FromParameter(parameter="epochs"),
                "build": FunctionRef(ref="m:build"),
            },
        ),
        Task(
            name="read",
            component="read",
            inputs={"path": FromParameter(parameter="csv"), "extra": Constant(value="y.csv")},
            source=HERE,
        ),
    ),
    source=HERE,
)


def plan(**arguments: Any) -> Plan:
    return make_plan(check_pipeline(PIPELINE), arguments, ROOT)


def test_inputs_are_resolved_and_tasks_ordered() -> None:
    made = plan(epochs=3)
    read, train = made.tasks
    assert (read.name, read.priority, read.upstream) == ("read", 2, ())
    assert (train.name, train.priority, train.upstream) == ("train", 1, ("read",))
    assert read.inputs == {"path": Literal(ROOT / "taxi/x.csv"), "extra": Literal(ROOT / "taxi/y.csv")}
    assert train.inputs == {
        "data": FromTask(task="read"),
        "rate": Literal(3.0),
        "build": Reference("m:build"),
    }
    assert isinstance(train.inputs["rate"], Literal)
    assert type(train.inputs["rate"].value) is float


def test_a_given_path_is_left_as_it_is() -> None:
    assert plan(epochs=1, csv=Path("/data/z.csv")).arguments["csv"] == Path("/data/z.csv")


def test_secrets_are_masked_where_they_are_shown() -> None:
    made = plan(epochs=1, key="hunter2")
    assert made.arguments["key"].get_secret_value() == "hunter2"
    assert "hunter2" not in str(made.shown)
    assert "hunter2" not in repr(made.tasks)
    assert made.shown["epochs"] == 1


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(UsageError, match="no parameter 'epoch'") as unknown:
        plan(epoch=3)
    assert unknown.value.hint == "did you mean 'epochs'?"
    with pytest.raises(UsageError, match="parameter 'epochs': expected int"):
        plan(epochs="many")
    with pytest.raises(CompileError) as missing:
        plan()
    (diagnostic,) = missing.value.diagnostics
    assert (diagnostic.code, diagnostic.source, diagnostic.hint) == ("FC109", HERE, "give it: --epochs VALUE")
