"""The worker's side: run one step's cells and hand back the names that leave it.

A step runs in the dictionary of one module, under one name for the whole notebook. So its classes pickle by name,
its functions see its globals as they are when called, and nothing is left for the next step: that has a new module.
"""

from __future__ import annotations

import ast
import asyncio
import ctypes
import enum
import importlib.util
import inspect
import linecache
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle

from flowc.errors import RunnerError
from flowc.ir import Cell, Component, NotebookCode, port_names
from flowc.notebook.captures import Captures
from flowc.notebook.crossing import Bundle, Unbound
from flowc.notebook.displays import Displays
from flowc.notebook.generators import generator_state, is_generator, set_generator_state
from flowc.notebook.guard import Watchman
from flowc.notebook.lines import (
    CAPTURE,
    CAPTURED,
    CAPTURED_UNNAMED,
    DISPLAY,
    ENVIRONMENT,
    SCRIPT,
    SHELL,
    SHELL_OUTPUT,
    WRITE_FILE,
    is_quiet,
)
from flowc.notebook.lower import definitions_module
from flowc.notebook.memory import hold_apart
from flowc.notebook.outputs import CellStream, OutputFile, log_of
from flowc.notebook.own_thread import run_in_loop
from flowc.notebook.results import is_result
from flowc.notebook.timed import TIMEIT
from flowc.runner import CodeBase, Guard


def register_definitions(code_base: CodeBase) -> types.ModuleType:
    """Register a new, empty module for the definitions of a notebook's step; that of an earlier step is gone."""
    if code_base.notebook is None:
        raise RunnerError("a notebook's step came without its notebook")
    name = definitions_module(code_base.notebook)
    module = types.ModuleType(name)
    sys.modules[name] = module
    return module


def notebook_step(
    component: Component,
    code_base: CodeBase,
    inputs: Mapping[str, Any],
    outputs: Path | None = None,
    guards: Sequence[Guard] = (),
) -> dict[str, Any]:
    """Run a step's cells and return its outputs by port; `outputs` is where what the cells show is written down.

    An input is looked up only when the definitions before it have run, so a mapping that loads values when they
    are looked up can unpickle instances of the notebook's classes. A name without a value at the end comes back as
    `Unbound`; several names in one port as a `Bundle`. Raises ChangedInputError where a guard finds an input that
    was changed in place.
    """
    assert isinstance(component.code, NotebookCode)
    module = register_definitions(code_base)
    with _surroundings(code_base), _shown(outputs) as shown:
        displays = Displays(module, shown)
        step = _Step(component, code_base, vars(module), _Shell(displays, shown))
        with displays.in_place(), _kept_streams(shown):
            # As in a kernel, a loop is running, so that cells may begin tasks.
            made = run_in_loop(step.made(component, inputs, Watchman(component.name, guards, inputs)))
    # The engine takes what a lone port "output" gives as the value itself.
    return made["output"] if list(made) == ["output"] else made


@contextmanager
def _shown(path: Path | None) -> Iterator[OutputFile | None]:
    if path is None:
        yield None
        return
    file = OutputFile(path)
    file.watch(log_of(path))
    try:
        yield file
    finally:
        file.close()


@contextmanager
def _kept_streams(shown: OutputFile | None) -> Iterator[None]:
    with ExitStack() as stack:
        if shown is not None:
            stack.enter_context(redirect_stdout(CellStream("stdout", sys.stdout, shown)))
            stack.enter_context(redirect_stderr(CellStream("stderr", sys.stderr, shown)))
        yield


@dataclass(frozen=True, slots=True)
class _Shell:
    """What cells run in besides their namespace: where values are shown, and where that is kept."""

    displays: Displays
    shown: OutputFile | None


class _Step:
    def __init__(
        self, component: Component, code_base: CodeBase, namespace: dict[str, Any], shell: _Shell
    ) -> None:
        assert isinstance(component.code, NotebookCode)
        self._name, self._code = component.name, component.code
        self._cells = {cell.index: cell for cell in code_base.cells}
        self._notebook = Path(code_base.notebook or "")
        self._namespace = namespace
        self._shell = shell
        self._left: dict[str, Callable[[], Any]] = {}
        self._captures = Captures(shell.displays)

    async def made(
        self, component: Component, inputs: Mapping[str, Any], watchman: Watchman
    ) -> dict[str, Any]:
        """Run the cells and return what each port of the component gives."""
        await self._run(inputs, watchman)
        return {port.name: self.output(port.name, optional=not port.required) for port in component.outputs}

    async def _run(self, inputs: Mapping[str, Any], watchman: Watchman) -> None:
        """Run the cells in the notebook's order, setting each input before the cell that it enters at."""
        first, enters = self._code.cells[0], self._code.enters
        # Generators come last: loading other values may import what draws from them.
        waiting = sorted(
            inputs, key=lambda port: (enters.get(port, first), self._position(port), is_generator(port))
        )
        self._namespace.update(line_functions(self._shell.displays, self._captures))
        for index in sorted({*self._code.shared, *self._code.cells}):
            with self._noted(index):
                cell, part = self._cells[index], self._code.parts.get(index)
                while waiting and enters.get(waiting[0], first) <= index:
                    port = waiting.pop(0)
                    if part is not None and (position := self._position(port)) > 0:
                        # A parameter may be a member of an enum that its own cell defines above it.
                        await self._run_cell(
                            cell, tuple(each for each in part if each < position), whole=False
                        )
                        part = tuple(each for each in part if each > position)
                    self._enter(port, inputs[port], watchman)
                await self._run_cell(cell, part)
                await asyncio.sleep(0)  # between cells, tasks that they began have their turn
                for port in [port for port, cell in enters.items() if cell == index not in self._code.cells]:
                    watchman.settle(port)
                self._leave(index, watchman)
                watchman.check(index)

    def _position(self, port: str) -> int:
        """Return which statement of the cell that a port enters at is the assignment it takes the place of."""
        index = self._code.enters.get(port, self._code.cells[0])
        part = self._code.parts.get(index)
        for position, statement in enumerate(
            ast.parse(self._cells[index].source).body if part is not None else ()
        ):
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            names = {
                each.id for one in targets if one for each in ast.walk(one) if isinstance(each, ast.Name)
            }
            if position not in (part or ()) and port in names:
                return position
        return 0

    @contextmanager
    def _noted(self, index: int) -> Iterator[None]:
        """Write down when a cell begins, and when it comes to its end; one that fails does not."""
        shown = self._shell.shown
        if shown is not None:
            shown.begin(index)
        try:
            yield
        finally:
            self._captures.release()
            self._shell.displays.end_cell()
        if shown is not None:
            ctypes.CDLL(None).fflush(None)  # what C code holds back is the cell's
            shown.end()

    def _enter(self, port: str, value: Any, watchman: Watchman) -> None:
        for name in port_names(port):
            one = value.values[name] if isinstance(value, Bundle) else value
            if is_generator(name):
                if not isinstance(one, Unbound):
                    set_generator_state(name, one)
            elif isinstance(one, Unbound):
                self._namespace.pop(name, None)
            else:
                self._namespace[name] = self._as_enum(name, one)
                watchman.note(port, name, one)

    def _as_enum(self, name: str, value: Any) -> Any:
        """Return the member that a parameter's text names, where the notebook writes it as an Enum's."""
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in texts):
            return value
        written = self._cells.get(self._code.enters.get(name, self._code.cells[0]))
        for enum_class in self._enums_in(name, written.source if written else ""):
            if all(text in enum_class.__members__ for text in texts):
                members = [enum_class[text] for text in texts]
                return members if isinstance(value, list) else members[0]
        return value

    def _enums_in(self, name: str, source: str) -> Iterator[type[enum.Enum]]:
        """Yield the enums that the parameters cell's assignment of `name` speaks of."""
        for statement in ast.parse(source).body:
            nodes = list(ast.walk(statement))
            if any(isinstance(node, ast.Name) and node.id == name for node in nodes):
                found = [self._namespace.get(node.id) for node in nodes if isinstance(node, ast.Name)]
                yield from (each for each in found if isinstance(each, type) and issubclass(each, enum.Enum))

    async def _run_cell(self, cell: Cell, part: tuple[int, ...] | None, *, whole: bool = True) -> None:
        file = f"{self._notebook.name} cell {cell.index}"
        # With no time the cache takes the lines for good: a traceback shows the user's own.
        linecache.cache[file] = (len(cell.source), None, cell.source.splitlines(keepends=True), file)
        tree = ast.parse(cell.source)
        if part is not None:
            tree.body = [tree.body[position] for position in part]
        result = _last_expression(tree) if whole and cell.index in self._code.cells else None
        await self._execute(tree, file, "exec")
        if result is not None:
            value = await self._execute(result, file, "eval")
            if not is_quiet(cell.source):
                self._shell.displays.show_result(value)

    async def _execute(self, tree: ast.Module | ast.Expression, file: str, mode: str) -> Any:
        _MainName().visit(tree)
        code = compile(tree, file, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        result = eval(code, self._namespace)  # noqa: S307  # running the user's code is what we are for
        return await result if code.co_flags & inspect.CO_COROUTINE else result

    def output(self, port: str, *, optional: bool) -> Any:
        """Return what a port gives: a value, a Bundle for several names, or Unbound."""
        if port in self._left:
            return self._left[port]()
        names = port_names(port)
        values = {name: self._leaving(name, optional) for name in names}
        if port in self._code.apart:
            hold_apart(self._name, port, Bundle(values))
        # Codecs for plain data write a list twice that is there twice; a pickle keeps it one.
        alone = len(names) == 1 and not _holds_twice(values[names[0]], set())
        return values[names[0]] if alone else Bundle(values)

    def _leave(self, cell: int, watchman: Watchman) -> None:
        """Take copies of what leaves as it is after a cell: later ones may change it."""
        for port in [port for port, after in self._code.leaves.items() if after == cell]:
            values = self.output(port, optional=False)
            self._left[port] = _copy(port, values)
            for name in port_names(port):
                value = values.values[name] if isinstance(values, Bundle) else values
                watchman.note_left(port, name, value, self._left[port])

    def _leaving(self, name: str, optional: bool) -> Any:
        if is_generator(name):
            return generator_state(name)
        if name not in self._namespace:
            return Unbound(name, "it has no value at the end of the step")
        value = self._namespace[name]
        if optional and not is_result(value, self._namespace["__name__"]):
            return Unbound(name, f"a {type(value).__qualname__} is not kept as a result", missing=False)
        return value


def _copy(port: str, value: Any) -> Callable[[], Any]:
    """Return what makes a value again as it is now, whatever becomes of it."""
    try:
        return partial(pickle.loads, cloudpickle.dumps(value))
    except Exception as error:
        names = " and ".join(f"'{name}'" for name in port_names(port))
        raise RunnerError(
            f"{names} can't be copied where another step reads it before this one's last cell: {error}",
            hint="put the cells below the reader in a step of their own",
        ) from error


class _MainName(ast.NodeTransformer):
    """Lets `__name__` be what a kernel says, while the module has a name that can be imported."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "__name__" and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant("__main__"), node)
        return node


def _last_expression(tree: ast.Module) -> ast.Expression | None:
    """Take a cell's last expression off its tree, whose value a notebook shows."""
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        return ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    return None


def _holds_twice(value: Any, seen: set[int]) -> bool:
    """Say whether plain containers hold one list, dict or set in two places, or themselves."""
    if type(value) not in (list, dict, tuple, set):
        return False
    if id(value) in seen:
        return True
    if type(value) is not tuple:
        seen.add(id(value))
    return any(_holds_twice(item, seen) for item in (value.values() if isinstance(value, dict) else value))


@contextmanager
def _surroundings(code_base: CodeBase) -> Iterator[None]:
    """Be in the notebook's folder, with its modules importable, and leave things as they were."""
    folder, path = Path.cwd(), list(sys.path)
    home = (code_base.root / (code_base.notebook or "")).parent
    # A worker has no screen; matplotlib asks for its backend when it is first imported.
    inline = importlib.util.find_spec("matplotlib_inline") is not None
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline" if inline else "Agg")
    os.chdir(home)
    sys.path.insert(0, str(home))
    try:
        yield
    finally:
        os.chdir(folder)
        sys.path[:] = path


def line_functions(displays: Displays, captures: Captures) -> dict[str, Any]:
    """Return what lines that are not Python are translated to, for a step that shows its values by `displays`."""
    from flowc.notebook import shell, stopwatch

    return {
        SHELL: shell.run_line,
        SHELL_OUTPUT: shell.line_output,
        SCRIPT: shell.run_script,
        WRITE_FILE: shell.write_file,
        ENVIRONMENT: shell.set_variable,
        TIMEIT: stopwatch.measure,
        DISPLAY: displays.show_content,
        CAPTURE: captures.begin,
        CAPTURED: captures.end,
        CAPTURED_UNNAMED: captures.end_unnamed,
    }
