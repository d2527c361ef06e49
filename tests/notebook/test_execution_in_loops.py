"""Notebook steps in this process while an event loop runs here, as where somebody calls flowc in a cell of Jupyter."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from running import write_cells

from flowc.cli.app import run_command

CELLS = [
    ["step:a", "import asyncio\nprint('one')\ntask = asyncio.create_task(asyncio.sleep(0, 'slept'))"],
    ["", "x = await task"],
    ["step:b", "print(x)\nasyncio.get_running_loop().is_running()"],
]
IMPORTS = "import asyncio, sys\nfrom flowc.cli.app import run_command"
RUN = "run_command(['run', 'notebook.ipynb', '--runner', 'inline', '--json'])"


def _shown(folder: Path) -> list[str]:
    (written,) = (folder / ".flowc" / "notebooks").glob("*.ipynb")
    notebook = nbformat.read(written, as_version=4)  # type: ignore[no-untyped-call]
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    return [output.get("text") or output.data["text/plain"] for output in outputs]


def test_inside_of_a_coroutine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    write_cells(tmp_path, CELLS)

    async def program() -> int:
        code = run_command(["run", "notebook.ipynb", "--runner", "inline"])
        await asyncio.sleep(0)
        return code

    assert asyncio.run(program()) == 0
    assert _shown(tmp_path) == ["one\n", "slept\n", "True"]


def test_inside_of_a_kernel(tmp_path: Path, terminal_pair: tuple[int, int]) -> None:
    for side in terminal_pair:
        os.close(side)
    (tmp_path / "pyproject.toml").touch()
    write_cells(tmp_path, CELLS)
    calls = ["from flowc.cli.app import run_command", RUN, "42"]
    cells = [nbformat.v4.new_code_cell(source) for source in calls]  # type: ignore[no-untyped-call]
    notebook = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert notebook.cells[1].outputs[-1]["data"] == {"text/plain": "0"}
    assert notebook.cells[2].outputs == [
        {"output_type": "execute_result", "metadata": {}, "data": {"text/plain": "42"}, "execution_count": 3}
    ]
    assert _shown(tmp_path) == ["one\n", "slept\n", "True"]


@pytest.mark.parametrize("waits", ["await asyncio.sleep(100)", "while True:\n    time.sleep(0.01)"])
def test_killing_reaches_the_thread(tmp_path: Path, waits: str) -> None:
    (tmp_path / "pyproject.toml").touch()
    begun = tmp_path / "begun"
    source = f"import asyncio, time\nfrom pathlib import Path\nPath('begun').touch()\n{waits}"
    write_cells(tmp_path, [["step:a", source]])
    program = f"{IMPORTS}\nasync def main():\n    return {RUN}\nsys.exit(asyncio.run(main()))"
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 130
