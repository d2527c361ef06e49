"""`flowc check`: what is ignored, how severe things are, the forms that it writes; and `flowc explain`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import Flowc

HEAD = re.compile(r"^(error|warning|note)\[(FC\d{3})\]", re.MULTILINE)
SETS = 'import os\nos.environ["K"] = "1"'
ENDS = "\n# %%\n#| flowc: step:end\nprint(1)\n"


def found(flowc: Flowc, *args: object) -> list[tuple[str, str]]:
    return HEAD.findall(flowc("check", *args).out)


def notebook(folder: Path, first: str, words: str = "") -> Path:
    """Write a notebook of two steps, of which the first is given."""
    path = folder / "cells.py"
    path.write_text(f"# %%\n#| flowc: step:begin {words}\n{first}\n{ENDS}")
    return path


@pytest.mark.parametrize(
    ("first", "words", "left"),
    [
        (SETS, "", [("warning", "FC208")]),
        (f"{SETS}  # flowc: ignore[FC208] only here", "", []),
        (f"{SETS}  # noqa: S101  # flowc: ignore[FC209, FC208]", "", [("note", "FC041")]),
        ('import os\n# flowc: ignore[FC208] why\n# more words\n\nos.environ["K"] = "1"', "", []),
        (f"# flowc: ignore[FC208]\n{SETS}", "", [("note", "FC041"), ("warning", "FC208")]),
        (f'"# flowc: ignore[FC208]"; {SETS}'.replace("\n", "; "), "", [("warning", "FC208")]),
        (SETS, "ignore:FC208", []),
        ("x = 1", "ignore:FC208", [("note", "FC041")]),
        ("x = 1", "ignore:FC2088", [("warning", "FC040")]),
        ("x = 1  # flowc: ignore", "", [("warning", "FC040")]),
        ("!pip install six  # flowc: ignore[FC017] any will do", "", []),
        ("x = y  # flowc: ignore[FC200] no", "", [("error", "FC200"), ("warning", "FC042")]),
    ],
)
def test_what_a_comment_takes_away(
    flowc: Flowc, tmp_path: Path, first: str, words: str, left: list[tuple[str, str]]
) -> None:
    assert found(flowc, notebook(tmp_path, first, words)) == left


def test_an_ignore_in_a_python_file_counts_for_the_function_that_was_checked(
    flowc: Flowc, tmp_path: Path
) -> None:
    (tmp_path / "ignored_untyped.py").write_text(
        "from flowc import component, pipeline\n\n"
        "@component\ndef one(n):  # flowc: ignore[FC310] anything goes\n    return n\n\n"
        "@component\ndef two(n: int) -> int:  # flowc: ignore[FC310]\n    return n\n\n"
        "@pipeline\ndef first():\n    return one(1)\n\n@pipeline\ndef second():\n    return two(1)\n"
    )
    assert found(flowc, "ignored_untyped.py::first", "--strict") == []
    assert found(flowc, "ignored_untyped.py::second", "--strict") == [("note", "FC041")]
    assert found(flowc, "ignored_untyped.py::second") == []


def severities(folder: Path, lines: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.flowc.severity]\n{lines}\n")


def test_severities_are_the_projects(flowc: Flowc, tmp_path: Path) -> None:
    path = notebook(tmp_path, SETS)
    for said, left, code in (
        ('FC208 = "off"', [], 0),
        ('FC208 = "note"', [("note", "FC208")], 0),
        ('FC2 = "error"', [("error", "FC208")], 3),
        ('FC2 = "error"\nFC208 = "off"', [], 0),
    ):
        severities(tmp_path, said)
        assert found(flowc, path) == left
        assert flowc("check", path).code == code
    severities(tmp_path, 'FC208 = "error"')
    refused = flowc("run", path)
    assert (refused.code, HEAD.findall(refused.err)) == (3, [("error", "FC208")])


def test_what_cannot_run_stays_an_error(flowc: Flowc, tmp_path: Path) -> None:
    severities(tmp_path, 'FC200 = "off"')
    assert found(flowc, notebook(tmp_path, "x = y")) == [("error", "FC200")]
    assert found(flowc, notebook(tmp_path, "if len('a') > 2:\n    x = y")) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('FC501 = "warning"', "FC501 = 'warning': 'FC501' is always an error"),
        ('FC5 = "off"', "FC5 = 'off': all that begins with 'FC5' are errors"),
        ('FC2088 = "off"', "FC2088 = 'off': there is no such code\nhint: did you mean 'FC208'?"),
        ('FC208 = "eror"', "FC208 = 'eror': there is no such level\nhint: did you mean 'error'?"),
        ('"" = "off"', " = 'off': there is no such code\nhint: the codes are in docs/diagnostics/README.md"),
        ("FC208 = 3", "FC208 = 3: there is no such level\nhint: the levels are: error, warning, note, off"),
    ],
)
def test_wrong_severities_name_file_and_key(flowc: Flowc, tmp_path: Path, line: str, said: str) -> None:
    severities(tmp_path, line)
    refused = flowc("check", notebook(tmp_path, "x = 1"))
    assert refused.code == 2
    assert f"{tmp_path}/pyproject.toml: [tool.flowc.severity] {said}" in refused.err


def jupyter(folder: Path) -> Path:
    """Write a notebook with a warning at the second line of its second cell, as Jupyter lays it out."""
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# é"]},
        *(
            {
                "cell_type": "code",
                "id": id_,
                "metadata": {"tags": [f"step:{id_}"]},
                "execution_count": None,
                "outputs": [],
                "source": source,
            }
            for id_, source in (("b", ["import os\n", 'os.environ["K,%"] = "1"']), ("c", ["print(1)"]))
        ),
    ]
    path = folder / "n.ipynb"
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def line_of(path: Path, text: str) -> int:
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_github_shows_the_line_of_the_notebooks_file(flowc: Flowc, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "pyproject.toml").touch()
    path = jupyter(tmp_path / "sub")
    said = flowc("check", path, "--format", "github")
    line, end = line_of(path, "os.environ"), len('    "os.environ[\\"K,%\\"] = \\"1\\""') + 1
    assert said.code == 0
    assert said.out == (
        f"::warning file=sub/n.ipynb,line={line},endLine={line},col=1,endColumn={end},title=flowc FC208::"
        "n.ipynb cell 1 (id b) line 2:1: 'os.environ' is set for the process of step 'b': other steps won't see it"
        "%0Ahint: set it in a shared cell, which runs in every step\n"
    )


def test_github_escapes_what_it_would_obey(flowc: Flowc, tmp_path: Path) -> None:
    (tmp_path / "a,b:c%.py").write_text("# %%\n#| flowc: step:one after:%0A\nx = 1\n")
    said = flowc("check", "a,b:c%.py", "--format", "github")
    place = "file=a%2Cb%3Ac%25.py,line=2,endLine=2,col=20,endColumn=29"
    assert said.out.startswith(f"::error {place},title=flowc FC020::")
    assert "'after:%250A'" in said.out


def test_sarif_has_rules_places_and_cells(flowc: Flowc, tmp_path: Path) -> None:
    path = jupyter(tmp_path)
    log = flowc("check", path, "--format", "sarif").json()
    (run,) = log["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    (result,) = run["results"]
    assert (log["version"], rule["id"], result["ruleId"], result["ruleIndex"]) == (
        "2.1.0",
        "FC208",
        "FC208",
        0,
    )
    assert rule["help"]["markdown"].startswith("# FC208: process-wide state")
    assert (rule["defaultConfiguration"]["level"], result["level"]) == ("warning", "warning")
    line = line_of(path, "os.environ")
    location = result["locations"][0]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "n.ipynb", "uriBaseId": "%SRCROOT%"}
    assert location["physicalLocation"]["region"]["startLine"] == line
    assert location["logicalLocations"] == [
        {"name": "cell 1 (id b)", "fullyQualifiedName": "n.ipynb cell 1 (id b) line 2"}
    ]


def test_sarif_names_both_places(flowc: Flowc, tmp_path: Path) -> None:
    (tmp_path / "sarif_both.py").write_text(
        "from flowc import component, pipeline\n"
        "@component\ndef one(n: int) -> int: return n\n"
        "@component\ndef word() -> str: return ''\n"
        "@pipeline\ndef wrong(): return one(word())\n"
    )
    said = flowc("check", "sarif_both.py", "--format", "sarif")
    assert said.code == 3
    (result,) = said.json()["runs"][0]["results"]
    regions = [
        each["physicalLocation"]["region"] for each in (*result["locations"], *result["relatedLocations"])
    ]
    assert regions == [
        {"startLine": 7, "startColumn": 21, "endLine": 7, "endColumn": 32},
        {"startLine": 3, "startColumn": 9, "endLine": 3, "endColumn": 15},
    ]


def test_the_forms_of_nothing(flowc: Flowc, tmp_path: Path) -> None:
    path = notebook(tmp_path, "x = 1")
    assert flowc("check", path, "--format", "github").out == ""
    assert flowc("check", path, "--format", "sarif").json()["runs"][0]["results"] == []


def test_compiled_ir_is_wrong_at_its_own_line_and_says_where_it_came_from(
    flowc: Flowc, tmp_path: Path
) -> None:
    (tmp_path / "compiled_here.py").write_text(
        "from flowc import component, pipeline\n"
        "@component\ndef one(n: int) -> int: return n\n"
        "@pipeline\ndef right(): return one(1)\n"
    )
    flowc("compile", "compiled_here.py", "-o", "p.json")
    text = (tmp_path / "p.json").read_text()
    (tmp_path / "p.json").write_text(text.replace('"value": 1', '"value": "x"'))
    (said,) = flowc("check", "p.json", "--format", "json").json()
    assert (said["code"], said["source"]) == ("FC301", {"file": "p.json", "path": "$.tasks[0].inputs.n"})
    assert {each["message"]: each["source"]["file"] for each in said["related"]} == {
        "the input is declared here": "p.json",
        "compiled from here": "compiled_here.py",
    }


def test_columns_count_letters_not_bytes(flowc: Flowc, tmp_path: Path) -> None:
    path = notebook(tmp_path, "'é猫'; x = y")
    (said,) = flowc("check", path, "--format", "json").json()
    assert said["source"]["column"] == 11


def test_colours_come_when_they_are_asked_for(
    flowc: Flowc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = notebook(tmp_path, SETS)
    assert "\x1b" not in flowc("check", path).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;33mwarning[FC208]" in flowc("check", path).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in flowc("check", path).out


def test_explain_prints_the_page(flowc: Flowc) -> None:
    page = flowc("explain", "fc203")
    assert page.code == 0
    assert page.out.startswith("# FC203: steps need each other in a circle\n\n*error*\n")
    assert flowc("explain", "FC203", "--json").json()["severity"] == "error"
    unknown = flowc("explain", "FC2033")
    assert (unknown.code, unknown.err) == (
        2,
        "error: there is no code 'FC2033'\nhint: did you mean 'FC203'?\n",
    )


def test_ir_of_a_notebook_says_nothing_of_its_ignores(flowc: Flowc, tmp_path: Path) -> None:
    path = notebook(tmp_path, f"{SETS}  # flowc: ignore[FC208]")
    assert flowc("compile", path, "-o", "p.json").code == 0
    assert found(flowc, "p.json") == []
