"""The taxi example as a pipeline and as a plain call."""

from pathlib import Path

import pytest

from flowc import ComponentError
from flowc.python.compile import compile_file
from flowc.python.load import load_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "taxi"


def test_the_pipeline_has_six_kinds_of_component() -> None:
    pipeline = compile_file(EXAMPLE / "taxi.py", None, EXAMPLE)
    roles = [pipeline.components[task.component].role for task in pipeline.tasks]
    assert roles == ["ingest", "validate", None, "ingest", "transform", "train", "evaluate", "serve"]
    assert {output.name for output in pipeline.outputs} == {"metrics", "evaluation", "served"}


def test_a_broken_table_never_reaches_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header, first, *rest = (EXAMPLE / "chicago_taxi.csv").read_text().splitlines()
    fields = first.split(",")
    fields[1] = "a lot"
    broken = [f"{header},colour", f"{','.join(fields)},red", *(f"{line},red" for line in rest)]
    (tmp_path / "trips.csv").write_text("\n".join(broken) + "\n")
    taxi = load_file(EXAMPLE / "taxi.py").taxi
    with pytest.raises(ComponentError) as caught:
        taxi(tmp_path / "trips.csv", EXAMPLE / "schema.pbtxt", tmp_path / "served")
    report = caught.value.message
    assert "colour: New column" in report
    assert "fare: Expected data of type: FLOAT but got STRING" in report
    assert "1 of 15002 rows, first 'a lot' in data row 1" in report
    assert "Epoch" not in capsys.readouterr().out
    assert not (tmp_path / "served").exists()


def test_called_as_a_function_it_serves_a_good_model(tmp_path: Path) -> None:
    taxi = load_file(EXAMPLE / "taxi.py").taxi
    made = taxi(EXAMPLE / "chicago_taxi.csv", EXAMPLE / "schema.pbtxt", tmp_path, epochs=3)
    assert made["evaluation"].rows > 2500
    assert made["evaluation"].metrics["auc"] > 0.93
    assert made["evaluation"].metrics["accuracy"] > 1 - made["evaluation"].metrics["base_rate"]
    assert (tmp_path / "taxi" / "1" / "saved_model.pb").is_file()
