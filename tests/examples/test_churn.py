"""The churn notebook in an ordinary kernel, cell by cell, and as a pipeline."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from flowc.notebook.lower import compile_notebook

EXAMPLE = Path(__file__).parents[2] / "examples" / "churn"


@pytest.fixture(scope="module")
def executed() -> Any:
    """The notebook as a kernel leaves it, with a last cell that shows its results to the last digit."""
    notebook = nbformat.read(EXAMPLE / "churn.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    source = "import json\nprint(json.dumps([accuracies, mean_chance, log, len(staying)]))"
    notebook.cells.append(nbformat.v4.new_code_cell(source, id="results"))  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLE)}})
    client.execute()
    return notebook


def printed(executed: Any, cell_id: str) -> str:
    return str(next(cell.outputs[0].text for cell in executed.cells if cell.id == cell_id))


def test_the_notebook_is_stored_valid_and_without_outputs() -> None:
    stored = nbformat.read(EXAMPLE / "churn.ipynb", as_version=nbformat.NO_CONVERT)  # type: ignore[no-untyped-call]
    nbformat.validate(stored)
    assert (stored.nbformat, stored.nbformat_minor) == (4, 5)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in stored.cells)


def test_it_compiles_without_a_word_to_two_models_side_by_side() -> None:
    pipeline, diagnostics = compile_notebook(EXAMPLE / "churn.ipynb", EXAMPLE)
    assert diagnostics == []
    assert {task.name: set(task.upstream()) for task in pipeline.tasks} == {
        "customers": set(),
        "clean": {"customers"},
        "split": {"clean"},
        "linear": {"split"},
        "boosted": {"split"},
        "evaluate": {"split", "linear", "boosted"},
        "calls": {"clean", "split", "evaluate"},
    }


def test_as_a_pipeline_it_gives_what_it_gives_in_a_kernel(executed: Any, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    shutil.copytree(EXAMPLE, tmp_path / "churn")
    command = [sys.executable, "-m", "flowc", "run", "churn/churn.ipynb", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    summaries = {artifact["id"]: artifact["summary"] for artifact in run["artifacts"]}
    made = {name: summaries[output["artifact"]] for name, output in run["outputs"].items()}
    accuracies, mean_chance, log, staying = json.loads(printed(executed, "results"))
    assert made["accuracies"]["value"] == accuracies
    assert made["mean_chance"]["value"] == mean_chance
    assert made["staying"]["rows"] == staying
    # One list, which two steps append to.
    assert made["log"]["value"] == log
    assert len(log) == 4


def test_the_models_have_learnt_something(executed: Any) -> None:
    accuracies, _, log, staying = json.loads(printed(executed, "results"))
    assert set(accuracies) == {"linear", "boosted"}
    # Two thirds stay: who always says so is right about as often.
    assert 0.72 < min(accuracies.values()) <= max(accuracies.values()) < 1
    assert log[3].startswith(f"50 of {staying} customers to call")
