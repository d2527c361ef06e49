"""The command as a process: its streams, its terminal, its signals, what it imports."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from command_line import command, start

from flowc.cli.failure import report

RUN = ("run", "project/sums.py", "--text", "project/text.txt")


def test_workers_run_it_and_stdout_is_the_result_alone(project: Path) -> None:
    ran = command(project.parent, *RUN, "--scale", 2, "--json", "--workers", 2)
    assert ran.code == 0, ran.err
    result = json.loads(ran.out)
    assert (result["state"], result["runner"]) == ("COMPLETE", "local")
    assert result["store"] == str(project / ".flowc")
    assert ran.err.startswith("printed while it is imported\nRUNNING  run sums-")
    assert "\x1b" not in ran.err
    shown = command(project, "show", "--json")
    assert json.loads(shown.out)["artifacts"] == result["artifacts"]


def test_a_reader_that_leaves_is_no_error(project: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    left = command(project, "graph", "sums.py", stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (left.code, left.err) == (141, "printed while it is imported\n")


def test_a_run_goes_on_when_nobody_reads_its_progress(project: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    (project / "sums.py").write_text((project / "sums.py").read_text().replace("print(", "str("))
    ran = command(project, "run", "sums.py", "--text", "text.txt", "--runner", "inline", stderr=writing)
    os.close(writing)
    assert ran.code == 0
    assert " COMPLETE, took " in ran.out


def test_a_full_disk_under_stdout_is_told(project: Path) -> None:
    with Path("/dev/full").open("w") as full:
        refused = command(project, "compile", "naps.py", stdout=full, stderr=subprocess.PIPE)
    assert (refused.code, refused.err) == (5, "error: no space left on device\n")


def test_a_locale_without_our_letters(project: Path) -> None:
    (project / "greek.py").write_text(
        "from flowc import component, pipeline\n"
        "@component\ndef one() -> int: return 1\n"
        "@pipeline\ndef greek(λ: float = 1.5): return one()\n",
        encoding="utf-8",
    )
    western = {**os.environ, "PYTHONIOENCODING": "iso-8859-1"}
    drawn = command(project, "graph", "greek.py", "--format", "text", env=western)
    assert (drawn.code, drawn.err) == (0, "")
    assert "    \\u03bb: float = 1.5\n" in drawn.out
    compiled = command(project, "compile", "greek.py", env=western)
    assert json.loads(compiled.out)["parameters"][0]["name"] == "λ"


@pytest.mark.parametrize("colors", [True, False])
def test_a_narrow_terminal_shows_what_runs(
    project: Path, colors: bool, terminal_pair: tuple[int, int]
) -> None:
    driver, terminal = terminal_pair
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    environment = {**os.environ, "TERM": "xterm", **({} if colors else {"NO_COLOR": "1"})}
    with start(project, "run", "naps.py", "--seconds", "0.6", stderr=terminal, env=environment) as process:
        os.close(terminal)
        shown = _all_of(driver)
    assert process.returncode == 0
    assert "0 of 2 tasks ended," in shown or "0 of 2 tasks ende" in shown
    assert "nap-2  0." in shown
    assert ("\x1b[32mCOMPLETE" in shown) == colors


def _all_of(terminal: int) -> str:
    read = b""
    while True:
        try:
            read += os.read(terminal, 65536)
        except OSError:  # the other side is closed
            os.close(terminal)
            return read.decode()


@pytest.mark.parametrize(("runner", "presses"), [("local", 1), ("local", 2), ("inline", 2)])
def test_ctrl_c_stops_a_run(project: Path, runner: str, presses: int) -> None:
    seconds = 1 if presses == 1 else 60
    with start(project, "run", "naps.py", "--seconds", seconds, "--runner", runner) as process:
        assert process.stderr is not None
        while process.stderr.readline() != "RUNNING  nap\n":
            pass
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
            # The second one is to arrive after the first was heeded, as that of a person does.
            signal.sigtimedwait([], 0.3)
        out, err = process.communicate()
    assert process.returncode == 130, err
    first = "COMPLETE nap (" if presses == 1 else "CANCELED nap ("
    assert first in err
    assert " CANCELED, took " in out
    (run,) = json.loads(command(project, "runs", "--json").out)
    assert (run["state"], run["alive"]) == ("CANCELED", None)


def test_ctrl_c_while_compiling(project: Path) -> None:
    (project / "slow.py").write_text("print('now', flush=True)\nimport time\ntime.sleep(60)\n")
    with start(project, "check", "slow.py") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "now\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_a_bug_is_reported_with_its_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ZeroDivisionError("of ours")
    except ZeroDivisionError as error:
        code = report(error, tmp_path)
    first, hint = capsys.readouterr().err.splitlines()
    assert (code, first) == (70, "error: flowc itself failed, which is a bug: ZeroDivisionError: of ours")
    file = Path(hint.removeprefix("hint: please report it with the traceback in "))
    assert 'raise ZeroDivisionError("of ours")' in file.read_text()
    file.unlink()
