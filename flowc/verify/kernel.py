"""A notebook in one fresh kernel of this Python, from top to bottom, with checks between its cells."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from flowc.errors import RunnerError
from flowc.ir import Parameter
from flowc.notebook.model import NotebookCell
from flowc.verify.checks import Moment
from flowc.verify.inside import call

# Installing is not for a comparison to do; in a pipeline it is no part of the step either.
_INSTALL = re.compile(r"^(\s*)[!%]\s*(pip3?|python3? -m pip|uv pip|conda|mamba)\s+install\b.*$", re.MULTILINE)

_SLOWEST_START = 300  # seconds: a busy machine is no reason to fail
_LONGEST_SOCKET = 90  # the system takes 107 bytes, and a number is added


class CellFailedError(RunnerError):
    """A cell raised in the kernel, or the kernel died of it."""

    def __init__(self, cell: int, message: str) -> None:
        super().__init__(f"cell {cell} fails in the kernel: {message}")
        self.cell = cell


def run_in_kernel(
    cells: Iterable[NotebookCell], moments: Iterable[Moment], folder: Path, orders: Path
) -> None:
    """Run code cells in the notebook's folder; at each moment, have the kernel make its checks.

    Raises CellFailedError where a cell raises, RunnerError where no kernel can be had.
    """
    try:
        import nbformat.v4
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError, DeadKernelError
    except ModuleNotFoundError as error:
        raise RunnerError(
            f"a kernel needs {error.name}, which is not installed", hint="install flowc[notebook]"
        ) from error
    stops = set(moments)
    document = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    client = NotebookClient(
        document,
        km=_manager(orders),
        timeout=None,
        startup_timeout=_SLOWEST_START,
        resources={"metadata": {"path": str(folder)}},
    )

    def execute(source: str, *, of_user: bool) -> None:
        cell = nbformat.v4.new_code_cell(source)  # type: ignore[no-untyped-call]
        document.cells.append(cell)
        client.execute_cell(cell, len(document.cells) - 1, store_history=of_user)

    def check(moment: Moment) -> None:
        if moment in stops:
            execute(call("compare", repr(str(orders)), str(moment.cell), str(moment.after)), of_user=False)

    with _kernel_of(client):
        for cell in cells:
            check(Moment(cell.index, after=False))
            try:
                execute(cell.source, of_user=True)
            except CellExecutionError as error:
                raise CellFailedError(cell.index, f"{error.ename}: {error.evalue}") from error
            except DeadKernelError as error:
                raise CellFailedError(cell.index, "the kernel died") from error
            check(Moment(cell.index, after=True))


@contextmanager
def _kernel_of(client: Any) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            # The manager is ours, and yet the kernel is to be gone with the client.
            stack.enter_context(client.setup_kernel(cleanup_kc=True))
        except RuntimeError as error:
            raise RunnerError(f"no kernel can be started: {error}") from error
        yield


def _manager(folder: Path) -> Any:
    """Return a manager of kernels of this Python, whatever kernels the user has registered."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name=kernel_name, language="python")

    sockets = str(folder / "kernel")
    # Sockets in a folder of ours, where their names are not too long: others on this machine can't get at them.
    private = {"transport": "ipc", "ip": sockets} if len(sockets) < _LONGEST_SOCKET else {}
    return AsyncKernelManager(kernel_spec_manager=ThisPython(), **private)


def with_parameters(cell: NotebookCell, parameters: Iterable[Parameter], orders: Path) -> str:
    """Return a cell's source in which each of these parameters, once it is assigned, gets the value it was given.

    So what is computed from it further down is computed from that value.
    """
    source = _INSTALL.sub(r"\1pass", cell.source)
    here = {p.name: p.source.line for p in parameters if p.source is not None and p.source.cell == cell.index}
    if not here:
        return source
    from IPython.core.inputtransformer2 import TransformerManager

    tree = ast.parse(TransformerManager().transform_cell(source))  # type: ignore[no-untyped-call]
    body: list[ast.stmt] = []
    for statement in tree.body:
        body.append(statement)
        for name, line in here.items():
            if line == statement.lineno and _assigns(statement, name):
                value = call("given", repr(str(orders)), repr(name), f"globals().get({name!r})")
                body += ast.parse(f"{name} = {value}").body
    return ast.unparse(ast.Module(body, []))


def _assigns(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(statement)
    )
