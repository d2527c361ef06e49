"""Random notebooks: as a pipeline each prints what it prints from top to bottom, or it is refused."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from running import run_pipeline, run_plainly, write_cells

from flowc import api
from flowc.engine.recorder import RunLabel
from flowc.engine.run import run_plan
from flowc.errors import CompileError
from flowc.notebook.lower import explain_notebook
from flowc.plan import make_plan
from flowc.testing import temporary_store
from flowc.types.model import AnyType
from flowc_runners.local import LocalRunner

# Every value is a list (of lists and numbers) or a Box of one, so that nearly every statement makes sense.
PRELUDE = """\
import copy
class Box:
    shelf = []
    def __init__(self, v): self.v = v
    def add(self, x): self.v.append(x)
    def put(self, x): self.shelf.append(x)
def push(x, k): x.append(k)
def same(x): return x
def pair(x, y): return [x, y]
def keep(x, y): x.append(y); return x
def make(x): return lambda k: x.append(k)
def inner(x):
    for v in x:
        if isinstance(v, list): return v
    return x
"""
LISTS = ("a", "b", "c", "d")
BOXES = ("p", "q")
FUNCTIONS = ("f", "g")
START = """\
m, e = {'k': []}, iter([])
a, b, c, d = [1], [2], [3], [4]
p, q = Box([5]), Box([6])
def f(): return a
def g(): return b
i = 0
x = 1
"""
END = "print(a, b, c, d, p.v, q.v, i, x)"
COMPARE = "\nprint([u is v for u in (a, b, c, d) for v in (a, b, c, d)])"

_list = st.sampled_from(LISTS)
_box = st.sampled_from(BOXES)
_function = st.sampled_from(FUNCTIONS)
_number = st.integers(0, 9).map(str)


def _filled(template: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.fixed_dictionaries(parts).map(lambda chosen: template.format(**chosen))


def _two(template: str) -> st.SearchStrategy[str]:
    return _filled(template, x=_list, y=_list, z=_list, n=_number, p=_box, q=_box, f=_function)


SIMPLE = st.sampled_from(
    [
        "{x} = [{n}]",
        "{x} = {y}",
        "{x} = [{y}]",
        "{x} = [{y}, {z}]",
        "{x} = list({y})",
        "{x} = {y}[:]",
        "{x} = {y} + {z}",
        "{x} = inner({y})",
        "{x}.append({n})",
        "{x}.append({y})",
        "{x} += [{n}]",
        "{x} += {y}[:2]",
        "{x}.extend({y}[:2])",
        "{x}.insert(0, {y})",
        "{x}[:0] = [{n}]",
        "{x}.clear()",
        "{x}, {y} = {y}, {x}",
        "push({x}, {n})",
        "{x} = same({y})",
        "{x} = pair({y}, {z})",
        "{x} = keep({y}, {z})",
        "{p} = Box({x})",
        "{p}.v = {x}",
        "{x} = {p}.v",
        "{p}.add({n})",
        "{p}.v.append({n})",
        "{p} = {q}",
        "{p} = copy.copy({q})",
        "{p} = copy.deepcopy({q})",
        "{x} = copy.deepcopy({y})",
        "{x} = {f}()",
        "{f}()",
        "{x} = [{f}()]",
        "def {f}(): return {x}",
        "def {f}(): {x}.append({n}); return {x}",
        "def {f}(): return pair({x}, {y})",
        "def {f}():\n    global {x}\n    {x} = [{n}]\n    return {y}",
        "{f} = lambda: {x}",
        "h = make({x})",
        "m = {{'k': {x}}}",
        "{x} = m['k']",
        "{x} = [v for v in {y} if v is not {z}]",
        "for i in range(2): {x}.append(i)",
        "for v in ({x}, {y}): v.append({n})",
        "{x} = (t := {y})",
        "del {x}",
        "del {x}\n{x} = [{n}]",
        "try:\n    {x} = {y}\n    {x}.append(1 // (x - 1))\nexcept ZeroDivisionError:\n    {z} = {x}",
        "while len({x}) < 3:\n    {x} = {x} + [{n}]\n    if len({y}) > 2: break\n    {y}.append({n})",
        "match {x}:\n    case [first, *rest]: {y} = rest\n    case _: {y} = {z}",
        "with open('/dev/null') as file: {x} = [{n}]",
        "x = len({x})",
        "x += 1",
        "print({x}, {y})",
        "print({x} is {y})",
        "print({p}.v, {q}.v)",
        "print({f}())",
        "print(x, i)",
        "{p}.put({n})",
        "print(Box.shelf)",
        "e = iter({x})",
        "{y} = [next(e, 0)]",
    ]
).flatmap(_two)


TABLES = """\
import numpy as np
import pandas as pd
def frame(k): return pd.DataFrame({"a": [k, 2.0, None], "b": [1.0, k, 3.0]})
def grown(df, k):
    df["c"] = k
    return df
def scaled(x, k): return x * k
def zeroed(x):
    x[0] = 0
    return x
def both(df): return df[df.b > 1], df["b"]
"""
TABLES_START = """\
t, u = frame(1.0), frame(2.0)
v, w = np.arange(4.0), np.ones(4)
s = [v]
k, y = np.zeros((2, 2)), frame(3.0)["b"]
"""
_table = st.sampled_from(["t", "u"])
_array = st.sampled_from(["v", "w"])
TABLE_STATEMENT = st.sampled_from(
    [
        "{t} = frame({n}.0)",
        "{t} = {u}",
        "{t} = {u}.copy()",
        "{t} = {u}.dropna()",
        "{t}['c'] = {n}",
        "{t}['b'] = {t}['b'] + {n}",
        "{t} = grown({u}, {n})",
        "grown({t}, {n})",
        "{t}.loc[0, 'b'] = {n}",
        "{t}.loc[{t}.b > 1, 'b'] = {n}",
        "{t}.drop(columns='b', errors='ignore', inplace=True)\n{t}['b'] = 1.0",
        "{t}.fillna({n}, inplace=True)",
        "{t} = {u}[{u}.b > {n}]",
        "{t} = {u}[['a', 'b']]",
        "{t}, y = both({u})",
        "y = {t}['b']",
        "y = {t}.b.values",
        "y = {t}.iloc[:, 1]",
        "y = {t}.iloc[1:]['b']",
        "y = {t}.to_numpy()[:, 1]",
        "y = {t}.T.loc['b']",
        "y = pd.Series({v})",
        "{t} = pd.DataFrame({{'a': {v}, 'b': {w}}})",
        "{v} = {t}['b'].to_numpy()[:2]\n{v}.resize(4, refcheck=False) if {v}.base is None else None",
        "y[0] = {n}",
        "{t} = {u}.assign(b={n}.0)",
        "{t} = pd.concat([{t}, {u}])[:4]",
        "{v} = np.arange({n}.0, {n}.0 + 4)",
        "{v} = {w}",
        "{v} = {w}.copy()",
        "{v} = {w}[:]",
        "{v} = {w}[::-1]",
        "{v} = {w}.reshape(2, 2).ravel()",
        "k = {v}[:4].reshape(2, 2)",
        "k = np.atleast_2d({v}).T",
        "k, g = k.T, {w}",
        "k[0] = {n}",
        "k += {n}",
        "{v} = k.ravel()",
        "h, {v} = np.split({w}, [1])[0], {w}.view()",
        "h[0] = {n}",
        "{v} = np.broadcast_to({w}, (2, {w}.size))[0]",
        "s = {{'k': k, 'y': y}}\ns = [s['k'][0], {v}]",
        "{v} = scaled({w}, {n})",
        "{v} = zeroed({w})",
        "zeroed({v})",
        "{v}[0] = {n}",
        "{v} += {n}",
        "{v} = {v} + {w}",
        "{v}[{v} > 1] = {n}",
        "{v} = {w}[{w} > 1]\n{v} = np.resize({v}, 4)",
        "np.copyto({v}, {w})",
        "np.add({v}, {w}, out={v})",
        "{v} = np.asarray({w})",
        "{v}.sort()",
        "{v} = np.sort({w})",
        "s = [{v}, {w}]",
        "s.append({v})",
        "s[0][1] = {n}",
        "{v} = s[0]",
        "for r in s: r[0] = {n}",
        "q, r = {v}[:2], {v}[2:]\nq[0] = r[0]",
        "print({t}.b.sum(), {v}.sum())",
        "print({t}.shape, {v})",
        "m = {{'t': {t}, 'v': {v}}}",
        "{v} = m['v']",
        "m['v'][0] = {n}",
        "rng = np.random.default_rng({n})",
        "{v} = rng.normal(size=4)",
        "g = np.random.default_rng({n}).normal(size=4)\n{v} = g",
    ]
).flatmap(lambda template: _filled(template, t=_table, u=_table, v=_array, w=_array, n=_number))


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


CONDITIONAL = st.tuples(SIMPLE, SIMPLE).map(
    lambda pair: f"if flag:\n{_indented(pair[0])}\nelse:\n{_indented(pair[1])}"
)
STATEMENT = st.one_of(SIMPLE, SIMPLE, SIMPLE, CONDITIONAL)
CELL = st.tuples(st.integers(0, 3), st.lists(STATEMENT, min_size=1, max_size=3).map("\n".join))
TABLE_CELL = st.tuples(st.integers(0, 4), st.lists(TABLE_STATEMENT, min_size=1, max_size=2).map("\n".join))
MANY = int(os.environ.get("FLOWC_PROGRAMS", "150"))


@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(CELL, min_size=2, max_size=8), st.booleans(), st.booleans(), st.booleans())
def test_a_pipeline_is_its_notebook(
    cells: list[tuple[int, str]], flag: bool, in_order: bool, compare: bool
) -> None:
    if in_order:
        cells = sorted(cells, key=lambda cell: cell[0])
    notebook = [["parameters", "flag = True"], ["functions", PRELUDE], ["step:start", START]]
    notebook += [[f"step:s{step}", source] for step, source in cells]
    notebook.append(["step:end", END + (COMPARE if compare else "")])
    _compare(notebook, {"flag": flag})


@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TABLE_CELL, min_size=2, max_size=8), st.booleans())
def test_tables_and_arrays_in_a_pipeline_are_those_of_its_notebook(
    cells: list[tuple[int, str]], in_order: bool
) -> None:
    if in_order:
        cells = sorted(cells, key=lambda cell: cell[0])
    notebook = [
        ["functions", TABLES],
        ["step:start", TABLES_START + "m = {'t': t, 'v': v}\nh = np.ones(1)\nrng = np.random.default_rng(0)"],
    ]
    notebook += [[f"step:s{step}", source] for step, source in cells]
    notebook.append(["step:end", "print(t, u, v, w, s, m['v'], rng.normal(), k, y, h)"])
    _compare(notebook, {})


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    runner = LocalRunner(workers=2)
    yield runner
    runner.close()


@settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(cells=st.lists(CELL, min_size=3, max_size=8), flag=st.booleans())
def test_real_workers_give_what_the_notebook_gives(
    runner: LocalRunner, cells: list[tuple[int, str]], flag: bool
) -> None:
    notebook = [["parameters", "flag = True"], ["functions", PRELUDE], ["step:start", START]]
    notebook += [[f"step:s{step}", source] for step, source in sorted(cells, key=lambda cell: cell[0])]
    notebook.append(["step:end", f"shown = repr(({END[6:-1]}))"])
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        (folder / "pyproject.toml").touch()
        path = write_cells(folder, notebook)
        try:
            compiled = api.compile(api.load_target(str(path), folder))
        except CompileError:
            assume(False)
        plain = run_plainly(path, compiled.pipeline, {"flag": flag})
        assume(not plain.errors)
        plan = make_plan(api.check(compiled), {"flag": flag}, compiled.root)
        with temporary_store() as store:
            result = run_plan(plan, runner=runner, store=store, label=RunLabel("test", "local"))
            assert {task: outcome.state for task, outcome in result.tasks.items()} == dict.fromkeys(
                result.tasks, "COMPLETE"
            )
            shown = store.artifact_store.load(result.tasks["end"].outputs["shown"], AnyType())
    assert shown == plain.values["shown"]


def _compare(notebook: list[list[str]], parameters: dict[str, Any]) -> None:
    """Assert that a notebook prints as a pipeline what it prints from top to bottom, or is refused."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = write_cells(Path(folder), notebook)
        try:
            compiled = explain_notebook(path, Path(folder))
        except CompileError as error:
            for code in sorted(
                {problem.code for problem in error.diagnostics if problem.severity == "error"}
            ):
                event(f"refused {code}")
            return
        plain = run_plainly(path, compiled.pipeline, parameters)
        piped = run_pipeline(compiled.pipeline, Path(folder), parameters)
    if plain.errors:
        event("fails in a kernel too")
        return
    if "SharedMemoryError" in piped.errors.values():
        event("refused at run time")
        return
    event("runs")
    assert not piped.errors, piped.errors
    assert piped.printed == plain.printed
