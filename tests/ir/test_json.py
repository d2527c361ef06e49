"""The IR's JSON: the same bytes for the same pipeline, nothing lost on the way back, bad files refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowc.diagnostics import Source
from flowc.errors import CompileError, NotFoundError
from flowc.ir import (
    Cell,
    Component,
    Constant,
    FromParameter,
    FromTask,
    FunctionRef,
    NotebookCode,
    Output,
    Parameter,
    Pipeline,
    Policy,
    Port,
    PythonCode,
    Resources,
    Task,
)
from flowc.ir.json import dump_pipeline, json_schema, load_pipeline, parse_pipeline
from flowc.types.column import Column
from flowc.types.model import ArtifactType, DictType, ListType, LiteralType, ScalarType, UnionType

names = st.text(min_size=1, max_size=8)
scalars = st.builds(
    ScalarType, name=st.sampled_from(["int", "str", "path", "none"]), ge=st.none() | st.integers(0, 9)
)
columns = st.builds(Column, name=names, type=st.sampled_from(["int64", "string"]), nullable=st.booleans())
tables = st.builds(
    ArtifactType,
    ref=names,
    row=st.none() | names,
    columns=st.none() | st.lists(columns, max_size=3).map(tuple),
)
literals = st.builds(
    LiteralType, values=st.lists(st.integers() | names | st.booleans(), min_size=1).map(tuple)
)
types = st.recursive(
    st.one_of(scalars, tables, literals),
    lambda inner: st.one_of(
        st.builds(ListType, item=inner),
        st.builds(DictType, key=inner, value=inner),
        st.builds(UnionType, options=st.tuples(inner, inner)),
    ),
    max_leaves=3,
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
sources = st.none() | st.builds(
    Source, file=names, line=st.none() | st.integers(1, 99), cell=st.none() | st.integers(0, 9)
)
ports = st.builds(Port, name=names, type=types, required=st.booleans(), default=json_values, source=sources)
codes = st.one_of(
    st.builds(PythonCode, module=names, qualname=names),
    st.builds(NotebookCode, cells=st.lists(st.integers(0, 9), max_size=3).map(tuple)),
)
components = st.builds(
    Component,
    name=names,
    inputs=st.lists(ports, max_size=2).map(tuple),
    code=codes,
    description=st.text(max_size=9),
)
bindings = st.one_of(
    st.builds(Constant, value=json_values),
    st.builds(FunctionRef, ref=names),
    st.builds(FromParameter, parameter=names),
    st.builds(FromTask, task=names, output=names),
)
tasks = st.builds(
    Task,
    name=names,
    component=names,
    inputs=st.dictionaries(names, bindings, max_size=3),
    after=st.lists(names, max_size=2).map(tuple),
    resources=st.builds(Resources, cpus=st.floats(0, 9), gpus=st.integers(0, 3)),
    policy=st.builds(Policy, timeout=st.none() | st.floats(0.5, 9)),
    source=sources,
)
pipelines = st.builds(
    Pipeline,
    name=names,
    parameters=st.lists(st.builds(Parameter, name=names, type=types, default=json_values), max_size=2).map(
        tuple
    ),
    components=st.dictionaries(names, components, max_size=2),
    tasks=st.lists(tasks, max_size=3).map(tuple),
    outputs=st.lists(st.builds(Output, name=names, value=st.builds(FromTask, task=names)), max_size=1).map(
        tuple
    ),
    modules=st.dictionaries(names, names, max_size=2),
    cells=st.lists(st.builds(Cell, index=st.integers(0, 9), source=st.text(max_size=9)), max_size=2).map(
        tuple
    ),
)


@given(pipelines)
def test_nothing_is_lost_through_json(pipeline: Pipeline) -> None:
    text = dump_pipeline(pipeline)
    back = parse_pipeline(json.loads(text), Path("p.json"))
    assert back == pipeline
    assert dump_pipeline(back) == text


def test_infinite_numbers_stay_what_they_are() -> None:
    port = Port(
        name="x", type=ScalarType(name="float", lt=float("inf")), required=False, default=[float("-inf")]
    )
    component = Component(name="c", inputs=(port,), code=PythonCode(module="m", qualname="c"))
    pipeline = Pipeline(name="p", components={"c": component})
    assert parse_pipeline(json.loads(dump_pipeline(pipeline)), Path("p.json")) == pipeline


def test_a_kind_is_written_though_it_is_a_default() -> None:
    task = Task(name="a", component="c", inputs={"x": Constant(value=None)})
    written = json.loads(dump_pipeline(Pipeline(name="p", tasks=(task,))))
    assert written == {
        "ir_version": 1,
        "name": "p",
        "tasks": [{"name": "a", "component": "c", "inputs": {"x": {"kind": "constant", "value": None}}}],
    }


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        (b"{", "FC001", "p.json:1:2"),
        (b"\xff{}", "FC001", "p.json"),
        (b"[" * 100_000, "FC001", "p.json"),
        (b"[1]", "FC002", "p.json"),
        (b'{"cells": []}', "FC002", "p.json"),
        (b'{"ir_version": 99}', "FC003", "p.json at $.ir_version"),
        (b'{"ir_version": 1, "name": "p", "tasks": [{"name": 3}]}', "FC002", "p.json at $.tasks[0].name"),
        (b'{"ir_version": 1, "name": "p", "surprise": 3}', "FC002", "p.json at $.surprise"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, text: bytes, code: str, where: str) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(text)
    with pytest.raises(CompileError) as caught:
        load_pipeline(path)
    first = caught.value.diagnostics[0]
    assert (first.code, str(first.source)) == (code, where)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        load_pipeline(tmp_path / "p.json")


def test_the_published_schema_is_that_of_the_code() -> None:
    published = Path(__file__).parents[2] / "docs" / "ir-schema.json"
    schema: dict[str, Any] = json.loads(published.read_text(encoding="utf-8"))
    assert schema == json_schema(), "run make schema"
