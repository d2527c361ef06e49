"""What the command line's tests share: commands in this process, and a project for those in another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import SAMPLES, Flowc, Outcome

from flowc.cli.app import run_command


@pytest.fixture
def flowc(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Flowc:
    """Run a command in this process; the current folder is the test's own, which is a project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()

    def run(*args: object) -> Outcome:
        capsys.readouterr()
        code = run_command([str(arg) for arg in args])
        written = capsys.readouterr()
        return Outcome(code, written.out, written.err)

    return run


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A file with lines of 1, 2 and 3 letters."""
    file = tmp_path / "text.txt"
    file.write_text("a\nbb\nccc\n")
    return file


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with copies of the samples, and a text with lines of 1, 2 and 3 letters."""
    folder = tmp_path / "project"
    shutil.copytree(SAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pyproject.toml").touch()
    (folder / "text.txt").write_text("a\nbb\nccc\n")
    return folder
