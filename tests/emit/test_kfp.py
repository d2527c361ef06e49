"""Kubeflow's YAML: valid by Kubeflow's own schema and loader, and its containers' commands do the work.

The commands are run here in order, as Kubeflow's launcher would in containers: placeholders replaced, artifacts as
files, nothing else shared.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

from flowc import api
from flowc.emit.kfp import to_kfp
from flowc.emit.yaml import to_yaml
from flowc.engine.parcel import pack, unpack
from flowc.engine.recorder import RunLabel
from flowc.engine.run import run_plan
from flowc.engine.task import main
from flowc.errors import CompileError, StoreError
from flowc.plan import make_plan
from flowc.store.artifacts import ArtifactStore
from flowc.testing import RecordingRunner, temporary_store
from flowc.types.model import AnyType

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT, ROOT / "components", ROOT / "runners"]

PYTHON = '''
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
from flowc import Dataset, Html, Metrics, component, pipeline


class Split(NamedTuple):
    left: pa.Table
    right: Dataset


@component(cpus=2, memory="1GiB", gpus=1, retries=2)
def read(file: Path, limit: int | None, sep: str) -> Dataset:
    numbers = [int(number) for number in file.read_text().split(sep)]
    return Dataset(pa.table({"x": numbers[:limit]}))


@component(cache=False)
def split(table: Dataset, at: int) -> Split:
    numbers = table.table["x"].to_pylist()
    left = pa.table({"x": [number for number in numbers if number < at]})
    return Split(left, Dataset(pa.table({"x": [number for number in numbers if number >= at]})))


@component
def measure(table: pa.Table, how: object, label: str, weights: list[float]) -> Metrics:
    return Metrics(values={label: float(how(table["x"].to_pylist())) * sum(weights)})


@component
def page(metrics: Metrics) -> Html:
    return Html(f"<p>{{{metrics.values}}}</p>".encode())


def total(numbers):
    return sum(numbers)


@pipeline
def numbers(file: Path = Path("x.txt"), at: int = 3, limit: int | None = None, sep: str = ",",
            mode: Literal["a", "b"] = "a", weights: list[float] = [0.5, 1.5], on: bool = True):
    """Adds {{numbers}}."""
    parts = split(read(file, limit, sep), at=at)
    left = measure(parts.left, how=total, label="-left", weights=weights)
    right = measure.options(name="right")(parts.right, how=total, label=mode, weights=weights)
    return {"left": left, "page": page(right)}
'''


def spec_of(path: Path, image: str = "registry.example/project:1") -> dict[str, Any]:
    checked = api.check(api.compile(api.load_target(str(path), path.parent)))
    spec: dict[str, Any] = yaml.safe_load(to_kfp(checked.pipeline, image, "1.2"))
    json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    return spec


def run_commands(spec: dict[str, Any], project: Path, folder: Path, given: dict[str, str]) -> dict[str, Path]:
    """Run each task's command as Kubeflow does; return the file of each of the pipeline's outputs."""
    tasks, components = spec["root"]["dag"]["tasks"], spec["components"]
    defaults = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    texts = {name: as_text(each.get("defaultValue")) for name, each in defaults.items()} | given
    needs = {name: task.get("dependentTasks", []) for name, task in tasks.items()}
    for name in TopologicalSorter(needs).static_order():
        task, component = tasks[name], components[tasks[name]["componentRef"]["name"]]
        values = {}
        for port, source in task.get("inputs", {}).get("parameters", {}).items():
            values[f"inputs.parameters['{port}']"] = texts[source["componentInputParameter"]]
        for port, source in task.get("inputs", {}).get("artifacts", {}).items():
            made = source["taskOutputArtifact"]
            values[f"inputs.artifacts['{port}'].path"] = str(
                folder / made["producerTask"] / made["outputArtifactKey"]
            )
        for port in component.get("outputDefinitions", {}).get("artifacts", {}):
            values[f"outputs.artifacts['{port}'].path"] = str(folder / name / port)
        container = spec["deploymentSpec"]["executors"][component["executorLabel"]]["container"]
        words = [filled(word, values) for word in (*container["command"], *container["args"])]
        assert words[0] == "python"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PACKAGES))}
        done = subprocess.run(
            [sys.executable, *words[1:]],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    outputs = spec["root"]["dag"].get("outputs", {}).get("artifacts", {})
    selected = {name: each["artifactSelectors"][0] for name, each in outputs.items()}
    return {
        name: folder / each["producerSubtask"] / each["outputArtifactKey"] for name, each in selected.items()
    }


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def filled(word: str, values: dict[str, str]) -> str:
    return re.sub(r"\{\{\$\.(.*?)\}\}", lambda found: values[found[1]], word)


def digests(path: Path, given: dict[str, Any]) -> dict[str, str]:
    """Run the pipeline by flowc itself; return the digests of its outputs."""
    target = api.compile(api.load_target(str(path), path.parent))
    plan = make_plan(api.check(target), given, target.root)
    with temporary_store() as store:
        result = run_plan(plan, runner=RecordingRunner(), store=store, label=RunLabel("test", "inline"))
        return {
            output.name: result.tasks[output.value.task].outputs[output.value.output].digest
            for output in target.pipeline.outputs
        }


def parcel_digests(files: dict[str, Path], folder: Path) -> dict[str, str]:
    return {name: unpack(ArtifactStore(folder), path).digest for name, path in files.items()}


def test_a_notebook_comes_out_of_the_containers_as_from_flowc(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "notebooks").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    (project / "notebooks" / "words.txt").write_text("one two two")
    notebook = project / "notebooks" / "counting.ipynb"
    write_notebook(
        notebook,
        [
            [
                "parameters",
                "from pathlib import Path\nfile = Path('words.txt')\nleast: float = -0.5\nlabel = '-{{x}}'",
            ],
            ["functions", "class Count:\n    def __init__(self, n):\n        self.n = n"],
            ["ingest:Read_Words", "words = file.read_text().split()\nsame = words"],
            ["step:count", "same.append('one')\ncounts = {word: Count(words.count(word)) for word in words}"],
            [
                "step:tell after:count",
                "told = {word: (label, count.n) for word, count in counts.items() if count.n > least}",
            ],
        ],
    )
    spec = spec_of(notebook)
    files = run_commands(spec, project, tmp_path / "volume", {"least": "1.5"})
    assert list(files) == ["told"]
    store = ArtifactStore(tmp_path / "store")
    assert store.load(unpack(store, files["told"]), AnyType()) == {"one": ("-{{x}}", 2), "two": ("-{{x}}", 2)}
    assert parcel_digests(files, tmp_path / "again") == digests(notebook, {"least": 1.5})


def write_notebook(path: Path, cells: list[list[str]]) -> None:
    document = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source, metadata={"tags": tags.split()}) for tags, source in cells]
    )
    nbformat.write(document, path)


def test_the_penguins_are_kubeflows_too() -> None:
    spec = spec_of(ROOT / "examples" / "penguins" / "penguins.ipynb")
    tasks = spec["root"]["dag"]["tasks"]
    assert {name: task.get("dependentTasks", []) for name, task in tasks.items()} == {
        "ingest": [],
        "transform": ["ingest"],
        "logistic": ["transform"],
        "forest": ["transform"],
        "evaluate": ["transform", "forest", "logistic"],
    }


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("project")
    (project / "pyproject.toml").touch()
    (project / "x.txt").write_text("1;2;3;4")
    file = project / "numbers_for_kubeflow.py"
    file.write_text(PYTHON)
    return file


def test_a_python_pipeline_comes_out_of_the_containers_as_from_flowc(numbers: Path, tmp_path: Path) -> None:
    spec = spec_of(numbers)
    given = {"limit": "3", "mode": "b", "weights": "[2.0]", "sep": ";"}
    files = run_commands(spec, numbers.parent, tmp_path / "volume", given)
    store = ArtifactStore(tmp_path / "store")
    made = {name: store.load(unpack(store, path), AnyType()) for name, path in files.items()}
    assert made["left"].values == {"-left": 6.0}  # (1 + 2) * 2
    assert made["page"].content == b"<p>{{'b': 6.0}}</p>"  # 3 * 2
    assert parcel_digests(files, tmp_path / "again") == digests(
        numbers, {"limit": 3, "mode": "b", "weights": [2.0], "sep": ";"}
    )


def test_types_resources_and_policies_are_kubeflows(numbers: Path) -> None:
    spec = spec_of(numbers)
    parameters = spec["root"]["inputDefinitions"]["parameters"]
    assert {name: (each["parameterType"], each["defaultValue"]) for name, each in parameters.items()} == {
        "file": ("STRING", "x.txt"),
        "at": ("NUMBER_INTEGER", 3),
        "limit": ("STRING", "null"),
        "sep": ("STRING", ","),
        "mode": ("STRING", "a"),
        "weights": ("LIST", [0.5, 1.5]),
        "on": ("BOOLEAN", True),
    }
    outputs = {
        name: [
            each["artifactType"]["schemaTitle"]
            for each in component["outputDefinitions"]["artifacts"].values()
        ]
        for name, component in spec["components"].items()
    }
    assert outputs == {
        "comp-read": ["system.Dataset"],
        "comp-split": ["system.Dataset", "system.Dataset"],
        "comp-measure": ["system.Metrics"],
        "comp-right": ["system.Metrics"],
        "comp-page": ["system.HTML"],
    }
    container = spec["deploymentSpec"]["executors"]["exec-read"]["container"]
    assert container["image"] == "registry.example/project:1"
    assert container["resources"] == {
        "cpuLimit": 2.0,
        "memoryLimit": 1.073741824,  # in GB, of 10^9 bytes
        "accelerator": {"count": "1", "type": "nvidia.com/gpu"},
    }
    tasks = spec["root"]["dag"]["tasks"]
    assert tasks["read"]["retryPolicy"]["maxRetryCount"] == 2
    assert tasks["read"]["cachingOptions"] == {"enableCache": True}
    assert tasks["split"]["cachingOptions"] == {}
    assert tasks["right"]["dependentTasks"] == ["split"]


def test_kfp_loads_it(numbers: Path) -> None:
    python = os.environ.get("FLOWC_KFP_PYTHON")
    if python is None:
        pytest.skip(
            "kfp needs protobuf 6, which TFDV can't have: .ci/run installs it in an environment of its own"
        )
    load = (
        "import sys; from kfp import components; "
        "print(*components.load_component_from_text(sys.stdin.read()).component_spec.inputs)"
    )
    checked = api.check(api.compile(api.load_target(str(numbers), numbers.parent)))
    loaded = subprocess.run(
        [python, "-W", "ignore", "-c", load],
        input=to_kfp(checked.pipeline),
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.returncode == 0, loaded.stderr
    assert loaded.stdout.split() == ["file", "at", "limit", "sep", "mode", "weights", "on"]


def test_the_command_says_what_the_default_image_lacks(numbers: Path) -> None:
    command = [sys.executable, "-m", "flowc", "compile", str(numbers)]
    default = subprocess.run([*command, "--to", "kfp"], capture_output=True, text=True, check=False)
    assert "every task runs in python:3.11, which has no flowc" in default.stderr
    assert yaml.safe_load(default.stdout)["pipelineInfo"]["name"] == "numbers"
    named = subprocess.run(
        [*command, "--to", "kfp", "--image", "mine:2"], capture_output=True, text=True, check=False
    )
    assert (named.returncode, named.stderr) == (0, "")
    assert named.stdout == default.stdout.replace("python:3.11", "mine:2")
    wrong = subprocess.run([*command, "--image", "mine:2"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "'--image' is for '--to kfp'" in wrong.stderr


def test_no_braces_in_a_row_but_kubeflows_own(numbers: Path) -> None:
    for executor in spec_of(numbers)["deploymentSpec"]["executors"].values():
        ir, *others = executor["container"]["args"][1:]
        assert "{{" not in ir
        assert all("{{$." in word for word in others if "{{" in word)


@pytest.mark.parametrize(
    ("decorator", "parameter", "message"),
    [
        ("@component(processes=2)", "a: int", "task 'one' asks for 2 processes: Kubeflow starts one a task"),
        ("@component", "a: SecretStr", "parameter 'a' is secret, and Kubeflow shows parameters to everybody"),
    ],
)
def test_what_kubeflow_has_no_form_for_is_refused(
    decorator: str, parameter: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").touch()
    file = tmp_path / f"refused_{parameter[3:].lower()}.py"
    file.write_text(
        "from pydantic import SecretStr\nfrom flowc import component, pipeline\n"
        f"{decorator}\ndef one({parameter}) -> int:\n    return 1\n"
        f"@pipeline\ndef p({parameter}):\n    one(a)\n"
    )
    with pytest.raises(CompileError) as refused:
        spec_of(file)
    assert [(each.code, each.message) for each in refused.value.diagnostics] == [("FC602", message)]


def test_a_task_that_fails_says_so_and_writes_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "failing_alone.py").write_text(
        "from flowc import component, pipeline\n@component\ndef one(n: int) -> float:\n    return 1 / n\n"
        "@pipeline\ndef p(n: int):\n    one(n)\n"
    )
    executors = spec_of(tmp_path / "failing_alone.py")["deploymentSpec"]["executors"]
    ir = executors["exec-one"]["container"]["args"][1]
    words = ["--ir", ir, "--root", str(tmp_path), f"--output=output={tmp_path / 'out'}"]
    assert main([*words, "--parameter", "n=0"]) == 1
    assert "ZeroDivisionError: division by zero" in capfd.readouterr().err
    assert main([*words, "--parameter", "n=x"]) == 2
    assert "expected int, got 'x'" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*words, "--parameter", "n=4"]) == 0
    store = ArtifactStore(tmp_path / "store")
    assert store.load(unpack(store, tmp_path / "out"), AnyType()) == 0.25


def test_a_timeout_ends_the_process(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "sleeping_alone.py").write_text(
        "import time\nfrom flowc import component, pipeline\n@component(timeout=0.2)\ndef one() -> int:\n"
        "    time.sleep(600)\n    return 1\n@pipeline\ndef p():\n    one()\n"
    )
    container = spec_of(tmp_path / "sleeping_alone.py")["deploymentSpec"]["executors"]["exec-one"][
        "container"
    ]
    words = [*container["command"][1:], *container["args"][:2]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PACKAGES))}
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == -signal.SIGALRM


def test_parcels_hold_small_and_large_values_and_nothing_else(tmp_path: Path) -> None:
    there, here = ArtifactStore(tmp_path / "there"), ArtifactStore(tmp_path / "here")
    for number, value in enumerate((7, "x" * 10_000)):
        path = tmp_path / "volume" / str(number)
        pack(there, there.save(value, AnyType()), path)
        assert here.load(unpack(here, path), AnyType()) == value
    (tmp_path / "else").write_text("something else")
    with pytest.raises(StoreError, match="is not an artifact of flowc's"):
        unpack(here, tmp_path / "else")


def test_yaml_is_what_it_was_made_of() -> None:
    data = {
        "text": "a: b # c\n'd' \"e\" \u2028 é {{x}}",
        "on": True,
        "empty": {},
        "none": [],
        "list": [1, "2", {"a": [{}, None], "b-c": 0.5}, [[]]],
        "": {"1": "y"},
    }
    assert yaml.safe_load(to_yaml(data)) == data
