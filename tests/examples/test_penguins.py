"""The penguin notebook in an ordinary kernel, cell by cell."""

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


def test_the_better_model_is_kept_and_its_accuracy_printed(executed: Any) -> None:
    printed = {cell.id: cell.outputs[0].text for cell in executed.cells if cell.id in ("select", "compare")}
    # 342 of the 344 birds were measured; 30 % of them, rounded up, are 103.
    assert printed["select"] == "239 penguins to learn from, 103 to be tested on\n"
    name, _, accuracy = printed["compare"].strip().rpartition(": accuracy ")
    assert name in ("logistic regression", "random forest")
    assert 0.95 < float(accuracy) <= 1.0
