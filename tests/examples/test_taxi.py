"""The taxi example as its users run it: by the command line, on the data it comes with."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flowc import Dataset, Model
from flowc_components import ingest, predict

EXAMPLE = Path(__file__).parents[2] / "examples" / "taxi"
BARE = """
import json, sys
import tensorflow as tf
signature = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
types = {name: spec.dtype for name, spec in signature.structured_input_signature[1].items()}
trip = json.load(sys.stdin)
answer = signature(**{name: tf.constant([trip[name]], types[name]) for name in types})
print(float(answer["probability"][0]))
"""


def flowc(project: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "flowc", *words]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").touch()
    shutil.copytree(EXAMPLE, folder / "taxi", ignore=shutil.ignore_patterns("served", "__pycache__"))
    return folder


@pytest.fixture(scope="module")
def shown(project: Path) -> Any:
    done = flowc(project, "run", "taxi/taxi.py", "--epochs", "3")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(flowc(project, "runs", "--json").stdout)
    return json.loads(flowc(project, "show", run["run"], "--json").stdout)


def test_six_kinds_of_component_make_typed_artifacts(shown: Any) -> None:
    roles = {task["role"] for task in shown["tasks"]}
    assert roles == {None, "ingest", "validate", "transform", "train", "evaluate", "serve"}
    assert [artifact["type"] for artifact in shown["artifacts"]] == [
        *("Dataset", "Dataset", "Statistics", "Schema", "Anomalies"),
        *("Dataset[LabelledTrip]", "Dataset", "Dataset", "TransformGraph", "Model", "TrainingMetrics"),
        *("Evaluation", "Blessing", "ServedModel"),
    ]


def test_the_served_model_answers_a_raw_trip_as_the_pipeline_does(project: Path, shown: Any) -> None:
    row = ingest(EXAMPLE / "chicago_taxi.csv").table.slice(
        0, 1
    )  # its company is known, its pickup place is not
    (stored,) = (artifact["path"] for artifact in shown["artifacts"] if artifact["type"] == "Model")
    (model,) = Path(stored).iterdir()
    expected = predict(Model(model), Dataset(row)).table["probability"][0].as_py()

    trip = {name: float("nan") if value is None else value for name, value in row.to_pylist()[0].items()}
    served = project / "taxi" / "served" / "taxi" / "1"
    assert shown["artifacts"][-1]["summary"]["published"] == str(served)
    command = [sys.executable, "-c", BARE, str(served)]
    done = subprocess.run(command, input=json.dumps(trip), capture_output=True, text=True, check=True)
    assert float(done.stdout.splitlines()[-1]) == pytest.approx(expected, abs=1e-6)


def test_a_broken_table_stops_the_run_before_training(project: Path) -> None:
    header, first, *rest = (EXAMPLE / "chicago_taxi.csv").read_text().splitlines()
    fields = first.split(",")
    fields[1] = "a lot"
    broken = [f"{header},colour", f"{','.join(fields)},red", *(f"{line},red" for line in rest)]
    (project / "broken.csv").write_text("\n".join(broken) + "\n")

    done = flowc(project, "run", "taxi/taxi.py", "--csv", "broken.csv")
    assert done.returncode == 1
    assert "colour: New column" in done.stderr
    assert "fare: Expected data of type: FLOAT but got STRING" in done.stderr
    assert "1 of 15002 rows, first 'a lot' in data row 1" in done.stderr
    assert "Traceback" not in done.stderr
    assert "RUNNING  train" not in done.stderr
