"""Each rule finds what it is for, in IR that no front end would make, and says where and what to do."""

from __future__ import annotations

import random

import pytest

from flowc.check import check_pipeline
from flowc.check.codes import code_pages
from flowc.check.edges import edge_notes
from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError
from flowc.ir import (
    Binding,
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
from flowc.types.model import CallableType, ScalarType, Type, UnionType

INT, STR, FLOAT = (ScalarType(name=name) for name in ("int", "str", "float"))


def component(name: str, inputs: dict[str, Type], output: Type | None = None) -> Component:
    return Component(
        name=name,
        inputs=tuple(Port(name=key, type=type_) for key, type_ in inputs.items()),
        outputs=(Port(name="output", type=output),) if output else (),
        code=PythonCode(module="m", qualname=name),
    )


COMPONENTS = {
    "make": component("make", {}, INT),
    "text": component("text", {}, STR),
    "add": component("add", {"a": INT, "b": FLOAT}, INT),
    "one": component("one", {"a": INT}, INT),
}


def task(name: str, of: str | None = None, after: tuple[str, ...] = (), **inputs: Binding) -> Task:
    return Task(name=name, component=of or name, inputs=inputs, after=after, source=Source(file=f"{name}.py"))


def pipeline(
    *tasks: Task, outputs: tuple[Output, ...] = (), parameters: tuple[Parameter, ...] = ()
) -> Pipeline:
    return Pipeline(name="p", components=COMPONENTS, tasks=tasks, outputs=outputs, parameters=parameters)


CASES: list[tuple[str, Pipeline, list[tuple[str, str]]]] = [
    (
        "an unknown task",
        pipeline(task("make"), task("one", a=FromTask(task="maek"))),
        [("FC101", "task 'one', input 'a': no task 'maek'")],
    ),
    (
        "an unknown output",
        pipeline(task("make"), task("one", a=FromTask(task="make", output="left"))),
        [("FC101", "task 'one', input 'a': task 'make' has no output 'left'")],
    ),
    (
        "an unknown task behind a pipeline's output",
        pipeline(task("make"), outputs=(Output(name="o", value=FromTask(task="x")),)),
        [("FC101", "output 'o': no task 'x'")],
    ),
    (
        "a circle of three, with one behind it",
        pipeline(
            task("a", "one", a=FromTask(task="c")),
            task("b", "one", a=FromTask(task="a")),
            task("c", "one", a=FromTask(task="b")),
            task("d", "one", a=FromTask(task="c")),
        ),
        [("FC102", "tasks wait for each other: b → c → a → b")],
    ),
    (
        "a task after itself",
        pipeline(task("make", after=("make",))),
        [("FC102", "tasks wait for each other: make → make")],
    ),
    ("an unbound input", pipeline(task("one")), [("FC103", "task 'one', input 'a' (int) has no value")]),
    (
        "two tasks of one name",
        pipeline(task("make"), task("make")),
        [("FC104", "two tasks are named 'make'")],
    ),
    (
        "two parameters of one name",
        pipeline(parameters=(Parameter(name="n"), Parameter(name="n"))),
        [("FC104", "two parameters are named 'n'")],
    ),
    (
        "an input that is not there",
        pipeline(task("make", x=Constant(value=1))),
        [("FC105", "task 'make': component 'make' has no input 'x'")],
    ),
    (
        "an unknown parameter",
        pipeline(task("one", a=FromParameter(parameter="n"))),
        [("FC106", "task 'one', input 'a': no parameter 'n'")],
    ),
    (
        "after nothing",
        pipeline(task("make", after=("x",))),
        [("FC107", "task 'make' comes after 'x', which is no task")],
    ),
    ("an unknown component", pipeline(task("x", "mkae")), [("FC108", "task 'x': no component 'mkae'")]),
    (
        "a text into a number",
        pipeline(task("text"), task("one", a=FromTask(task="text"))),
        [("FC301", "task 'one', input 'a' takes int: task 'text' makes str here; str is not a int")],
    ),
    (
        "a parameter of the wrong type",
        pipeline(task("one", a=FromParameter(parameter="n")), parameters=(Parameter(name="n", type=FLOAT),)),
        [("FC301", "task 'one', input 'a' takes int: parameter 'n' is float; float is not a int")],
    ),
    (
        "a function into a number",
        pipeline(task("one", a=FunctionRef(ref="m:f"))),
        [("FC301", "task 'one', input 'a' takes int: the function m:f is not one")],
    ),
    (
        "a default of the wrong type",
        pipeline(parameters=(Parameter(name="n", type=INT, required=False, default="x"),)),
        [("FC302", "the default of parameter 'n' is not of its type: expected int")],
    ),
    (
        "several at once",
        pipeline(task("one"), task("add", a=FromTask(task="no"), b=FromParameter(parameter="no"))),
        [
            ("FC101", "no task 'no'"),
            ("FC106", "no parameter 'no'"),
            ("FC103", "input 'a' (int) has no value"),
        ],
    ),
]


@pytest.mark.parametrize(("wrong", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_fault_is_found(wrong: Pipeline, expected: list[tuple[str, str]]) -> None:
    with pytest.raises(CompileError) as caught:
        check_pipeline(wrong)
    found = caught.value.diagnostics
    assert [d.code for d in found] == [code for code, _ in expected]
    for diagnostic, (_, says) in zip(found, expected, strict=True):
        assert says in diagnostic.message
        assert diagnostic.code in code_pages()


def test_each_edge_is_explained() -> None:
    made = pipeline(task("make"), task("one", a=FromTask(task="make")), task("text", after=("one",)))
    assert [(note.message, str(note.source), str(note.related[0].source)) for note in edge_notes(made)] == [
        ("task 'one' needs 'make': its input 'a' is the output of 'make'", "one.py", "make.py"),
        ("task 'text' needs 'one': it is ordered after 'one'", "text.py", "one.py"),
    ]


def test_a_right_pipeline_is_ordered() -> None:
    right = pipeline(
        task("last", "add", a=FromTask(task="mid"), b=FromTask(task="make")),
        task("mid", "one", a=FromTask(task="make")),
        task("make"),
        task("lone", "make"),
    )
    checked = check_pipeline(right)
    assert [t.name for t in checked.ordered] == ["make", "lone", "mid", "last"]
    assert checked.diagnostics == ()


def test_warnings_pass_and_stay() -> None:
    warning = Diagnostic(code="FC010", severity="warning", message="w")
    assert check_pipeline(pipeline(task("make")), [warning]).diagnostics == (warning,)
    with pytest.raises(CompileError) as caught:
        check_pipeline(pipeline(task("one")), [warning])
    assert [d.code for d in caught.value.diagnostics] == ["FC010", "FC103"]


def test_a_chain_longer_than_the_stack_is_checked() -> None:
    tasks = [task("t0", "make")] + [
        task(f"t{n}", "one", a=FromTask(task=f"t{n - 1}")) for n in range(1, 5000)
    ]
    random.Random(0).shuffle(tasks)
    assert [t.name for t in check_pipeline(pipeline(*tasks)).ordered] == [f"t{n}" for n in range(5000)]


def test_a_function_or_none_fits_an_optional_callable() -> None:
    optional = UnionType(options=(CallableType(), ScalarType(name="none")))
    build = component("build", {"f": optional}, INT)
    for value in (FunctionRef(ref="m:f"), Constant(value=None)):
        right = Pipeline(name="p", components={"build": build}, tasks=(task("build", f=value),))
        assert check_pipeline(right).diagnostics == ()
    wrong = Pipeline(name="p", components={"build": build}, tasks=(task("build", f=Constant(value=3)),))
    with pytest.raises(CompileError, match=r"FC301.*takes Callable \| None: expected Callable \| None"):
        check_pipeline(wrong)
