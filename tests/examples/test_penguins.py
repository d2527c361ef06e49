"""The penguin notebook in an ordinary kernel, cell by cell, and as a pipeline."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLE = Path(__file__).parents[2] / "examples" / "penguins"


@pytest.fixture(scope="module")
def executed() -> Any:
    notebook = nbformat.read(EXAMPLE / "penguins.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLE)}})
    client.execute()
    return notebook


def test_the_notebook_is_stored_valid_and_without_outputs() -> None:
    stored = nbformat.read(EXAMPLE / "penguins.ipynb", as_version=nbformat.NO_CONVERT)  # type: ignore[no-untyped-call]
    nbformat.validate(stored)
    assert (stored.nbformat, stored.nbformat_minor) == (4, 5)
    assert not any(cell.get("outputs") for cell in stored.cells)


def kept(text: str) -> tuple[str, float]:
    name, _, accuracy = text.splitlines()[-1].removeprefix("kept: ").rpartition(", accuracy ")
    return name, float(accuracy)


def printed(executed: Any, cell_id: str) -> str:
    return str(next(cell.outputs[0].text for cell in executed.cells if cell.id == cell_id))


def test_the_better_model_is_kept(executed: Any) -> None:
    # 342 of the 344 birds were measured; 30 % of them, rounded up, are 103.
    assert printed(executed, "select") == "239 penguins to learn from, 103 to be tested on\n"
    name, accuracy = kept(printed(executed, "compare"))
    assert name in ("logistic regression", "random forest")
    assert 0.95 < accuracy <= 1.0


def test_as_a_pipeline_it_gives_what_it_gives_in_a_kernel(executed: Any, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    shutil.copytree(EXAMPLE, tmp_path / "penguins")
    command = [sys.executable, "-m", "flowc", "run", "penguins/penguins.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    name, accuracy = kept(printed(executed, "compare"))
    made = done.stdout.splitlines()
    assert any(line.split()[0] == "best" and name in line for line in made)
    assert any(line.split()[0] == "accuracies" and f"{name}={accuracy:.4f}" in line for line in made)
