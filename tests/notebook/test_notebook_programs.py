"""Random notebooks: as a pipeline each prints what it prints from top to bottom, or it is refused."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from running import run_pipeline, run_plainly, write_cells

from flowc.errors import CompileError
from flowc.notebook.lower import explain_notebook

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
START = "m, e = {'k': []}, iter([])\na, b, c, d = [1], [2], [3], [4]\np, q = Box([5]), Box([6])\ndef f(): return a\ndef g(): return b\ni = 0\nx = 1"
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


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


CONDITIONAL = st.tuples(SIMPLE, SIMPLE).map(
    lambda pair: f"if flag:\n{_indented(pair[0])}\nelse:\n{_indented(pair[1])}"
)
STATEMENT = st.one_of(SIMPLE, SIMPLE, SIMPLE, CONDITIONAL)
CELL = st.tuples(st.integers(0, 3), st.lists(STATEMENT, min_size=1, max_size=3).map("\n".join))
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
    with tempfile.TemporaryDirectory() as folder:
        path = write_cells(Path(folder), notebook)
        try:
            compiled = explain_notebook(path, Path(folder))
        except CompileError as error:
            for code in sorted(
                {problem.code for problem in error.diagnostics if problem.severity == "error"}
            ):
                event(f"refused {code}")
            return
        plain = run_plainly(path, compiled.pipeline, {"flag": flag})
        piped = run_pipeline(compiled.pipeline, Path(folder), {"flag": flag})
    if plain.errors:
        event("fails in a kernel too")
        return
    event("runs")
    assert not piped.errors, piped.errors
    assert piped.printed == plain.printed
