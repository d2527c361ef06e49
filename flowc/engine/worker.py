"""The worker's side: execute one attempt of a task, wherever it is. The same code runs under every runner.

Whatever the user's code does, a result comes back; only the death of the process can prevent it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from flowc.engine.failure import task_error
from flowc.engine.logs import copied_output, finish_output, take_over_output
from flowc.engine.ports import about, held_input, held_outputs
from flowc.ir import NotebookCode, Port
from flowc.python.load import load_code, prepare_modules
from flowc.runner import Input, Literal, Packed, Reference, TaskCall, TaskResult
from flowc.store.artifacts import ArtifactStore
from flowc.store.stored import Stored
from flowc.types.names import resolve_ref
from flowc.workspace import scratch


def execute(call: TaskCall, *, own_process: bool = False) -> TaskResult:
    """Load the inputs, call the code, save the outputs; return what came of it, never raise.

    With `own_process`, this process does nothing else: its stdout and stderr, also C code's and children's, become
    the attempt's log. Else what Python prints is copied there.
    """
    result = TaskResult(started=time.time(), ended=0.0, worker=f"{platform.node()}:{os.getpid()}")
    try:
        if own_process:
            take_over_output(call.log)
            result = _reported(call, result)
            finish_output()
        else:
            with copied_output(call.log):
                result = _reported(call, result)
    except BaseException as error:  # noqa: BLE001  # see `_reported`: what is left is the log's
        result = replace(result, outputs={}, error=task_error(error, f"can't write the log {call.log}: "))
    return replace(result, ended=time.time())


def _reported(call: TaskCall, result: TaskResult) -> TaskResult:
    """Return the result with outputs or error; an error is also the last thing in the log."""
    try:
        with _surroundings_restored(), scratch():
            return replace(result, outputs=_outputs(call))
    except BaseException as raised:  # noqa: BLE001  # whatever the user's code does is a result
        error = task_error(raised)
    with contextlib.suppress(OSError, ValueError):  # the log's disk is full, or the task closed its stderr
        sys.stderr.write(error.traceback or f"{error.kind}: {error.message}\n")
    return replace(result, error=error)


@contextlib.contextmanager
def _surroundings_restored() -> Iterator[None]:
    """Undo what a task does to the environment and the current folder: the next one may run in this process."""
    folder, environment = Path.cwd(), dict(os.environ)
    try:
        yield
    finally:
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        os.chdir(folder)


def _outputs(call: TaskCall) -> dict[str, Stored]:
    store = _artifacts(call.store)
    if isinstance(call.code, NotebookCode):
        returned: Any = _notebook_step(call, store)
    else:
        function = load_code(call.code, call.code_base)
        returned = function(**_inputs(call, store))
    held = held_outputs(call.component, returned)
    return {port.name: _saved(store, port, held[port.name]) for port in call.component.outputs}


def _notebook_step(call: TaskCall, store: ArtifactStore) -> dict[str, Any]:
    from flowc.notebook.execute import (
        notebook_step,
        register_definitions,
    )  # needs IPython: not for Python files

    prepare_modules(call.code_base)
    register_definitions(call.code_base)
    return notebook_step(call.component, call.code_base, _inputs(call, store))


@functools.lru_cache(maxsize=8)
def _artifacts(root: Path) -> ArtifactStore:
    """Return this process's store: it remembers which artifacts it has verified."""
    return ArtifactStore(root)


def _inputs(call: TaskCall, store: ArtifactStore) -> dict[str, Any]:
    ports = {port.name: port for port in call.component.inputs}
    values = {}
    for name, given in call.inputs.items():
        with about(f"input '{name}'"):
            values[name] = _value(given, ports.get(name) or Port(name=name), store)
    return values


def _value(given: Input, port: Port, store: ArtifactStore) -> Any:
    match given:
        case Literal():
            return given.value
        case Packed():
            return given.value()
        case Reference(ref=ref):
            found = resolve_ref(ref)
            return getattr(found, "function", found)
    return held_input(port, store.load(given, port.type))


def _saved(store: ArtifactStore, port: Port, value: Any) -> Stored:
    with about(f"output '{port.name}'"):
        return store.save(value, port.type)
