"""Wrong pipelines, each refused before any task runs with its code, place and a hint; and right ones, of which
nothing is said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from checking import Place, cases, write_case

from flowc import api
from flowc.check.settle import CheckOptions
from flowc.check.sources import Sources
from flowc.cli.app import run_command
from flowc.diagnostics import Diagnostic
from flowc.engine.interrupts import Interrupts
from flowc.engine.outcome import RunResult
from flowc.errors import CompileError
from flowc.settings import Settings
from flowc.store.metadata import has_store, open_store

ROOT = Path(__file__).parents[2]
EXAMPLES = [file for kind in ("*.py", "*.ipynb") for file in sorted((ROOT / "examples").rglob(kind))]


@contextmanager
def imported(folder: Path) -> Iterator[Path]:
    """Let modules of a folder be imported, and forget them afterwards."""
    path, modules = [*sys.path], {*sys.modules}
    yield folder
    sys.path[:] = path
    for name in {*sys.modules} - modules:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project for all cases, each of which has a file of its own in it."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").touch()
    with imported(folder):
        yield folder


def run(target: Path, options: CheckOptions) -> RunResult:
    settings = Settings("inline", target.parent / ".flowc", None, options)
    loaded = api.load_target(target.name, target.parent)
    return api.run(loaded, {}, settings, lambda _: None, Interrupts())


def check(target: Path, options: CheckOptions) -> tuple[Diagnostic, ...]:
    loaded = api.load_target(target.name, target.parent)
    return api.check(api.compile(loaded, options), options).diagnostics


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def place_of(diagnostic: Diagnostic, sources: Sources) -> Place | None:
    source = diagnostic.source
    if source is None:
        return None
    if source.path is not None:
        return Place(path=source.path)
    located = sources.locate(source)
    return Place(located.span if located else None, source.cell)


@pytest.mark.parametrize(("case", "name"), cases("wrong"))
def test_a_wrong_pipeline_is_refused_before_it_runs(case: dict[str, Any], name: str, project: Path) -> None:
    written = write_case(case, project, name)
    options = CheckOptions(strict=case.get("strict", False))
    if case.get("severity", "error") == "error":
        with pytest.raises(CompileError) as caught:
            run(written.target, options)
        found = caught.value.diagnostics
    else:
        found = check(written.target, options)
    assert [(each.severity, each.code) for each in found] == [
        (case.get("severity", "error"), code) for code in listed(case["code"])
    ]
    assert [place_of(each, Sources(project)) for each in found] == list(written.places)
    for diagnostic, says in zip(found, listed(case["hint"]), strict=True):
        assert says in (diagnostic.hint or "")
    assert not written.target.with_suffix(".ran").exists()


def test_nothing_that_was_refused_is_a_run(project: Path) -> None:
    assert not has_store(project / ".flowc") or open_store(project / ".flowc", create=False).runs() == []


@pytest.mark.parametrize(("case", "name"), cases("right"))
def test_of_a_right_pipeline_nothing_is_said(case: dict[str, Any], name: str, project: Path) -> None:
    options = CheckOptions(strict=case.get("strict", False))
    assert check(write_case(case, project, name).target, options) == ()


def test_what_runs_leaves_its_mark(tmp_path: Path) -> None:
    written = write_case({"takes": "int", "value": "3"}, tmp_path, "case_that_runs")
    with imported(tmp_path):
        assert run(written.target, CheckOptions()).state == "COMPLETE"
    assert written.target.with_suffix(".ran").exists()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.name)
def test_of_an_example_nothing_is_said(example: Path) -> None:
    with imported(example.parent):
        assert check(example, CheckOptions()) == ()


@pytest.mark.parametrize("template", sorted(entry.name for entry in entry_points(group="flowc.templates")))
def test_of_a_new_project_nothing_is_said(template: str, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    assert run_command(["new", str(folder), "--template", template]) == 0
    (made,) = (file for file in folder.iterdir() if file.stem == "pipeline")
    with imported(folder):
        assert check(made, CheckOptions()) == ()
