"""`flowc run`: a pipeline's parameters as options, the result, what a failure looks like.

The sample adds up the lengths of a file's lines; those of `text` are 1, 2 and 3, which makes 6.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from command_line import SAMPLES, SUMS, Flowc
from pydantic import Field, SecretStr

from flowc import api
from flowc.errors import UsageError
from flowc.ir import Parameter, Pipeline
from flowc.target import IrFile
from flowc.types.describe import describe

RUN = ("run", SUMS, "--runner", "inline", "--store", "store", "--text", "text.txt")


def total_of(shown: Any) -> float:
    made = {artifact["producer"]["task"]: artifact for artifact in shown["artifacts"]}
    return float(made["total"]["summary"]["value"]["values"]["total"])


def test_help_lists_the_pipelines_parameters(flowc: Flowc) -> None:
    shown = flowc("run", SUMS, "--help")
    assert shown.code == 0
    lines = [line.split() for line in shown.out.partition("Parameters of sums:\n")[2].splitlines()]
    assert lines == [
        ["--text", "Path", "[required]"],
        ["--also", "list[Path]", "[default:", "[]]"],
        ["--scale", "float", "[default:", "1.0]"],
        ["--negate", "/", "--no-negate", "[default:", "false]"],
        ["--least", "float", "[default:", "0.0]"],
        ["-p", "runner=str", "[default:", '"nobody"]'],
        ["--password", "SecretStr", "|", "None", "[default:", "null]"],
        ["--rounding", "Rounding", "[default:", '"up"]'],
    ]


def test_a_run_says_what_it_made(flowc: Flowc, text: Path) -> None:
    ran = flowc(*RUN, "--scale", 2)
    assert ran.code == 0
    first, added, rounded, last = ran.out.splitlines()
    assert " COMPLETE, took " in first
    assert added.split()[:2] == ["added", "Metrics"]
    assert added.endswith("total=12")
    assert rounded.endswith("value=UP")
    run = first.split()[0]
    assert last == f"recorded in {text.parent / 'store'}: flowc show {run} --store {text.parent / 'store'}"
    states = [line.split()[0] for line in ran.err.splitlines() if line.startswith(("RUNNING", "COMPLETE"))]
    assert states == ["RUNNING", *["RUNNING", "COMPLETE"] * 4, "COMPLETE"]


@pytest.mark.parametrize(
    ("options", "total"),
    [
        ([], 6),
        (["--negate"], -6),
        (["--negate", "true"], -6),
        (["--no-negate"], 6),
        (["-p", "negate=yes"], -6),
        (["--also", '["text.txt", "text.txt"]'], 18),
        (["-p", "runner=me", "--scale=-0.5"], -3),
    ],
)
@pytest.mark.usefixtures("text")
def test_options_reach_the_parameters(flowc: Flowc, options: list[str], total: float) -> None:
    ran = flowc(*RUN, "--least", "-100", "--json", *options)
    assert ran.code == 0, ran.err
    assert total_of(ran.json()) == total


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--scael", "2"], "No such option '--scael'."),
        (["-p", "scal=2"], "no parameter 'scal'; did you mean 'scale'?"),
        (["-p", "scale"], "-p scale has no value"),
        (["--scale", "2", "-p", "scale=3"], "parameter 'scale' is given twice"),
        (["--negate", "--no-negate"], "parameter 'negate' is given twice"),
        (["--scale", "much"], "parameter 'scale': expected float, got 'much'"),
        (["--rounding", "sideways"], "parameter 'rounding': expected Rounding, got 'sideways'"),
        (["--also", "text.txt"], "parameter 'also': expected list[Path], got 'text.txt'"),
        (["--workers", "0"], "0 is not in the range x>=1"),
    ],
)
def test_wrong_options_are_usage_errors(flowc: Flowc, args: list[str], said: str) -> None:
    refused = flowc("run", SUMS, *args)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err


def test_everything_wrong_is_said_at_once(flowc: Flowc) -> None:
    refused = flowc("run", SUMS, "--scale", "much", "-p", "x=1")
    assert [line.partition(":")[0].strip() for line in refused.err.splitlines() if "paramet" in line] == [
        "parameter 'scale'",
        "no parameter 'x'; its parameters are",
    ]


def test_a_parameter_without_a_value_is_a_diagnostic(flowc: Flowc) -> None:
    refused = flowc("run", SUMS)
    assert (refused.code, refused.out) == (3, "")
    assert "error[FC109] parameter 'text' (Path) has no value" in refused.err
    assert "hint: give it: --text VALUE" in refused.err


def test_the_pipelines_options_come_after_the_target(flowc: Flowc) -> None:
    refused = flowc("run", "--scale", "2", SUMS)
    assert refused.code == 2
    assert "No such option '--scale'. The pipeline's own options come after TARGET." in refused.err


@pytest.mark.usefixtures("text")
def test_a_secret_is_nowhere_to_be_seen(flowc: Flowc, tmp_path: Path) -> None:
    ran = flowc(*RUN, "--password", "hunter2", "--least", 7)
    shown = flowc("show", "--json", "--store", "store")
    assert shown.json()["parameters"]["password"] == "**********"
    assert "hunter2" not in ran.out + ran.err + shown.out
    assert [file for file in tmp_path.rglob("*") if file.is_file() and b"hunter2" in file.read_bytes()] == []


def test_a_refused_secret_is_not_quoted(tmp_path: Path) -> None:
    parameter = Parameter(name="password", type=describe(Annotated[SecretStr, Field(min_length=8)]))
    pipeline = Pipeline(name="safe", parameters=(parameter,))
    compiled = api.Compiled(IrFile(tmp_path / "safe.json", tmp_path), pipeline, tmp_path)
    with pytest.raises(UsageError) as refused:
        api.parse_arguments(compiled, {"password": "hunter2"}, tmp_path)
    assert "parameter 'password': expected SecretStr(min_length=8)" in refused.value.message
    assert "hunter2" not in refused.value.message


@pytest.mark.usefixtures("text")
def test_a_components_own_refusal_has_no_traceback(flowc: Flowc) -> None:
    ran = flowc(*RUN, "--least", 7)
    assert ran.code == 1
    run = ran.out.split()[0]
    end = ran.err.split("\n\n")[-1].splitlines()
    assert end[:2] == ["error: task 'gate' failed: the total 6 is below 7", "hint: lower --least"]
    assert end[2].startswith(f"its log: flowc logs {run} gate --store ")
    assert "Traceback" not in ran.err
    assert "SKIPPED  crash: needs 'gate', which failed" in ran.err


@pytest.mark.usefixtures("text")
def test_an_exception_shows_the_users_own_lines(flowc: Flowc) -> None:
    ran = flowc(*RUN, "--scale", 10)
    assert ran.code == 1
    end = ran.err.split("\n\n")[-1]
    assert f'File "{SUMS}", line ' in end
    assert 'raise ValueError("sixty is too much")' in end
    assert "error: task 'crash' failed: ValueError: sixty is too much" in end
    assert "flowc/engine" not in ran.err


@pytest.mark.usefixtures("text")
def test_settings_of_the_project_and_the_environment(
    flowc: Flowc, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "pyproject.toml").write_text('[tool.flowc]\nrunner = "inline"\nstore = "of-the-file"\n')
    (project / "own.py").write_text(
        "from flowc import component, pipeline\n"
        "@component\ndef one() -> int: return 1\n"
        "@pipeline\ndef own(): return one()\n"
    )
    assert flowc("run", "own.py").code == 0
    monkeypatch.setenv("FLOWC_STORE", "of-the-environment")
    assert flowc("run", "own.py").code == 0
    assert flowc("run", "own.py", "--store", "of-the-flag").code == 0
    for store in ("of-the-file", "of-the-environment", "of-the-flag"):
        (run,) = flowc("runs", "--json", "--store", store).json()
        assert (run["pipeline"], run["runner"], run["state"]) == ("own", "inline", "COMPLETE")


def test_an_unusable_store_is_told_and_a_rerun_works(flowc: Flowc, text: Path) -> None:
    refused = flowc(*RUN, "--store", text / "store")
    assert (refused.code, refused.out) == (5, "")
    assert str(text / "store") in refused.err
    assert flowc(*RUN).code == 0


@pytest.mark.usefixtures("text")
def test_an_unknown_runner_is_unavailable(flowc: Flowc) -> None:
    refused = flowc(*RUN, "--runner", "inlin")
    assert refused.code == 5
    assert "error: no runner 'inlin'\nhint: did you mean 'inline'?" in refused.err


def test_compiled_ir_makes_the_same_artifacts(flowc: Flowc, text: Path) -> None:
    first = flowc("compile", SUMS).out
    assert flowc("compile", SUMS).out == first
    # Not below the samples' project: its modules are found from the current folder.
    ir = text.parent / "sums.json"
    ir.write_text(first)
    lost = flowc("run", ir, "--text", "text.txt")
    assert lost.code == 4
    assert "sums.json needs tests/cli/samples/sums.py in " in lost.err


@pytest.mark.usefixtures("text")
def test_ir_in_its_project_runs_like_its_source(
    flowc: Flowc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, text = tmp_path / "store", tmp_path / "text.txt"
    assert flowc("compile", SUMS, "-o", tmp_path / "sums.json").code == 0
    monkeypatch.chdir(SAMPLES)
    args = ("--runner", "inline", "--store", store, "--text", text, "--json")
    digests = [
        [artifact["digest"] for artifact in flowc("run", target, *args).json()["artifacts"]]
        for target in (SUMS, tmp_path / "sums.json")
    ]
    assert len(digests[0]) == 4
    assert digests[0] == digests[1]


def test_a_run_of_ir_from_elsewhere_is_recorded_with_its_project(
    flowc: Flowc, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert flowc("compile", "naps.py", "-o", tmp_path / "naps.json").code == 0
    ran = flowc("run", tmp_path / "naps.json", "--runner", "inline", "--seconds", 0, "--json")
    assert ran.code == 0, ran.err
    assert ran.json()["store"] == str(project / ".flowc")
