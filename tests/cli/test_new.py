"""What `flowc new` makes runs as it is, and never over what is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def flowc(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flowc", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("template", "file"), [("python", "pipeline.py"), ("notebook", "pipeline.ipynb")])
def test_each_template_is_a_pipeline_that_runs(tmp_path: Path, template: str, file: str) -> None:
    made = flowc(tmp_path, "new", "first", "--template", template)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.splitlines()[-1] == f"run it: flowc run first/{file}"
    ran = flowc(tmp_path, "run", f"first/{file}", "--runner", "inline", "--count", "5")
    assert ran.returncode == 0, ran.stderr


def test_the_python_templates_tests_pass(tmp_path: Path) -> None:
    flowc(tmp_path, "new", "first")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "first"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout.strip().splitlines()[-1].startswith("2 passed"), ran.stdout


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    refused = flowc(tmp_path, "new", "full")
    assert refused.returncode == 2
    assert "full is not empty" in refused.stderr
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    unknown = flowc(tmp_path, "new", "other", "--template", "pyhton")
    assert unknown.returncode == 4
    assert "did you mean 'python'?" in unknown.stderr
    assert not (tmp_path / "other").exists()
