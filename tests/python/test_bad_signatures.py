"""Signatures that people write by mistake, or with good reason: the right pipeline, or the right message."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from flowc.check import check_pipeline
from flowc.errors import CompileError
from flowc.ir import Constant, Pipeline
from flowc.python.compile import compile_file

PRELUDE = """
from __future__ import annotations
from typing import Annotated, Any, Iterator, Literal, Self, TypedDict
import numpy as np
import pyarrow as pa
from pydantic import AfterValidator, BaseModel, Field, Secret
from flowc import Dataset, component, pipeline

class Tree(BaseModel):
    name: str
    below: list[Tree] = []

class Lost(BaseModel):
    x: Nowhere

class Family(BaseModel):
    children: list[Family]

class Odd(TypedDict):
    good: int
    odd: int | str
"""
Compile = Callable[[str], Pipeline]


@pytest.fixture
def compiled(tmp_path: Path, request: pytest.FixtureRequest) -> Compile:
    def compile_source(source: str) -> Pipeline:
        stem = "s_" + "".join(c if c.isalnum() else "_" for c in request.node.name)
        path = tmp_path / f"{stem}.py"
        path.write_text(PRELUDE + textwrap.dedent(source), encoding="utf-8")
        pipeline, diagnostics = compile_file(path, None, tmp_path)
        return check_pipeline(pipeline, diagnostics).pipeline

    return compile_source


@pytest.mark.parametrize(
    ("signature", "says", "hint"),
    [
        ("x: Lost", "Lost names 'Nowhere', which is not defined", None),
        ("x: Dataset[Lost]", "Lost names 'Nowhere', which is not defined", "import or define it"),
        ("x: Dataset[Family]", "a row of Family holds itself", "a table of its own"),
        (
            "x: Dataset[Odd]",
            "column 'odd' of Odd: no Arrow type stands for int | str",
            "Annotated[int, pa.int32()]",
        ),
        ("x: Dataset[int]", "a row is a pydantic model", None),
        ("x: Self", "is not a type that a port can have", "name the class"),
        ("x: Iterator[int]", "can be read once only", "return a list"),
        ("x: Secret[int]", "may show what it holds", "use SecretStr"),
        (
            "x: Annotated[int, AfterValidator(lambda n: n)]",
            "can't be found by its name",
            "at the top of the module",
        ),
        ("x: Annotated[int, Field(ge=1)] = 0", "Input should be greater than or equal to 1", None),
        ("x: list[int] = ['a']", "expected list[int]", None),
    ],
)
def test_what_can_not_be_a_port(compiled: Compile, signature: str, says: str, hint: str | None) -> None:
    with pytest.raises(CompileError) as refused:
        compiled(f"@component\ndef bad({signature}) -> None: ...\n\n@pipeline\ndef main():\n    bad()\n")
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "FC303"
    assert says in diagnostic.message
    assert hint is None or hint in (diagnostic.hint or "")
    assert diagnostic.source is not None
    assert diagnostic.source.line == PRELUDE.count("\n") + 2


def test_a_recursive_model_is_a_value_as_any_other(compiled: Compile) -> None:
    made = compiled("""
        @component
        def grow(tree: Tree) -> Tree: ...

        @pipeline
        def main():
            grow(grow(Tree(name="root", below=[Tree(name="leaf")])))
    """)
    leaf = {"name": "leaf", "below": []}
    assert made.tasks[0].inputs == {"tree": Constant(value={"name": "root", "below": [leaf]})}


def test_a_mutable_default_is_a_fresh_one_in_each_task(compiled: Compile) -> None:
    made = compiled("""
        @component
        def gather(seen: list = [], limits: dict[str, float] = {"a": 1}, *, size: tuple[int, ...] = (1,), n=[2]) -> int:
            seen.append(1)
            return len(seen)

        @pipeline
        def main():
            gather()
            gather([7])
    """)
    fresh = {"limits": Constant(value={"a": 1.0}), "size": Constant(value=[1]), "n": Constant(value=[2])}
    assert made.tasks[0].inputs == {"seen": Constant(value=[]), **fresh}
    assert made.tasks[1].inputs == {"seen": Constant(value=[7]), **fresh}


def test_a_default_without_a_form_is_the_functions_own(compiled: Compile) -> None:
    made = compiled("""
        @component
        def shape(pair=(1, 2), start=np.zeros(2), thing=object(), text="a") -> int: ...

        @pipeline
        def main():
            shape()
    """)
    ports = {port.name: (port.default, port.opaque) for port in made.components["shape"].inputs}
    assert ports == {"pair": (None, True), "start": (None, True), "thing": (None, True), "text": ("a", False)}
    assert made.tasks[0].inputs == {}


def test_a_pipelines_default_without_a_form_is_refused(compiled: Compile) -> None:
    with pytest.raises(
        CompileError, match=r"FC303.*default of parameter 'pair' of pipeline 'main' has no form"
    ):
        compiled("@component\ndef use(x): ...\n\n@pipeline\ndef main(pair=(1, 2)):\n    use(pair)\n")


def test_what_has_no_annotation_takes_and_gives_everything(compiled: Compile) -> None:
    made = compiled("""
        @component
        def loose(x, y: Any): ...

        @component
        def strict(x: int) -> int: ...

        @pipeline
        def main():
            strict(loose(strict(1), "a"))
    """)
    assert [str(port.type) for port in made.components["loose"].outputs] == ["Any"]


def test_five_thousand_columns_are_a_table_as_any_other(compiled: Compile) -> None:
    made = compiled("""
        Wide = TypedDict("Wide", {f"c{n}": float for n in range(5000)})
        Wider = TypedDict("Wider", {f"c{n}": float for n in range(5001)})

        @component
        def read() -> Dataset[Wider]: ...

        @component
        def use(table: Dataset[Wide]) -> Dataset[Wide]: ...

        @pipeline
        def main():
            use(use(read()))
    """)
    assert len(made.tasks) == 3
