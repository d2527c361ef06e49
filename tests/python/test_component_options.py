"""Options of @component and .options that make no sense are refused at their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowc.errors import CompileError
from flowc.python.compile import compile_file


@pytest.mark.parametrize(
    ("options", "says", "hint"),
    [
        ("cpu=2", "there is no option 'cpu'", "did you mean 'cpus'?"),
        ("zzz=2", "there is no option 'zzz'", "the options are: name, "),
        ("cpus='two'", "cpus='two' is not of type int or float", "give cpus as int or float"),
        ("gpus=0.5", "gpus=0.5 is not of type int", "give gpus as int"),
        ("retries=True", "retries=True is not of type int", "give retries as int"),
        ("cache='soon'", "'soon' is not a time", 'write it like "10m"'),
        ("processes=0", "processes=0 makes no sense: it is at least 1", "give at least 1"),
        ("cpus=float('inf')", "cpus=inf makes no sense: it is a number that is finite", "give at least 0"),
        ("memory='4 elephants'", "'4 elephants' is not a memory size", 'write it like "4GiB"'),
        ("timeout='soon'", "'soon' is not a time", 'write it like "10m"'),
        ("role='trian'", "there is no role 'trian'", "did you mean 'train'?"),
    ],
)
def test_senseless_options_are_refused(tmp_path: Path, options: str, says: str, hint: str) -> None:
    file = tmp_path / f"options_{abs(hash(options))}.py"
    file.write_text(f"from flowc import component\n\n\n@component({options})\ndef one() -> int: ...\n")
    with pytest.raises(CompileError) as refused:
        compile_file(file, None, tmp_path)
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.source and problem.source.line) == ("FC402", 4)
    assert problem.message == says
    assert str(problem.hint).startswith(hint)


def test_options_of_a_call_are_refused_in_the_pipeline(tmp_path: Path) -> None:
    file = tmp_path / "options_of_a_call.py"
    file.write_text(
        "from flowc import component, pipeline\n@component\ndef one() -> int: ...\n"
        "@pipeline\ndef main():\n    one.options(role='train')()\n"
    )
    with pytest.raises(CompileError) as refused:
        compile_file(file, None, tmp_path)
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.message) == ("FC402", "there is no option 'role'")
    assert str(problem.source).endswith(":6:5")
