"""A notebook written as a Python module gives what the notebook gives: both are run, their artifacts compared."""

from __future__ import annotations

import contextlib
import enum
import json
import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import cloudpickle
import pytest
from IPython.utils.text import SList

from flowc import api
from flowc.emit.python import Home, to_python
from flowc.emit.python import lines as emitted_lines
from flowc.engine.recorder import RunLabel
from flowc.engine.run import run_plan
from flowc.errors import CodecError, CompileError, UsageError
from flowc.ir import Pipeline
from flowc.notebook import lines as notebook_lines
from flowc.notebook.crossing import Bundle, Unbound
from flowc.plan import make_plan
from flowc.testing import RecordingRunner, temporary_store

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases" / "notebook"


def write_notebook(folder: Path, cells: list[list[str]], name: str = "notebook") -> Path:
    """Write a notebook of (tags, source) cells; tags are separated by spaces."""
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [_cell(index, tags, source) for index, (tags, source) in enumerate(cells)],
    }
    (folder / "pyproject.toml").touch()
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps(document))
    return path


def _cell(index: int, tags: str, source: str) -> dict[str, Any]:
    cell = {"id": f"c{index}", "metadata": {}, "source": source}
    if tags == "markdown":
        return {**cell, "cell_type": "markdown"}
    code = {"cell_type": "code", "outputs": [], "execution_count": None}
    return {**cell, **code, "metadata": {"tags": tags.split()}}


def compiled(path: Path) -> Pipeline:
    return api.check(api.compile(api.load_target(str(path), path.parent))).pipeline


Key = tuple[str, str]  # a task and its port, or a task and "", for how it ended


def results(path: Path, given: dict[str, Any]) -> dict[Key, Any]:
    """Run a pipeline; return what left each task, and how it ended."""
    return results_and_digests(path, given)[0]


def results_and_digests(path: Path, given: dict[str, Any]) -> tuple[dict[Key, Any], dict[Key, str]]:
    """Run a pipeline; return what left each task, and the digests under which that is stored."""
    target = api.compile(api.load_target(str(path), path.parent))
    plan = make_plan(api.check(target), given, target.root)
    found: dict[Key, Any] = {}
    digests: dict[Key, str] = {}
    with temporary_store() as store, one_seed():
        result = run_plan(plan, runner=RecordingRunner(), store=store, label=RunLabel("test", "inline"))
        for name, outcome in result.tasks.items():
            found[name, ""] = outcome.state
            for port in target.pipeline.component_of(target.pipeline.task(name)).outputs:
                # The notebook's classes are gone with the step that ended last, where that had no use for them.
                with contextlib.suppress(KeyError, CodecError):
                    stored = outcome.outputs[port.name]
                    found[name, port.name] = store.artifact_store.load(stored, port.type)
                    digests[name, port.name] = stored.digest
    return found, digests


@contextlib.contextmanager
def one_seed() -> Iterator[None]:
    """Let a generator that is seeded with nothing begin at one place: each task begins with one that is."""
    with pytest.MonkeyPatch.context() as patch:
        seed = random.seed
        seed(1)  # a module's components draw in this process, from its own generator
        patch.setattr(random, "seed", lambda a=1, version=2: seed(a, version))
        yield


def name_in_module(key: Key, names: set[Key]) -> Key:
    """Return what a notebook's port is called in its module: a task's only one "output"."""
    task, port = key
    if (task, "output") in names and port:
        return task, "output"
    names_in_port, early, cell = re.sub("<generator (.*)>", r"\1_state", port).partition("@")
    return task, "_and_".join(names_in_port.split("+")) + (f"_after_cell_{cell}" if early else "")


def as_returned(found: dict[Key, Any], names: set[Key]) -> dict[Key, Any]:
    """Return a notebook's results as its module gives them: those that travel together as a tuple."""
    kept: dict[Key, Any] = {}
    for key, value in found.items():
        name = name_in_module(key, names)
        if not isinstance(value, Unbound):
            held = tuple(value.values.values()) if isinstance(value, Bundle) else (value,)
            kept[name] = held if len(held) > 1 else held[0]
    return kept


def of_both(value: Any) -> bool:
    """Say whether a notebook's value is stored alike for its module: it speaks of none of the notebook's classes and
    functions, and is no form of a notebook's own."""
    own = isinstance(value, Bundle | Unbound | SList)
    return not own and b"flowc_notebook_" not in cloudpickle.dumps(value)


def same(one: Any, other: Any) -> bool:
    """Say whether two values are equal; instances of the notebook's classes are by their names and attributes.

    A shell line gives IPython's own list of lines in a notebook, and a plain list in a module.
    """
    if isinstance(one, SList):
        one = list(one)
    if type(one).__name__ != type(other).__name__:
        return False
    if isinstance(one, FunctionType):
        return one.__code__.co_code == other.__code__.co_code
    if isinstance(one, partial):
        return same((one.func, one.args), (other.func, other.args))
    if isinstance(one, dict):
        return same([*one.items()], [*other.items()])
    if isinstance(one, list | tuple) and not any(each is one for each in one):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one).__module__.startswith("flowc_notebook"):
        return one.name == other.name if isinstance(one, enum.Enum) else same(vars(one), vars(other))
    if cloudpickle.dumps(one) == cloudpickle.dumps(other):
        return True
    # What holds functions holds those of two modules here.
    return hasattr(one, "__dict__") and same(one.__reduce_ex__(4)[1:], other.__reduce_ex__(4)[1:])


def cases() -> list[Any]:
    files = sorted(CASES.glob("*.toml"))
    found = [(file.stem, case) for file in files for case in tomllib.loads(file.read_text())["case"]]
    return [
        pytest.param(number, case, id=f"{stem}: {case['name']}")
        for number, (stem, case) in enumerate(found)
        if "refused" not in case
    ]


@pytest.mark.parametrize(("number", "case"), cases())
def test_the_module_gives_what_the_notebook_gives(number: int, case: dict[str, Any], tmp_path: Path) -> None:
    path = write_notebook(tmp_path, case["cells"])
    pipeline = compiled(path)
    try:
        text = to_python(pipeline)
    except CompileError as error:
        pytest.skip(str(error))  # a refusal is right, if not what one hopes for; a crash is not
    module = tmp_path / f"case_{number}.py"  # modules stay imported: each has a name of its own
    module.write_text(text)
    for given in [{}, *case.get("given", [])]:
        ours, our_digests = results_and_digests(module, given)
        values, their_digests = results_and_digests(path, given)
        if "import numpy" not in text:  # a notebook without NumPy carries its random state, a module doesn't
            values = {key: value for key, value in values.items() if key[1] != "<generator numpy>"}
        theirs = as_returned(values, set(ours))
        assert theirs.keys() <= ours.keys()
        assert [key for key in theirs if not same(theirs[key], ours[key])] == []
        names = {key: name_in_module(key, set(ours)) for key in values if key[1] and of_both(values[key])}
        assert {key: their_digests[key] for key in names} == {key: our_digests[names[key]] for key in names}


def written(folder: Path, *cells: list[str]) -> str:
    return to_python(compiled(write_notebook(folder, list(cells))))


def test_a_module_is_written_as_a_person_would(tmp_path: Path) -> None:
    (tmp_path / "scores.ipynb").write_text("")
    path = write_notebook(
        tmp_path,
        [
            ["markdown", "# Scores\n\nWho is best?"],
            ["imports", "import statistics\nfrom pathlib import Path"],
            ["parameters", "weights: list[float] = [0.5, 1]\nlimit = 3  # the most to keep\nkind = 'it\\'s'"],
            [
                "functions",
                "# Each counts.\nFACTOR = 2\ndef weighted(values):\n    return [FACTOR * value for value in values]",
            ],
            ["markdown", "Weigh them."],
            [
                "ingest cpus:2 memory:1GiB",
                '# all of them\nscores = weighted(weights)  # twice\nnote = """one\n  two"""\nscores',
            ],
            ["transform:keep-best retries:1", "kept = sorted(scores)[:limit]\nmean = statistics.mean(kept)"],
            ["step:report after:ingest cache:off", "print(kind, mean, len(kept))"],
        ],
        "scores",
    )
    assert to_python(compiled(path)) == (Path(__file__).parent / "scores.py.txt").read_text()


def test_a_module_far_from_its_notebook_finds_files_and_modules_there(tmp_path: Path) -> None:
    home = tmp_path / "notebooks"
    home.mkdir()
    (home / "away_helper.py").write_text("GREETING = 'hello'\n")
    (home / "name.txt").write_text("world")
    cells = [
        ["imports", "from away_helper import GREETING\nfrom pathlib import Path"],
        ["parameters", "file = Path('name.txt')"],
        ["step:greet", "text = GREETING + ' ' + Path('name.txt').read_text() + file.read_text()"],
    ]
    pipeline = compiled(write_notebook(home, cells))
    (home / "pyproject.toml").unlink()
    (tmp_path / "pyproject.toml").touch()
    module = tmp_path / "far_away.py"
    module.write_text(to_python(pipeline, Home("notebooks", frozenset({"away_helper"}))))
    assert results(module, {})["greet", "output"] == "hello worldworld"


def test_lines_that_were_no_python_become_python(tmp_path: Path) -> None:
    path = write_notebook(
        tmp_path,
        [
            ["parameters", "word = 'hi'"],
            [
                "step:shell",
                "%matplotlib inline\nword\n!echo {word} $word '$HOME' > words.txt\nlines = !cat words.txt; echo done",
            ],
            ["step:file", '%%writefile made.txt\nfirst \\ line\n"""second"""'],
            [
                "step:read",
                "from pathlib import Path\ntext = Path('made.txt').read_text()\n"
                "async def size(): return len(text)\ncount = await size()",
            ],
        ],
        "shell_lines",
    )
    module = tmp_path / "shell_module.py"
    module.write_text(to_python(compiled(path)))
    ours, theirs = results(module, {}), results(path, {})
    assert ours["shell", "output"] == theirs["shell", "lines"] == ["hi hi $HOME", "done"]
    assert ours["read", "text"] == theirs["read", "text"] == 'first \\ line\n"""second"""\n'
    assert ours["read", "count"] == theirs["read", "count"] == 26  # 13 characters a line


def test_an_enum_parameter_has_its_class(tmp_path: Path) -> None:
    text = written(
        tmp_path,
        ["functions", "from enum import Enum\nclass Mode(Enum):\n    FAST = 1\n    SLOW = 2"],
        ["parameters", "mode = Mode.FAST"],
        ["step:use", "chosen = mode.value"],
    )
    assert "def use(mode: Mode) -> Any:" in text
    assert "def notebook(mode: Mode = Mode.FAST)" in text


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (
            [["step:a", "k = 1"], ["functions", "class A:\n    def f(self): return k"], ["step:b", "x = A().f()"],
             ["step:c", "y = A().f()"]],
            "class 'A' can't stand at the top of a module: it reads 'k'",
        ),
        (
            [["parameters", "k = 1"], ["functions", "def f(): return k"], ["step:a", "t = {'f': f}"],
             ["step:b", "print(t)"]],
            "function 'f' may go from one step to another, and it reads 'k'",
        ),
        ([["step:a", "async with open() as x:\n    y = 1"]], "'async' at the top of a cell"),
        ([["step:a", "print(max(1, 2))\nmax = 3"], ["step:b", "print(max)"]], "'max' is Python's own here"),
        ([["step:a", "x = 1\nclass A:\n    x = x\nprint(A.x)"]], "class 'A' has a 'x' of its own"),
    ],
)  # fmt: skip
def test_what_would_not_mean_the_same_is_refused(cells: list[list[str]], reason: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError) as refused:
        written(tmp_path, *cells)
    assert [problem.code for problem in refused.value.diagnostics] == ["FC601"]
    assert reason in refused.value.diagnostics[0].message
    assert refused.value.diagnostics[0].hint


def test_a_name_without_a_value_goes_to_the_next_step_as_such(tmp_path: Path) -> None:
    cells = [
        ["parameters", "c = True"],
        ["step:a", "if c:\n    x = [1]"],
        ["step:b", "try:\n    y = x + [2]\nexcept NameError:\n    y = 'none'"],
    ]
    text = written(tmp_path, *cells)
    module = tmp_path / "without_value.py"
    module.write_text(text)
    assert results(module, {})["b", "output"] == [1, 2]
    assert results(module, {"c": False})["b", "output"] == "none"
    assert 'return locals().get("x", NoValue())' in text


def test_random_state_goes_from_step_to_step(tmp_path: Path) -> None:
    cells = [
        ["imports rng:carry", "import random\nrandom.seed(4)"],
        ["step:a", "one = random.random()"],
        ["step:b", "drawn = [one, random.random()]"],
    ]
    text = written(tmp_path, *cells)
    module = tmp_path / "random_state.py"
    module.write_text(text)
    one_generator = random.Random(4)
    assert results(module, {})["b", "output"] == [one_generator.random(), one_generator.random()]
    assert "numpy" not in text
    assert "    random.setstate(random_state)\n" in text


def test_the_penguins_come_out_as_from_the_notebook(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    shutil.copytree(ROOT / "examples" / "penguins", tmp_path / "penguins")
    notebook, module = tmp_path / "penguins" / "penguins.ipynb", tmp_path / "penguins_as_python.py"
    command = [sys.executable, "-m", "flowc", "compile", str(notebook), "--to", "python", "-o", str(module)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "def ingest(csv: Path) -> pd.DataFrame:" in module.read_text()
    ruff = [sys.executable, "-m", "ruff"]
    for check in (["check"], ["format", "--check"]):
        subprocess.run(
            [*ruff, *check, "--isolated", module.name], cwd=tmp_path, check=True, capture_output=True
        )
    ours, our_digests = results_and_digests(module, {"trees": 20})
    _, their_digests = results_and_digests(notebook, {"trees": 20})
    assert len(their_digests) == 10
    assert {name_in_module(key, set(ours)): digest for key, digest in their_digests.items()} == our_digests


def test_signatures_say_what_types_are_certain(tmp_path: Path) -> None:
    text = written(
        tmp_path,
        ["imports", "import pandas as pd\nfrom sklearn.tree import DecisionTreeClassifier"],
        [
            "step:a",
            "table = pd.DataFrame({'x': [0, 1]})\nsize = len(table)\nother = table.x\ntwice = str(1)\ntwice = 2",
        ],
        ["step:b", "tree = DecisionTreeClassifier().fit(table, other)\nif size > 2:\n    note = 'large'"],
        ["step:c", "print(tree, twice, size)\ntry: print(note)\nexcept NameError: pass"],
    )
    assert "    table: pd.DataFrame\n    size: int\n    other: Any\n    twice: Any\n" in text
    assert "def b(table: pd.DataFrame, other: Any, size: int) -> BOutputs:" in text
    assert "    tree: DecisionTreeClassifier\n    note: Any\n" in text


def test_python_is_python_already() -> None:
    with pytest.raises(UsageError, match="pipeline 'taxi' is Python already"):
        to_python(compiled(ROOT / "examples" / "taxi" / "taxi.py"))


def test_the_names_of_translated_lines_are_those_of_the_notebook() -> None:
    names = ("SHELL", "SHELL_OUTPUT", "SCRIPT", "WRITE_FILE", "CAPTURE", "CAPTURED", "CAPTURED_UNNAMED")
    for name in (*names, "ENVIRONMENT", "DISPLAY", "LINE_FUNCTIONS"):
        assert getattr(emitted_lines, name) == getattr(notebook_lines, name)
