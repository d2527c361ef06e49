"""A pipeline as text and as Mermaid: what is drawn, and that no name can break out of its place."""

from __future__ import annotations

import re

import pytest

from flowc.emit.mermaid import to_mermaid
from flowc.emit.text import printable, to_text
from flowc.ir import (
    Component,
    Constant,
    FromParameter,
    FromTask,
    FunctionRef,
    Output,
    Parameter,
    Pipeline,
    Port,
    PythonCode,
    Task,
)
from flowc.types.model import ArtifactType, CallableType, ScalarType, UnionType

MODEL = ArtifactType(ref="flowc.types.artifacts:Model")
SECRET = ScalarType(name="secret")


def pipeline(train: str = "train", epochs: str = "epochs") -> Pipeline:
    """Return a pipeline of two tasks that binds inputs in every way there is."""
    code = PythonCode(module="taxi", qualname="f")
    fit = Component(
        name="fit",
        role="train",
        inputs=(
            Port(name="build", type=CallableType()),
            Port(name="epochs", type=ScalarType(name="int")),
            Port(name="key", type=SECRET),
        ),
        outputs=(Port(name="model", type=MODEL), Port(name="loss", type=ScalarType(name="float"))),
        code=code,
    )
    push = Component(
        name="push",
        inputs=(Port(name="model", type=MODEL), Port(name="name", type=ScalarType(name="str"))),
        outputs=(
            Port(name="output", type=UnionType(options=(ScalarType(name="str"), ScalarType(name="none")))),
        ),
        code=code,
    )
    inputs = {
        "build": FunctionRef(ref="taxi:build"),
        "epochs": FromParameter(parameter=epochs),
        "key": Constant(value="hunter2"),
    }
    named = {"model": FromTask(task=train, output="model"), "name": Constant(value="ta\nxi")}
    return Pipeline(
        name="taxi",
        parameters=(
            Parameter(name=epochs, type=ScalarType(name="int", ge=1), required=False, default=5),
            Parameter(name="unused", type=SECRET, required=False, default="hunter2"),
        ),
        components={"fit": fit, "push": push},
        tasks=(
            Task(name=train, component="fit", inputs=inputs),
            Task(name="push", component="push", inputs=named, after=(train,)),
        ),
        outputs=(Output(name="url", value=FromTask(task="push")),),
    )


def test_text() -> None:
    assert to_text(pipeline()) == (
        "pipeline taxi\n"
        "    epochs: int(ge=1) = 5\n"
        "    unused: SecretStr = ****\n"
        "\n"
        "task train: fit (train)\n"
        "    build <- taxi:build\n"
        "    epochs <- parameter epochs\n"
        "    key <- ****\n"
        "    -> model: Model\n"
        "    -> loss: float\n"
        "\n"
        "task push: push\n"
        "    model <- train.model: Model\n"
        '    name <- "ta\\nxi"\n'
        "    after train\n"
        "    -> output: str | None\n"
        "\n"
        "output url: push: str | None\n"
    )


def test_mermaid() -> None:
    assert to_mermaid(pipeline()) == (
        "flowchart TD\n"
        '    p0(["epochs"])\n'
        '    t0["train<br/>fit"]\n'
        '    t1["push"]\n'
        '    o0[["url"]]\n'
        '    p0 -->|"int(ge=1)"| t0\n'
        '    t0 -->|"model Model"| t1\n'
        "    t0 -.-> t1\n"
        '    t1 -->|"str #124; None"| o0\n'
    )


@pytest.mark.parametrize(
    "name",
    ['x"] --> t1', "a\nend", "%%{init: {}}%%", "<script>", "`code`", "#quot;", "style: #a;", "\x1b[2J", ""],
)
def test_no_name_breaks_out(name: str) -> None:
    plain, hostile = (to_mermaid(pipeline(train=each, epochs=each)).splitlines() for each in ("x", name))
    shape = re.compile(r'"[^"]*"')
    assert [shape.sub('""', line) for line in hostile] == [shape.sub('""', line) for line in plain]
    for label in shape.findall("\n".join(hostile)):
        assert re.fullmatch(r'"([\w .,/+=()\[\]-]|#\d+;|<br/>)*"', label)
    text = to_text(pipeline(train=name, epochs=name))
    assert len(text.splitlines()) == len(to_text(pipeline()).splitlines())
    assert all(char.isprintable() or char == "\n" for char in text)


def test_printable_keeps_letters_and_escapes_orders() -> None:
    assert printable("größe \x1b[31m\u202e\n") == "größe \\x1b[31m\\u202e\\n"
