"""What a run's executed notebook shows: what one kernel would have shown."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from executing import Execute, execute
from nbclient import NotebookClient
from running import write_cells

from flowc.cli.app import run_command

SHOWN = [
    ["imports", "import sys\nimport matplotlib.pyplot as plt\nimport pandas as pd"],
    ["markdown", "# Numbers"],
    ["step:numbers", "numbers = [3, 1, 2]\nprint('one')\nprint('two', file=sys.stderr)\nnumbers"],
    ["", "len(numbers);"],
    ["", "None"],
    ["", "{name: list(range(40)) for name in 'ab'}"],
    ["step:table", "pd.DataFrame({'n': numbers, 'a name that is long': 'x'})"],
    ["", "print(pd.DataFrame([range(30)]))"],
    ["", "display('text', 2)\ndisplay(pd.Series(numbers))\nprint('after')"],
    [
        "step:rich",
        "from IPython.display import HTML, Markdown, clear_output\n"
        "display(Markdown('*m*'))\nhandle = display('old', display_id='h')\nhandle.update(HTML('<b>new</b>'))",
    ],
    ["", "print('gone')\nclear_output()\nprint('left')\nclear_output(wait=True)\n5"],
    [
        "step:figure",
        "plt.plot(numbers)\nprint('before')\nplt.show()\nfigure, axes = plt.subplots(); axes.plot(numbers);",
    ],
    ["step:waiting", "import asyncio\ntask = asyncio.create_task(asyncio.sleep(0.01, 'slept'))"],
    ["", "await task"],
    ["step:captured", "%%capture out\nprint('kept')\ndisplay(HTML('<i>kept</i>'))\nplt.plot([1, 2])\n42"],
    ["", "out.stdout, len(out.outputs), out.outputs[-1].data.keys()"],
    ["step:shown", "out.show()\nstr(out)"],
    ["", "%%capture --no-stdout --no-display\nprint('shown')\ndisplay('shown too')"],
    ["step:contents", "%%html\n<b>bold</b>"],
    ["", "%%markdown\n*text*"],
    ["", "%%latex\n$x$"],
    ["", "%%javascript\n1 + 1;"],
    ["", "%env FLOWC_SHOWN=one"],
    ["step:lines", "!echo shell; echo error >&2\nlines = !echo a; echo b\nlines[0] + lines[1]"],
    ["", "%%bash\necho script"],
]


def _in_one_kernel(folder: Path) -> Any:
    folder.mkdir()
    notebook = nbformat.read(write_cells(folder, SHOWN), as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def _merged(outputs: list[Any]) -> list[Any]:
    """Return outputs with all of stdout first, since a kernel's streams come in no certain order.

    A kernel runs shell lines in a terminal, which ends lines by two characters.
    """
    streams = {
        name: "".join(o.text for o in outputs if o.get("name") == name).replace("\r\n", "\n")
        for name in ("stdout", "stderr")
    }
    rest = [{key: o[key] for key in o if key != "metadata"} for o in outputs if o.output_type != "stream"]
    return [streams, *rest]


def test_it_shows_what_one_kernel_shows(
    run_cells: Execute, tmp_path: Path, terminal_pair: tuple[int, int]
) -> None:
    for side in terminal_pair:
        os.close(side)  # the kernel makes one for its shell lines
    executed = run_cells(SHOWN)
    assert executed.code == 0, executed.said
    kernel = _in_one_kernel(tmp_path / "kernel")
    for ours, theirs in zip(executed.notebook.cells, kernel.cells, strict=True):
        assert ours.source == theirs.source
        if ours.cell_type == "code":
            assert _merged(ours.outputs) == _merged(theirs.outputs)
            assert ours.execution_count == theirs.execution_count
    figures = [o.data for o in executed.cell(11).outputs if o.output_type == "display_data"]
    assert [sorted(data) for data in figures] == [["image/png", "text/plain"]] * 2
    assert "<table" in executed.outputs(6)[0]["data"]["text/html"]


def _without_times(outputs: list[Any]) -> str:
    """Return outputs as text without the times that a kernel measured, or we, and its blank behind a profile."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in outputs]
    return re.sub(r"[\d.e+]+ (s|ms|ns|.s)\b", "T", "".join(texts)).strip()


def test_measurements_are_told_in_a_kernel_s_words(run_cells: Execute, tmp_path: Path) -> None:
    cells = [
        ["step:measure", "from time import sleep\n%timeit -n 2 -r 3 sleep(0.05)"],
        ["", "%%timeit -n 1 -r 1\nsleep(0.05)"],
        ["", "%timeit -o -q -n 1 -r 2 -p 1 sleep(0.05)"],
        ["", "%%prun\nlen('ab')"],
        ["", "%prun len('ab')"],
        ["", "%timeit -q -o -n 1 -r 1 len('ab');  # shown all the same"],
    ]
    executed = run_cells(cells)
    assert executed.code == 0, executed.said
    (tmp_path / "kernel").mkdir()
    path = write_cells(tmp_path / "kernel", cells)
    kernel = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(kernel).execute()
    ours = [_without_times(cell.outputs) for cell in executed.notebook.cells]
    assert ours == [_without_times(cell.outputs) for cell in kernel.cells]
    assert ours[1] == "T ± T per loop (mean ± std. dev. of 1 run, 1 loop each)"


def test_a_failed_cell_is_marked_and_later_ones_never_ran(run_cells: Execute) -> None:
    executed = run_cells(
        [
            ["step:good", "1 + 1"],
            ["step:bad", "print('first')"],
            ["", "def divide(a):\n    return a / 0\nprint('second')\ndivide(1)"],
            ["", "print('third')"],
            ["step:other", "print('other')"],
        ]
    )
    assert executed.code == 1
    assert executed.text(1) == "first\n"
    stream, error = executed.outputs(2)
    assert (stream["text"], error["ename"], error["evalue"]) == (
        "second\n",
        "ZeroDivisionError",
        "division by zero",
    )
    assert error["traceback"][0] == "Traceback (most recent call last):"
    assert "    return a / 0" in error["traceback"]
    assert not any("flowc/" in line for line in error["traceback"])
    assert executed.cell(2).metadata.tags == ["flowc-failed"]
    assert (executed.outputs(3), executed.cell(3).execution_count) == ([], None)
    assert (executed.text(4), executed.cell(4).execution_count) == ("other\n", 5)
    assert executed.outputs(0)[0]["data"] == {"text/plain": "2"}


def test_a_killed_worker_leaves_what_it_had_shown(run_cells: Execute) -> None:
    executed = run_cells(
        [
            ["step:a", "print('begun')\ndisplay('shown')"],
            ["", "import os, signal\nprint('killing')\nos.kill(os.getpid(), signal.SIGKILL)"],
            ["", "print('never')"],
        ]
    )
    assert executed.code == 1
    assert [output["output_type"] for output in executed.outputs(0)] == ["stream", "display_data"]
    assert executed.text(1) == "killing\n"
    assert executed.outputs(1)[-1]["ename"] == "WorkerLostError"
    assert executed.outputs(2) == []


@pytest.mark.parametrize(
    ("signals", "state", "runner"),
    [
        ([signal.SIGINT, signal.SIGINT], "failed", "local"),
        ([signal.SIGTERM], "failed", "local"),
        ([signal.SIGTERM], "failed", "inline"),
        ([signal.SIGKILL], "not finished", "local"),
    ],
)
def test_a_run_that_is_stopped_leaves_a_whole_notebook(
    tmp_path: Path, signals: list[signal.Signals], state: str, runner: str
) -> None:
    (tmp_path / "pyproject.toml").touch()
    waits = "from pathlib import Path\nimport time\nPath('begun').touch()\nwhile True:\n    time.sleep(0.05)"
    write_cells(tmp_path, [["step:a", "print('a')"], ["step:b after:a", waits], ["step:c after:b", "1"]])
    command = [sys.executable, "-m", "flowc", "run", "notebook.ipynb", "--runner", runner]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.05)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.2)
    process.wait()
    (written,) = (tmp_path / ".flowc" / "notebooks").glob("*.ipynb")
    notebook = nbformat.read(written, as_version=4)  # type: ignore[no-untyped-call]
    assert notebook.metadata["flowc"]["steps"] == {"a": "done", "b": state, "c": "not finished"}
    assert notebook.cells[0].outputs[0].text == "a\n"
    assert notebook.cells[1].metadata.tags[2:] == (["flowc-failed"] if state == "failed" else [])


def test_given_parameters_stand_in_a_cell_of_their_own(run_cells: Execute) -> None:
    cells = [
        ["parameters", "n: int = 1\nname = 'a'\ntwice = n * 2"],
        ["step:a", "n, name, twice"],
        ["skip", "1 / 0"],
    ]
    executed = run_cells(cells, "--n", "5")
    assert executed.cell(1).metadata.tags == ["injected-parameters"]
    assert executed.cell(1).source == "# Parameters\nn = 5"
    assert executed.outputs(2)[0]["data"] == {"text/plain": "(5, 'a', 10)"}
    assert [cell.execution_count for cell in executed.notebook.cells] == [1, 2, 3, None]


def test_a_cell_shows_so_much_and_no_more(run_cells: Execute) -> None:
    executed = run_cells(
        [
            ["step:much", "for _ in range(300):\n    print('x' * 9_999)"],
            ["", "for number in range(2_000):\n    display(number)"],
            ["", "from IPython.display import HTML\nHTML('y' * 30_000_000)"],
        ]
    )
    assert executed.code == 0
    text = executed.text(0)
    assert text.startswith("x" * 9_999)
    assert text.count("\n") == 102  # 100 lines of 10,000 characters, and the note between two line ends
    assert "[flowc keeps 1,000,000 characters of a cell's stdout; its log has all]" in text
    assert len(executed.outputs(1)) == 1_000
    assert executed.outputs(1)[-1]["data"] == {"text/plain": "[flowc keeps 1,000 displays of a cell]"}
    assert list(executed.outputs(2)[0]["data"]) == ["text/plain"]


def test_what_c_code_and_children_write_is_the_cells(run_cells: Execute) -> None:
    executed = run_cells(
        [
            ["step:a", "import ctypes, os, subprocess, sys\nlibc = ctypes.CDLL(None)"],
            ["", "print('held', end='')\nos.write(1, b'one\\n')\nprint('two')\nos.write(2, b'three\\n');"],
            ["", "libc.puts(b'from C')\n'shown'"],
            ["", "subprocess.run(['sh', '-c', 'echo child; echo child; echo error >&2'])\nprint('after')"],
            ["", "print('last', end='', flush=True)"],
            ["", "os.close(1)"],
            ["", "print('end', file=sys.stderr)"],
        ]
    )
    assert executed.code == 0, executed.said
    texts = [
        {output["name"]: output["text"] for output in executed.outputs(cell) if "name" in output}
        for cell in range(1, 7)
    ]
    assert executed.text(3) == "child\nchild\nerror\nafter\n"
    assert texts == [
        {"stdout": "heldone\ntwo\n", "stderr": "three\n"},
        {"stdout": "from C\n"},
        {"stderr": "error\n", "stdout": "after\n"},
        {"stdout": "last"},
        {},
        {"stderr": "end\n"},
    ]


def test_what_is_shown_is_data_whatever_it_is(run_cells: Execute) -> None:
    source = """class Hostile:
    def _repr_mimebundle_(self, **_):
        return {'text/html': '</script><script>alert(1)</script>', 'image/png': b'\\x89PNG',
                'application/json': {1j: 2}, 'text/plain': chr(0xD800) + chr(0), 'x/y': object()}
class Broken:
    def __repr__(self):
        raise ValueError('no text')
print(chr(0xD800), chr(0))"""
    executed = run_cells(
        [
            ["functions", source.rsplit("\n", 1)[0]],
            ["step:a", source.rsplit("\n", 1)[1]],
            ["", "Hostile()"],
            ["", "Broken()"],
        ]
    )
    assert executed.code == 0, executed.said
    data = executed.outputs(2)[0]["data"]
    assert data["text/html"] == "</script><script>alert(1)</script>"
    assert data["image/png"] == "iVBORw==\n"
    assert data["application/json"] == {"1j": "2"}
    assert data["text/plain"] == "\ud800\0"
    assert "x/y" not in data


def test_a_step_without_need_of_ipython_does_without(run_cells: Execute) -> None:
    executed = run_cells(
        [
            ["step:a", "import sys\nprint('IPython' in sys.modules)\ndisplay('text')\n42"],
            ["step:b", "import importlib\nprint('IPython' in importlib.import_module('sys').modules)"],
        ]
    )
    assert (executed.text(0), executed.text(1)) == ("False\n", "False\n")


def test_a_step_looks_like_a_notebook_to_libraries(run_cells: Execute) -> None:
    source = "import builtins\nshell = builtins.get_ipython()\nprint(type(shell).__name__, hasattr(shell, 'kernel'))"
    executed = run_cells(
        [["step:a", source], ["", "import IPython\nprint(IPython.get_ipython().user_ns['source'])"], ["", ""]]
    )
    assert executed.text(0) == "ZMQInteractiveShell True\n"


def test_an_older_notebook_and_a_percent_file_have_executed_notebooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "percent.py").write_text(
        "# %% [markdown]\n# Title\n\n# %% tags=['step:a']\nprint('from percent')\n"
    )
    assert run_command(["run", "percent.py", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["notebook"]
    notebook = nbformat.read(written, as_version=4)  # type: ignore[no-untyped-call]
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code"]
    assert notebook.cells[1].outputs[0].text == "from percent\n"
    assert run_command(["show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notebook"] == written


def test_a_pipeline_of_a_notebook_that_has_changed_shows_its_own_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    path = write_cells(tmp_path, [["skip", "0"], ["step:a", "print('compiled')"]])
    assert run_command(["compile", path.name, "-o", "pipeline.json"]) == 0
    path.write_text(path.read_text().replace("c1", "c9").replace("compiled", "changed"))
    assert run_command(["run", "pipeline.json"]) == 0
    (written,) = (tmp_path / ".flowc" / "notebooks").glob("*.ipynb")
    notebook = nbformat.read(written, as_version=4)  # type: ignore[no-untyped-call]
    assert [cell.source for cell in notebook.cells] == ["print('compiled')"]
    assert notebook.cells[0].outputs[0].text == "compiled\n"


def test_a_retried_step_shows_its_last_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = (
        "from pathlib import Path\nseen = Path('seen').exists()\nprint(seen)\nPath('seen').touch()\n1 / seen;"
    )
    code, notebook = execute(tmp_path, [["step:a retries:1", source]])
    assert code == 0
    assert [output.text for output in notebook.cells[0].outputs] == ["True\n"]
