"""Every code has a page, docs/diagnostics/ is what the pages say, and each example is what it claims to be."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from flowc.check.codes import CodePage, code_pages
from flowc.check.markdown import documents
from flowc.cli.app import run_command

ROOT = Path(__file__).parents[2]
SHOWN = [page for page in code_pages().values() if not page.unshown]
HEAD = re.compile(r"^(error|warning|note)\[(FC\d{3})\]", re.MULTILINE)
ERRORS, WARNINGS = 3, 0


def test_every_code_that_is_said_has_a_page() -> None:
    said = {
        code
        for file in (ROOT / "flowc").rglob("*.py")
        for code in re.findall(r'"(FC\d{3})"', file.read_text(encoding="utf-8"))
    }
    assert said == code_pages().keys()


def test_the_documents_are_what_the_pages_say() -> None:
    folder = ROOT / "docs" / "diagnostics"
    written = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.md")}
    assert written == documents(), "run make docs"


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.code)
def test_the_bad_example_gives_its_code(
    page: CodePage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said_of(page, page.bad, tmp_path, monkeypatch, capsys)
    assert {code for _, code in found} == {page.code}
    assert found[0][0] == page.severity


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.code)
def test_the_good_example_gives_none(
    page: CodePage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said_of(page, page.good, tmp_path, monkeypatch, capsys) == []


def said_of(
    page: CodePage,
    texts: Mapping[str, str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[tuple[str, str]]:
    """Return the severities and codes of what the page's command says of the files."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (folder / "pyproject.toml").touch()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    command, *options = page.command.split()
    try:
        code = run_command([command, list(texts)[-1], *options])
    finally:
        for name in texts:
            sys.modules.pop(Path(name).stem, None)  # the next example has files of the same names
    written = capsys.readouterr()
    found = HEAD.findall(written.out) or HEAD.findall(written.err)
    assert code == (ERRORS if any(severity == "error" for severity, _ in found) else WARNINGS), written
    return found


def test_a_percent_notebook_without_jupytext_is_told_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "cells.py").write_text("# %%\n#| flowc: step:load\nrows = 1\n")
    program = (
        "import sys; sys.modules['jupytext'] = None; from flowc.cli.app import run_command; "
        "sys.exit(run_command(['check', 'cells.py']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, HEAD.findall(ended.stdout)) == (ERRORS, [("error", "FC013")])
    assert "= hint: install flowc[notebook]" in ended.stdout
