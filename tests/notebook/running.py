"""Run a compiled notebook without a runner, and the notebook itself from top to bottom, to compare the two."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle

from flowc.ir import FromParameter, FromTask, NotebookCode, Pipeline, Task
from flowc.notebook.captures import Captures
from flowc.notebook.crossing import Unbound
from flowc.notebook.displays import Displays
from flowc.notebook.execute import line_functions, notebook_step
from flowc.notebook.lines import plain_cell
from flowc.notebook.reader import read_notebook
from flowc.notebook.tags import read_tags
from flowc.runner import CodeBase
from flowc.types.validate import validated_json

NAME = "notebook.ipynb"


def write_cells(folder: Path, cells: list[list[str]]) -> Path:
    """Write a notebook of (tags, source) cells; tags are separated by spaces."""
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            {
                "cell_type": "markdown" if tags == "markdown" else "code",
                "id": f"c{index}",
                "metadata": {"tags": tags.split()} if tags != "markdown" else {},
                "source": source,
                **({} if tags == "markdown" else {"outputs": [], "execution_count": None}),
            }
            for index, (tags, source) in enumerate(cells)
        ],
    }
    path = folder / NAME
    path.write_text(json.dumps(document))
    return path


@dataclass
class Outcome:
    """What was printed, by step, and what was left at the end, by name."""

    printed: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


class LazyInputs(Mapping[str, Any]):
    """Inputs that are unpickled when they are looked up, as a worker may do it."""

    def __init__(self, loaders: dict[str, Callable[[], Any]]) -> None:
        self._loaders = loaders

    def __getitem__(self, name: str) -> Any:
        return self._loaders[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaders)

    def __len__(self) -> int:
        return len(self._loaders)


def run_pipeline(pipeline: Pipeline, folder: Path, given: dict[str, Any] | None = None) -> Outcome:
    """Run the tasks in an order of their edges, with a pickle round trip between any two."""
    arguments = {
        parameter.name: validated_json(parameter.type, (given or {}).get(parameter.name, parameter.default))
        for parameter in pipeline.parameters
    }
    base = CodeBase(root=folder, modules={}, notebook=NAME, cells=pipeline.cells)
    outcome, stored = Outcome(), {}
    for task in in_order(pipeline):
        if any(name not in stored for name in task.upstream()):
            continue
        loaders: dict[str, Callable[[], Any]] = {}
        for port, binding in task.inputs.items():
            if isinstance(binding, FromTask):
                data = stored[binding.task][binding.output]
                loaders[port] = lambda data=data: pickle.loads(data)
            else:
                assert isinstance(binding, FromParameter)
                data = pickle.dumps(arguments[binding.parameter])
                loaders[port] = lambda data=data: pickle.loads(data)
        component = pipeline.component_of(task)
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                outputs = notebook_step(component, base, LazyInputs(loaders))
        except Exception as error:  # noqa: BLE001 (the notebook's own)
            outcome.errors[task.name] = type(error).__name__
            continue
        finally:
            outcome.printed[task.name] = printed.getvalue()
        if [port.name for port in component.outputs] == ["output"]:
            outputs = {"output": outputs}
        stored[task.name] = {port: cloudpickle.dumps(value) for port, value in outputs.items()}
        for port, value in outputs.items():
            if not isinstance(value, Unbound) and "+" not in port:
                outcome.values[port] = value
    return outcome


def in_order(pipeline: Pipeline) -> list[Task]:
    """Return the tasks in an order that their edges allow: the last that is ready first, unlike the notebook's."""
    waiting, done, order = list(pipeline.tasks), set(), []
    while waiting:
        task = next(task for task in reversed(waiting) if done.issuperset(task.upstream()))
        waiting.remove(task)
        done.add(task.name)
        order.append(task)
    return order


class _Present(io.TextIOBase):
    """What `sys.stdout` is when something is written."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)


def run_plainly(path: Path, pipeline: Pipeline, given: dict[str, Any] | None = None) -> Outcome:
    """Run all cells in one namespace from top to bottom, stopping at the first error, as a fresh kernel would."""
    notebook = read_notebook(path, path.parent)
    tagged, _ = read_tags(notebook)
    steps = {index: task.name for task in pipeline.tasks for index in _code(pipeline, task).cells}
    module = types.ModuleType("__main__")
    namespace = vars(module)
    with contextlib.redirect_stdout(_Present()):
        displays = Displays(module, None)
    namespace.update(line_functions(displays, Captures(displays)))
    outcome = Outcome(printed={task.name: "" for task in pipeline.tasks})
    main = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        with contextlib.chdir(path.parent):
            for cell in notebook.cells:
                if cell.kind != "code" or tagged[cell.index].part == "skip":
                    continue
                plain, _ = plain_cell(notebook, cell)
                assert plain is not None
                printed = io.StringIO()
                own = [p.name for p in pipeline.parameters if p.source and p.source.cell == cell.index]
                here = {name: value for name, value in (given or {}).items() if name in own}
                source = _overridden(plain.source, here) if here else plain.source
                try:
                    with contextlib.redirect_stdout(printed):
                        _run_cell(source, namespace)
                finally:
                    if cell.index in steps:
                        outcome.printed[steps[cell.index]] += printed.getvalue()
    except Exception as error:  # noqa: BLE001 (the notebook's own)
        outcome.errors["plain"] = type(error).__name__
    finally:
        sys.modules["__main__"] = main
    outcome.values = namespace
    return outcome


def _code(pipeline: Pipeline, task: Task) -> NotebookCode:
    code = pipeline.component_of(task).code
    assert isinstance(code, NotebookCode)
    return code


def _overridden(source: str, given: dict[str, Any]) -> str:
    """Return the parameters cell with other values, each set right after the statement that assigns it first."""
    waiting = dict(given)
    lines: list[str] = []
    for node in ast.parse(source).body:
        lines.append(ast.unparse(node))
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [each.id for one in targets if one for each in ast.walk(one) if isinstance(each, ast.Name)]
        lines += [f"{name} = {waiting.pop(name)!r}" for name in names if name in waiting]
    return "\n".join(lines)


def _run_cell(source: str, namespace: dict[str, Any]) -> None:
    tree = ast.parse(source)
    last = (
        ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    )
    for part, mode in ((tree, "exec"), (last, "eval")):
        if part is None:
            continue
        code = compile(part, "<plain>", mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, namespace)
        if code.co_flags & inspect.CO_COROUTINE:
            result = asyncio.run(_awaited(result))
        if mode == "eval" and result is not None:
            print(repr(result))  # noqa: T201 (as a notebook shows it)


async def _awaited(coroutine: Any) -> Any:
    return await coroutine
