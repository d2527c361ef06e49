"""Decorated Python becomes IR: what calls mean, and what is said where they mean nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from flowc.check import check_pipeline
from flowc.errors import CompileError, NotFoundError, UsageError
from flowc.ir import Constant, FromParameter, FromTask, FunctionRef, Output, Pipeline
from flowc.python.compile import compile_file, compile_module

PRELUDE = """
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from flowc import component, pipeline, Dataset, Metrics, Model

class Split(NamedTuple):
    train: int
    eval: str

@dataclass
class Pair:
    left: int
    right: int

@component
def number(n: int = 3) -> int:
    "Give a number."
    return n

@component(name="halves", cpus=2, memory="2GiB", retries=1, timeout="10m", cache=False, role="ingest")
def split(x: int) -> Split:
    return Split(x, str(x))

@component
def pair(x: int) -> Pair:
    return Pair(x, x)

@component
def show(text: str, scale: float = 1.0) -> None: ...

@component
def apply(function: object, x: int = 1) -> int: ...

def twice(x: int) -> int:
    return 2 * x
"""
Compile = Callable[..., Pipeline]


@pytest.fixture
def compiled(tmp_path: Path, request: pytest.FixtureRequest) -> Compile:
    """Compile a pipeline whose body is given, in a module of its own name."""

    def compile_body(source: str, name: str | None = None) -> Pipeline:
        stem = "m_" + "".join(c if c.isalnum() else "_" for c in request.node.name)
        path = tmp_path / f"{stem}.py"
        path.write_text(PRELUDE + textwrap.dedent(source), encoding="utf-8")
        pipeline, diagnostics = compile_file(path, name, tmp_path)
        return check_pipeline(pipeline, diagnostics).pipeline

    return compile_body


def test_calls_become_tasks_and_futures_become_edges(compiled: Compile) -> None:
    pipeline = compiled("""
        @pipeline
        def main(n: int, scale: float = 2.0):
            "Do it."
            first = number(n)
            train, evaluation = split(first)
            both = pair(first)
            show(evaluation, scale=scale, after=[both, first])
            return both.left
    """)
    assert [(t.name, t.component, t.inputs, t.after) for t in pipeline.tasks] == [
        ("number", "number", {"n": FromParameter(parameter="n")}, ()),
        ("halves", "halves", {"x": FromTask(task="number")}, ()),
        ("pair", "pair", {"x": FromTask(task="number")}, ()),
        (
            "show",
            "show",
            {"text": FromTask(task="halves", output="eval"), "scale": FromParameter(parameter="scale")},
            ("pair", "number"),
        ),
    ]
    assert pipeline.outputs == (Output(name="output", value=FromTask(task="pair", output="left")),)
    assert [(p.name, str(p.type), p.required, p.default) for p in pipeline.parameters] == [
        ("n", "int", True, None),
        ("scale", "float", False, 2.0),
    ]
    assert pipeline.description == "Do it."
    assert [f"{port.name}: {port.type}" for port in pipeline.components["pair"].outputs] == [
        "left: int",
        "right: int",
    ]
    assert pipeline.components["show"].outputs == ()


def test_every_node_knows_where_it_stands(compiled: Compile) -> None:
    pipeline = compiled("""
        @pipeline
        def main(n: int):
            number(n)
    """)
    first_line = PRELUDE.count("\n") + 2
    source = pipeline.tasks[0].source
    assert source is not None
    assert source.file == next(iter(pipeline.modules.values()))
    assert (source.line, source.column, source.end_column) == (first_line + 2, 5, 14)
    place = pipeline.parameters[0].source
    assert place is not None
    assert (place.line, place.column) == (first_line + 1, 10)
    component = pipeline.components["number"].source
    assert component is not None
    assert component.line == PRELUDE[: PRELUDE.index("def number")].count("\n") + 1


def test_options_of_the_component_and_of_the_call(compiled: Compile) -> None:
    pipeline = compiled("""
        @pipeline
        def main():
            split(1)
            split.options(name="again", cpus=4, timeout=5)(2)
    """)
    first, second = pipeline.tasks
    assert (first.resources.cpus, first.resources.memory) == (2, 2 * 1024**3)
    assert (first.policy.retries, first.policy.timeout, first.policy.cache) == (1, 600, False)
    assert (second.name, second.resources.cpus, second.resources.memory) == ("again", 4, 2 * 1024**3)
    assert (second.policy.retries, second.policy.timeout) == (1, 5)
    assert pipeline.components["halves"].role == "ingest"


def test_repeated_calls_get_names_of_their_own(compiled: Compile) -> None:
    pipeline = compiled("""
        @pipeline
        def main():
            for n in range(3):
                number(n)
            number.options(name="number-2")(9)
    """)
    assert [task.name for task in pipeline.tasks] == ["number", "number-2", "number-3", "number-2-2"]
    assert pipeline.tasks[1].inputs == {"n": Constant(value=1)}


def test_nested_pipelines_join_under_their_name(compiled: Compile) -> None:
    pipeline = compiled(
        """
        @pipeline
        def inner(x: int, shift: int = 7):
            number(shift)
            return split(x)

        @pipeline
        def main():
            first = inner(number())
            second = inner(first.train, shift=8)
            show(second.eval)
        """,
        "main",
    )
    assert [task.name for task in pipeline.tasks] == [
        *("number", "inner/number", "inner/halves", "inner-2/number", "inner-2/halves", "show")
    ]
    assert pipeline.task("inner/number").inputs == {"n": Constant(value=7)}
    assert pipeline.task("inner-2/number").inputs == {"n": Constant(value=8)}
    assert pipeline.task("inner-2/halves").inputs == {"x": FromTask(task="inner/halves", output="train")}
    assert pipeline.task("show").inputs == {"text": FromTask(task="inner-2/halves", output="eval")}


def test_functions_travel_by_name(compiled: Compile) -> None:
    pipeline = compiled("""
        @pipeline
        def main():
            apply(twice)
            apply(number)
    """)
    module = next(iter(pipeline.modules))
    assert pipeline.tasks[0].inputs == {"function": FunctionRef(ref=f"{module}:twice")}
    assert pipeline.tasks[1].inputs == {"function": FunctionRef(ref=f"{module}:number")}


def test_path_defaults_are_beside_the_file(compiled: Compile) -> None:
    pipeline = compiled("""
        @component
        def read(path: Path) -> None: ...

        @pipeline
        def main(a: Path = Path("a.csv"), b: Path = Path(__file__).parent / "sub" / "b.csv", c: Path = Path("/c.csv")):
            read(Path(__file__).parent / "d.csv")
    """)
    assert [parameter.default for parameter in pipeline.parameters] == ["a.csv", "sub/b.csv", "/c.csv"]
    assert pipeline.tasks[0].inputs == {"path": Constant(value="d.csv")}


def test_components_and_pipelines_stay_ordinary_functions(compiled: Compile, tmp_path: Path) -> None:
    from flowc.python.load import load_file

    compiled("""
        @pipeline
        def main(n: int):
            first = number(n)
            return split(first, after=first).eval
    """)
    module = load_file(next(tmp_path.glob("m_*.py")))
    assert module.split(4) == (4, "4")
    assert module.main(5) == "5"
    assert module.number.__doc__ == "Give a number."


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        ("if number(): pass", "FC110", "asks whether it is true"),
        ("len(number())", "FC110", "len() asks for its length"),
        ("for _ in number(): pass", "FC110", "a loop or an unpacking"),
        ("number()['a']", "FC110", "an index asks for an item"),
        ("number(f'{n}')", "FC110", "parameter 'n' has no value"),
        ("n == 3", "FC110", "'==' asks for it"),
        ("n + 1", "FC110", "parameter 'n' has no value"),
        ("number().mean()", "FC110", "'.mean' can't be read"),
        ("split(1).trian", "FC110", "task 'halves' has no output 'trian'"),
        ("number(split(1))", "FC110", "all outputs at once"),
        ("show([number()])", "FC110", "a list with futures in it"),
        ("number('x')", "FC301", "expected int"),
        ("number(object())", "FC301", "expected int"),
        ("apply(lambda x: x)", "FC111", "can't be found by name"),
        ("number(m=3)", "FC105", "no input 'm'"),
        ("number(1, 2)", "FC105", "takes 1 input(s), 2 were given"),
        ("number(1, n=2)", "FC105", "two values for 'n'"),
        ("show('a', after=3)", "FC107", "after= takes what components returned"),
        ("return 3", "FC112", "'output' is 3"),
        ("return n", "FC112", "parameter 'n'"),
    ],
)
def test_misuse_is_a_diagnostic_at_its_line(compiled: Compile, body: str, code: str, says: str) -> None:
    with pytest.raises(CompileError) as caught:
        compiled(f"@pipeline\ndef main(n: int):\n    {body}\n")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert says in diagnostic.message
    assert diagnostic.source is not None
    assert diagnostic.source.line == PRELUDE.count("\n") + 3


def test_all_problems_come_at_once(compiled: Compile) -> None:
    with pytest.raises(CompileError) as caught:
        compiled("""
            @pipeline
            def main(n: int):
                number(m=1)
                number("x")
                if number(): pass
                number(k=2)
        """)
    assert [d.code for d in caught.value.diagnostics] == ["FC105", "FC301", "FC110"]


def test_what_calls_and_what_edges_get_wrong_comes_together(compiled: Compile) -> None:
    with pytest.raises(CompileError) as caught:
        compiled("""
            @pipeline
            def main(n: str):
                pair("x")
                pair(n)
                pair()
        """)
    assert [(d.code, d.source.line) for d in caught.value.diagnostics if d.source] == [
        ("FC301", PRELUDE.count("\n") + 4),
        ("FC301", PRELUDE.count("\n") + 5),
        ("FC103", PRELUDE.count("\n") + 6),
    ]


def test_a_parameter_is_described_by_its_field(compiled: Compile) -> None:
    pipeline = compiled("""
        from typing import Annotated
        from pydantic import Field

        @pipeline
        def main(n: Annotated[int, Field(ge=1, description="How many.")] = 3, m: int = 4):
            number(n)
    """)
    assert [parameter.description for parameter in pipeline.parameters] == ["How many.", ""]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("@component\ndef bad(*args): ...", "'*args' has no name to bind by"),
        ("@component\ndef bad(x: 'Nowhere'): ...", "names 'Nowhere', which is not defined"),
        ("@component\ndef bad(x: int = 'a'): ...", "expected int"),
        ("@component\ndef bad(x: 3): ...", "not a type"),
        ("@component\ndef bad() -> 3: ...", "not a type"),
    ],
)
def test_a_signature_that_can_not_be_one(compiled: Compile, source: str, says: str) -> None:
    with pytest.raises(CompileError) as caught:
        compiled(source + "\n@pipeline\ndef main():\n    bad()\n")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "FC303"
    assert says in diagnostic.message


def test_two_components_of_one_name(compiled: Compile) -> None:
    with pytest.raises(CompileError) as caught:
        compiled("""
            @component(name="number")
            def other() -> int: ...

            @pipeline
            def main():
                number()
                other()
        """)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("FC104", "two components are named 'number'")
    assert len(diagnostic.related) == 1


@pytest.mark.parametrize(
    ("source", "name", "message", "hint"),
    [
        ("", None, "holds no pipeline", "decorate the function"),
        ("@pipeline\ndef a(): ...\n@pipeline\ndef b(): ...", None, "holds 2 pipelines: a, b", "::a"),
        (
            "@pipeline\ndef training(): ...",
            "trainig",
            "has no pipeline 'trainig'",
            "did you mean 'training'?",
        ),
    ],
)
def test_a_target_that_is_no_pipeline(
    compiled: Compile, source: str, name: str | None, message: str, hint: str
) -> None:
    with pytest.raises(NotFoundError) as caught:
        compiled(source, name)
    assert message in caught.value.message
    assert caught.value.hint is not None
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("source", "code", "says", "line"),
    [
        ("def f(:\n", "FC030", "not valid Python", 1),
        ("import os\n1 / 0\n", "FC031", "ZeroDivisionError: division by zero", 2),
        ("import nowhere_at_all\n", "FC031", "No module named 'nowhere_at_all'", 1),
        ("import sys\n\nsys.exit(0)\n", "FC031", "SystemExit: 0", 3),
    ],
)
def test_a_file_that_can_not_be_imported(
    tmp_path: Path, source: str, code: str, says: str, line: int
) -> None:
    path = tmp_path / f"broken_{code}_{line}_{len(source)}.py"
    path.write_text(source)
    with pytest.raises(CompileError) as caught:
        compile_file(path, None, tmp_path)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert says in diagnostic.message
    assert diagnostic.source is not None
    assert (diagnostic.source.file, diagnostic.source.line) == (path.name, line)


def test_a_module_that_can_not_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "falls_over.py").write_text("x = 1\nraise RuntimeError('no')\n")
    with pytest.raises(CompileError) as caught:
        compile_module("falls_over", None, tmp_path)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, str(diagnostic.source)) == ("FC031", "falls_over.py:2")
    with pytest.raises(NotFoundError, match="no module named 'nowhere_at_all'"):
        compile_module("nowhere_at_all", None, tmp_path)


def test_a_file_that_hides_another_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("")
    with pytest.raises(UsageError, match=r"json\.py has the name of another module"):
        compile_file(tmp_path / "json.py", None, tmp_path)
    with pytest.raises(NotFoundError, match="no such file"):
        compile_file(tmp_path / "missing.py", None, tmp_path)
