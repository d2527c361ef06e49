"""Reading notebooks: formats, malformed files with the JSON path of what is wrong, and no traceback whatever comes."""

from __future__ import annotations

import contextlib
import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowc.errors import CompileError, NotFoundError
from flowc.notebook.lower import compile_notebook
from flowc.notebook.reader import is_percent_notebook, read_notebook

GOOD: dict[str, Any] = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"language": "python", "name": "python3", "display_name": "Python 3"}},
    "cells": [
        {"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# Title"},
        {
            "cell_type": "code",
            "id": "a",
            "metadata": {"tags": ["step:a"]},
            "source": ["x = 1\n", "y = 2"],
            "outputs": [],
            "execution_count": None,
        },
        {
            "cell_type": "code",
            "id": "b",
            "metadata": {"tags": ["step:b"]},
            "source": "print(x)",
            "outputs": [],
            "execution_count": None,
        },
    ],
}


def _written(folder: Path, content: Any, name: str = "n.ipynb") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def _problems(path: Path) -> list[tuple[str, str | None]]:
    with pytest.raises(CompileError) as raised:
        read_notebook(path, path.parent)
    return [
        (problem.code, problem.source.path if problem.source else None)
        for problem in raised.value.diagnostics
    ]


def test_a_notebook_is_read_with_its_cells_and_tags(tmp_path: Path) -> None:
    notebook = read_notebook(_written(tmp_path, GOOD), tmp_path)
    assert notebook.file == "n.ipynb"
    assert [(cell.index, cell.id, cell.kind, cell.source, cell.tags) for cell in notebook.cells] == [
        (0, "m", "markdown", "# Title", ()),
        (1, "a", "code", "x = 1\ny = 2", ("step:a",)),
        (2, "b", "code", "print(x)", ("step:b",)),
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda n: n["cells"][1]["metadata"].update(tags="step:a"), ("FC011", "cells[1].metadata.tags")),
        (lambda n: n["cells"][1]["metadata"].update(tags=["x", 3]), ("FC011", "cells[1].metadata.tags[1]")),
        (lambda n: n["cells"][2].update(id="a"), ("FC011", "cells[2].id")),
        (lambda n: n["cells"][2].update(id=7), ("FC011", "cells[2].id")),
        (lambda n: n["metadata"].update(kernelspec="python3"), ("FC011", "metadata.kernelspec")),
        (
            lambda n: n["metadata"]["kernelspec"].update(language="R"),
            ("FC012", "metadata.kernelspec.language"),
        ),
        (lambda n: n["metadata"]["kernelspec"].update(language=5), ("FC011", "metadata.kernelspec.language")),
        (lambda n: n.pop("cells"), ("FC010", "cells")),
        (lambda n: n.update(cells={}), ("FC010", "cells")),
        (lambda n: n.update(nbformat=9), ("FC011", "nbformat")),
        (lambda n: n["cells"].insert(1, "text"), ("FC011", "cells[1]")),
        (lambda n: n["cells"][0].update(cell_type="graph"), ("FC011", "cells[0].cell_type")),
        (lambda n: n["cells"][0].update(source=[1]), ("FC011", "cells[0].source")),
        (lambda n: n["cells"][0].update(metadata=[]), ("FC011", "cells[0].metadata")),
        (lambda n: n.update(metadata=[]), ("FC011", "metadata")),
    ],
)
def test_what_is_malformed_is_named_by_its_json_path(
    tmp_path: Path, change: Any, expected: tuple[str, str]
) -> None:
    document = copy.deepcopy(GOOD)
    change(document)
    assert _problems(_written(tmp_path, document)) == [expected]


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    document = copy.deepcopy(GOOD)
    document["cells"][1]["metadata"]["tags"] = "a"
    document["cells"][2]["source"] = 4
    assert _problems(_written(tmp_path, document)) == [
        ("FC011", "cells[1].metadata.tags"),
        ("FC011", "cells[2].source"),
    ]


@pytest.mark.parametrize(
    ("content", "code"), [("{", "FC010"), ("[1]", "FC010"), ("", "FC010"), ("[" * 100_000, "FC010")]
)
def test_what_is_no_notebook_is_refused(tmp_path: Path, content: str, code: str) -> None:
    assert [found for found, _ in _problems(_written(tmp_path, content))] == [code]


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    path.write_bytes(b'{"cells": "\xff"}')
    assert [code for code, _ in _problems(path)] == ["FC010"]


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())
    assert len(read_notebook(path, tmp_path).cells) == 3


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_notebook(tmp_path / "none.ipynb", tmp_path)


def test_format_3_is_upgraded(tmp_path: Path) -> None:
    document = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "metadata": {}, "source": "Top"},
                    {
                        "cell_type": "code",
                        "collapsed": False,
                        "input": "#| flowc: step:a\nx = 1",
                        "language": "python",
                        "metadata": {},
                        "outputs": [],
                    },
                ]
            }
        ],
    }
    path = _written(tmp_path, document)
    cells = read_notebook(path, tmp_path).cells
    assert [(cell.kind, cell.source) for cell in cells] == [
        ("markdown", "## Top"),
        ("code", "#| flowc: step:a\nx = 1"),
    ]
    assert len(cells[1].id) == 8
    assert [task.name for task in compile_notebook(path, tmp_path)[0].tasks] == ["a"]


def test_percent_format(tmp_path: Path) -> None:
    text = '# %% [markdown]\n# Load it\n# %% tags=["step:a"]\nx = 1\n# %%\n#| flowc: step:b\nprint(x)\n'
    path = _written(tmp_path, text, "n.py")
    assert is_percent_notebook(path)
    pipeline, problems = compile_notebook(path, tmp_path)
    assert problems == []
    assert [(task.name, task.upstream()) for task in pipeline.tasks] == [("a", ()), ("b", ("a",))]
    assert pipeline.components["a"].description == "Load it"
    assert not is_percent_notebook(_written(tmp_path, "x = 1  # %% no\n", "m.py"))
    assert not is_percent_notebook(tmp_path / "none.py")


def test_outputs_of_any_size_and_shape_are_not_looked_at(tmp_path: Path) -> None:
    document = copy.deepcopy(GOOD)
    document["cells"][1]["outputs"] = [{"data": {"image/png": "A" * 5_000_000}}, 7]
    pipeline, _ = compile_notebook(_written(tmp_path, document), tmp_path)
    assert all("AAAA" not in cell.source for cell in pipeline.cells)


def test_compiling_twice_gives_the_same(tmp_path: Path) -> None:
    path = _written(tmp_path, GOOD)
    assert compile_notebook(path, tmp_path) == compile_notebook(path, tmp_path)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            found += _paths(item, (*path, key))
    return found


OLD = {**copy.deepcopy(GOOD), "nbformat": 3, "worksheets": [{"cells": GOOD["cells"]}]}
MUTATIONS = st.sampled_from([GOOD, OLD]).flatmap(
    lambda document: st.lists(
        st.tuples(st.sampled_from(_paths(document)), _JSON), min_size=1, max_size=3
    ).map(lambda changes: (document, changes))
)


@settings(max_examples=300, deadline=None)
@given(MUTATIONS)
def test_a_mutated_notebook_compiles_or_is_refused(
    mutation: tuple[dict[str, Any], list[tuple[Any, Any]]],
) -> None:
    document = copy.deepcopy(mutation[0])
    for path, value in mutation[1]:
        target: Any = document
        try:
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    with tempfile.TemporaryDirectory() as folder:
        written = _written(Path(folder), document)
        with contextlib.suppress(CompileError):
            compile_notebook(written, Path(folder))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from("%!?$()[]{}:=\n x1#'\"\\"), max_size=30).map("".join))
def test_any_text_in_a_cell_compiles_or_is_refused(source: str) -> None:
    document = copy.deepcopy(GOOD)
    document["cells"][1]["source"] = source
    with tempfile.TemporaryDirectory() as folder:
        written = _written(Path(folder), document)
        with contextlib.suppress(CompileError):
            compile_notebook(written, Path(folder))


def test_cells_without_ids_have_the_same_ones_each_time(tmp_path: Path) -> None:
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [
            {"cells": [{"cell_type": "code", "input": "x = 1", "language": "python", "outputs": []}]}
        ],
    }
    for path in (_written(tmp_path, old), _written(tmp_path, "# %%\nx = 1\n", "percent.py")):
        first, second = (read_notebook(path, tmp_path) for _ in range(2))
        assert [cell.source for cell in first.cells] == ["x = 1"]
        assert first == second
