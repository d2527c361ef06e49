"""The worker's side: execute one attempt of a task, wherever it is. The same code runs under every runner.

Whatever the user's code does, a result comes back; only the death of the process can prevent it.
"""

from __future__ import annotations

import functools
import os
import pickle
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from flowc.engine.failure import task_error
from flowc.engine.libraries import Generators, generators_from
from flowc.engine.logs import append, copied_output, finish_output, take_over_output
from flowc.engine.observe import Observer, observing
from flowc.engine.ports import about, held_input, held_outputs
from flowc.engine.surroundings import own_surroundings
from flowc.errors import CodecError, FlowcError
from flowc.ir import NotebookCode, Port
from flowc.notebook.crossing import Unbound
from flowc.python.load import load_code, prepare_modules
from flowc.runner import CodeBase, Input, Literal, Observed, Packed, Reference, TaskCall, TaskResult
from flowc.store.artifacts import ArtifactStore
from flowc.store.files import FileDigests
from flowc.store.places import file_digests
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
            result = _attempted(call, result, own_process=True)
            finish_output()
        else:
            with copied_output(call.log):
                result = _attempted(call, result, own_process=False)
        if result.error:
            append(call.log, result.error.traceback or f"{result.error.kind}: {result.error.message}\n")
    except BaseException as error:  # noqa: BLE001  # see `_attempted`: what is left is the log's
        result = replace(result, outputs={}, error=task_error(error, f"can't write the log {call.log}: "))
    return replace(result, ended=time.time())


def _attempted(call: TaskCall, result: TaskResult, *, own_process: bool) -> TaskResult:
    observer = Observer(str(call.code_base.root), str(call.store.parent), call.given, call.watched)
    digests = _file_digests(file_digests(call.store.parent))
    try:
        with observing(observer, digests), _surroundings(call, own_process=own_process), scratch():
            result = replace(result, outputs=_outputs(call))
    except BaseException as error:  # noqa: BLE001  # whatever the user's code does is a result
        return replace(result, error=task_error(error))
    return replace(result, observed=_observed(observer, digests))


def _observed(observer: Observer, digests: FileDigests) -> Observed:
    try:
        return observer.result(digests)
    except FlowcError as error:
        return Observed(unrepeatable=error.message)


@contextmanager
def _surroundings(call: TaskCall, *, own_process: bool) -> Iterator[None]:
    """Let a task find what it finds in a new process that has imported the run's modules."""
    notebook = isinstance(call.code, NotebookCode)
    start = _seeded_by(call.code_base.root, tuple(call.code_base.modules.items()))
    prepare_modules(call.code_base)
    with own_surroundings(call.code_base.root, forget_modules=notebook):
        if notebook or own_process:
            with generators_from(start):
                yield
        else:  # this is somebody's own process, which has imported the modules before us
            yield


@functools.lru_cache(maxsize=8)
def _seeded_by(root: Path, modules: tuple[tuple[str, str], ...]) -> Generators | None:
    """Import a run's modules; return the state of the generators where one of them seeds them."""
    before = Generators.now()
    prepare_modules(CodeBase(root, dict(modules)))
    after = Generators.now()
    return after if after.moved_since(before) else None


def _outputs(call: TaskCall) -> dict[str, Stored]:
    store = _artifacts(call.store)
    if isinstance(call.code, NotebookCode):
        from flowc.notebook.execute import notebook_step  # not for Python files
        from flowc.notebook.outputs import outputs_of

        inputs = _Inputs(_with_own_literals(call), store)
        shown = outputs_of(call.log)
        returned: Any = notebook_step(call.component, call.code_base, inputs, shown, call.guards)
    else:
        returned = load_code(call.code)(**_Inputs(call, store))
    held = held_outputs(call.component, returned)
    return {port.name: _saved(store, port, held[port.name]) for port in call.component.outputs}


def _with_own_literals(call: TaskCall) -> TaskCall:
    """Return the call with parameters that are its own in this process too: notebooks change what they are given."""
    own = {
        name: pickle.loads(pickle.dumps(given)) if isinstance(given, Literal) else given  # noqa: S301  # our own bytes
        for name, given in call.inputs.items()
    }
    return replace(call, inputs=own)


@functools.lru_cache(maxsize=8)
def _artifacts(root: Path) -> ArtifactStore:
    """Return this process's store: it remembers which artifacts it has verified."""
    return ArtifactStore(root)


@functools.lru_cache(maxsize=8)
def _file_digests(memory: Path) -> FileDigests:
    return FileDigests(memory)


class _Inputs(Mapping[str, Any]):
    """A call's inputs by port, each loaded when it is looked up: a notebook's may need its definitions first."""

    def __init__(self, call: TaskCall, store: ArtifactStore) -> None:
        self._given = call.inputs
        self._ports = {port.name: port for port in call.component.inputs}
        self._store = store

    def __getitem__(self, name: str) -> Any:
        given = self._given[name]
        with about(f"input '{name}'"):
            return _value(given, self._ports[name], self._store)

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def _value(given: Input, port: Port, store: ArtifactStore) -> Any:
    match given:
        case Literal():
            return given.passed
        case Packed():
            return given.value()
        case Reference(ref=ref):
            found = resolve_ref(ref)
            return getattr(found, "function", found)
    return held_input(port, store.load(given, port.type))


def _saved(store: ArtifactStore, port: Port, value: Any) -> Stored:
    with about(f"output '{port.name}'"):
        try:
            return store.save(value, port.type)
        except CodecError as error:
            if port.required:
                raise
            # Nobody reads a notebook's result that may be left out: the run does not fail for it.
            return store.save(Unbound(port.name, error.message, missing=False), port.type)
