"""What the command line imports: nothing heavy on the way to `--help`, and for each command only what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "IPython",
    "altair",
    "distributed",
    "fastapi",
    "jupytext",
    "keras",
    "matplotlib",
    "nbformat",
    "pandas",
    "pyarrow",
    "sqlalchemy",
    "tensorflow",
    "tensorflow_data_validation",
    "torch",
}
LIGHT = {"networkx", "numpy", "pydantic", "rich"}  # lighter, but still longer than the command line itself
NAMES = "print(*{name.partition('.')[0] for name in sys.modules})"


def imported(folder: Path, *args: str) -> set[str]:
    """Return the packages that a command has imported at its end."""
    program = f"import sys; from flowc.cli.app import run_command; run_command({list(args)}); {NAMES}"
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["no-such-command"]])
def test_help_imports_next_to_nothing(tmp_path: Path, args: list[str]) -> None:
    names = imported(tmp_path, *args)
    assert "click" in names
    assert names & (HEAVY | LIGHT) == set()


@pytest.mark.parametrize("args", [["check"], ["compile"], ["graph"], ["run", "--help"]])
def test_python_pipelines_compile_without_heavy_libraries(tmp_path: Path, args: list[str]) -> None:
    (tmp_path / "one.py").write_text(
        "from flowc import Dataset, component, pipeline\n"
        "@component\ndef one() -> Dataset: ...\n"
        "@component\ndef two(data: Dataset) -> int: ...\n"
        "@pipeline\ndef pipe(): return two(one())\n"
    )
    names = imported(tmp_path, *args, "one.py")
    assert "pydantic" in names
    assert names & HEAVY <= ({"sqlalchemy", "pyarrow"} if args[0] == "run" else set())


def test_reading_runs_imports_neither_arrow_nor_frames(tmp_path: Path) -> None:
    names = imported(tmp_path, "runs", "--store", "nowhere")
    assert names & HEAVY == {"sqlalchemy"}
