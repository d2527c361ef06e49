"""Where settings come from, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowc.errors import UsageError
from flowc.settings import Given, Settings, read_settings


def test_without_a_word_there_are_defaults(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, Given(), {}, tmp_path)
    assert settings == Settings(runner="local", store=tmp_path / ".flowc", workers=None)


def test_flags_win_over_variables_over_the_project(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "folder"
    root.mkdir()
    (root / "pyproject.toml").write_text('[tool.flowc]\nrunner = "a"\nstore = "runs"\nworkers = 1\n')
    assert read_settings(root, Given(), {}, folder) == Settings("a", root / "runs", 1)
    variables = {"FLOWC_RUNNER": "b", "FLOWC_STORE": "here", "FLOWC_WORKERS": "2"}
    assert read_settings(root, Given(), variables, folder) == Settings("b", folder / "here", 2)
    flags = Given(runner="c", store=Path("/there"), workers=3)
    assert read_settings(root, flags, variables, folder) == Settings("c", Path("/there"), 3)
    assert read_settings(root, Given(), {"FLOWC_RUNNER": ""}, folder).runner == "a"


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("[tool.flowc]\nrunnner = 'local'", "[tool.flowc] has no key 'runnner'", "did you mean 'runner'?"),
        (
            "[tool.flowc]\nzzz = 1",
            "[tool.flowc] has no key 'zzz'",
            "its keys are: runner, store, workers, severity",
        ),
        ("[tool.flowc]\nworkers = 0", "[tool.flowc] workers = 0: Input should be greater than", None),
        ("[tool]\nflowc = 1", "tool.flowc is not a table", None),
        ("[tool.flowc", "can't be read: ", None),
    ],
)
def test_wrong_project_settings_name_the_key(tmp_path: Path, text: str, said: str, hint: str | None) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        read_settings(tmp_path, Given(), {}, tmp_path)
    assert str(tmp_path / "pyproject.toml") in refused.value.message
    assert said in refused.value.message
    assert refused.value.hint == hint


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="FLOWC_WORKERS=many: Input should be a valid integer"):
        read_settings(tmp_path, Given(), {"FLOWC_WORKERS": "many"}, tmp_path)
