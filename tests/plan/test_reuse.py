"""What runs again after an edit, and what does not: each row is an edit of a small project, and the tasks that it
makes run. A row where too little runs would be a stale result."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from projects import Project

from flowc.errors import UsageError
from flowc.plan.reuse import Blocked, LeftOut, Reuse, Reuser, Run, Undecided, Wish

JOB = '''
    """Three tasks in a chain."""
    import math
    from pathlib import Path

    import helpers
    from flowc import component, pipeline
    from settings import LIMIT, Row
    from tools.text import shout

    FACTOR = 2


    def double(number: int) -> int:
        """Twice the number."""
        return number * FACTOR


    @component
    def load(csv: Path) -> list[int]:
        """Read numbers."""
        return [int(line) for line in csv.read_text().split()]

    @component
    def clean(numbers: list[int], least: int = 0) -> list[int]:
        return [double(number) for number in numbers if least <= number < LIMIT]

    @component
    def total(numbers: list[int]) -> str:
        return shout(str(helpers.add(numbers)))

    @pipeline
    def job(csv: Path = Path("data/numbers.csv"), least: int = 0):
        total(clean(load(csv), least))
'''
HELPERS = """
    import functools
    import operator

    START = 0

    def add(numbers):
        # the sum
        return functools.reduce(operator.add, numbers, START)

    def unused():
        return 1
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setattr(
        sys, "dont_write_bytecode", True
    )  # its times are too coarse for edits as quick as these
    monkeypatch.setattr(sys, "path", list(sys.path))
    project = Project(tmp_path)
    project.write("job.py", JOB)
    project.write("helpers.py", HELPERS)
    project.write(
        "settings.py", "from typing import NamedTuple\nLIMIT = 100\nclass Row(NamedTuple):\n    x: int\n"
    )
    project.write("tools/__init__.py", "")
    project.write("tools/text.py", "def shout(text):\n    return text.upper() + '!'\n")
    project.write("data/numbers.csv", "1\n2\n300\n")
    yield project
    project.forget()


ALL = ["load", "clean", "total"]
Edit = Callable[[Project], object]
EDITS: dict[str, tuple[Edit, list[str]]] = {
    "nothing": (lambda p: None, []),
    "a comment": (lambda p: p.edit("helpers.py", "# the sum", "# all of them"), []),
    "a component's docstring": (lambda p: p.edit("job.py", '"""Read numbers."""', '"""Read them."""'), []),
    "a helper's docstring": (lambda p: p.edit("job.py", "Twice the number.", "Two times the number."), []),
    "the name of an unused helper": (lambda p: p.edit("helpers.py", "def unused():", "def useless():"), []),
    "an unused helper": (lambda p: p.edit("helpers.py", "return 1", "return 2"), []),
    "an unused import": (lambda p: p.edit("job.py", "import math\n", ""), []),
    "a component": (lambda p: p.edit("job.py", "int(line)", "int(line) + 1"), ALL),
    "a component, with the same result": (lambda p: p.edit("job.py", "int(line)", "int(line) + 0"), ["load"]),
    "a helper": (lambda p: p.edit("job.py", "number * FACTOR", "number + FACTOR"), ["clean", "total"]),
    "a constant": (lambda p: p.edit("job.py", "FACTOR = 2", "FACTOR = 3"), ["clean", "total"]),
    "a constant of another module": (lambda p: p.edit("settings.py", "100", "1000"), ["clean", "total"]),
    "one that changes nothing": (lambda p: p.edit("settings.py", "100", "101"), ["clean"]),
    "another module's function": (
        lambda p: p.edit("helpers.py", "operator.add,", "operator.mul,"),
        ["total"],
    ),
    "its constant": (lambda p: p.edit("helpers.py", "START = 0", "START = 1"), ["total"]),
    "a package's function": (lambda p: p.edit("tools/text.py", "'!'", "'?'"), ["total"]),
    "a package's own code": (
        lambda p: p.write("tools/__init__.py", "import os\nos.environ['T'] = '1'\n"),
        ALL,
    ),
    "a default": (
        lambda p: p.edit("job.py", "least: int = 0) -> list", "least: int = 1) -> list"),
        ["clean"],
    ),
    "a file's content": (lambda p: p.write("data/numbers.csv", "1\n2\n3\n"), ALL),
    "a file's content that comes to the same": (lambda p: p.write("data/numbers.csv", "1 2 300\n"), ["load"]),
    "a touched file": (lambda p: os.utime(p.folder / "data/numbers.csv", (1, 1)), []),
}
EDITS["a task's resources"] = (
    lambda p: p.edit("job.py", "@component\ndef total", "@component(retries=2)\ndef total"),
    [],
)
EDITS["a task's version"] = (
    lambda p: p.edit("job.py", "@component\ndef total", "@component(cache_version='2')\ndef total"),
    ["total"],
)
EDITS["a cache that is off"] = (
    lambda p: p.edit("job.py", "@component\ndef clean", "@component(cache=False)\ndef clean"),
    ["clean"],
)
EDITS["formatting"] = (
    lambda p: p.edit("job.py", "return number * FACTOR", "return (number\n            * FACTOR)"),
    [],
)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_makes_run_what_it_reaches(project: Project, name: str) -> None:
    edit, expected = EDITS[name]
    assert project.ran() == ALL
    edit(project)
    assert project.ran() == expected
    assert [each for each in project.ran() if "off" not in name] == []


def test_another_argument_runs_what_gets_it(project: Project) -> None:
    assert project.ran() == ALL
    assert project.ran(least=2) == ["clean", "total"]
    assert project.ran() == []
    assert project.ran(least=2) == []


def test_the_same_file_elsewhere_is_the_same(project: Project) -> None:
    assert project.ran() == ALL
    project.write("other/numbers.csv", "1\n2\n300\n")
    assert project.ran(csv=project.folder / "other/numbers.csv") == []


def test_an_environment_variable_counts_where_it_is_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.edit("helpers.py", "START = 0", "import os\nSTART = int(os.environ.get('FLOWC_TEST_START', '0'))")
    assert project.ran() == ALL
    monkeypatch.setenv("FLOWC_TEST_START", "5")
    assert project.ran() == ["total"]


def test_a_file_that_a_task_opens_by_itself_is_an_input(project: Project) -> None:
    project.write("words.txt", "a b")
    project.edit("job.py", "return shout(", "return Path('words.txt').read_text() + shout(")
    with_folder = Path.cwd()
    os.chdir(project.folder)
    try:
        assert project.ran() == ALL
        assert project.ran() == []
        os.utime(project.folder / "words.txt", (1, 1))
        assert project.ran() == []
        project.write("words.txt", "c d")
        assert project.ran() == ["total"]
        project.write("words.txt", "a b")
        assert project.ran() == []  # what it made of the first words is still there
        (project.folder / "words.txt").unlink()
        assert project.ran() == ["total"]  # and fails, as it should
    finally:
        os.chdir(with_folder)


def test_a_listed_folder_counts_by_its_names(project: Project) -> None:
    project.edit(
        "job.py",
        "return shout(",
        "return str(len(list((Path(__file__).parent / 'data').iterdir()))) + shout(",
    )
    assert project.ran() == ALL
    assert project.ran() == []
    project.write("data/more.csv", "")
    assert project.ran() == ["total"]


def test_what_reads_the_clock_or_the_network_is_not_reused_unless_told(project: Project) -> None:
    project.edit("job.py", "return shout(", "import time\n    return str(time.time()) + shout(")
    assert project.ran() == ALL
    assert project.ran() == ["total"]
    project.edit("job.py", "@component\ndef total", "@component(cache='1h')\ndef total")
    assert project.ran() == []


def test_results_that_are_gone_are_made_again(project: Project) -> None:
    project.edit("job.py", "return shout(", "return 'x' * 10_000 + shout(")
    result = project.result()
    with project.store() as store:
        folder = store.artifact_store.path(result.tasks["total"].outputs["output"].digest)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    assert project.ran() == ["total"]


def test_a_damaged_result_fails_what_reads_it_once_and_is_made_again(project: Project) -> None:
    project.edit("job.py", "return [double(number)", "return [10**3000] + [double(number)")
    result = project.result()
    with project.store() as store:
        folder = store.artifact_store.path(result.tasks["clean"].outputs["output"].digest)
    (file,) = folder.iterdir()
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1])
    project.edit("tools/text.py", "'!'", "'?'")
    failed = project.result()
    assert {name: each.state for name, each in failed.tasks.items()} == {
        "load": "CACHED",
        "clean": "CACHED",
        "total": "FAILED",
    }
    assert "damaged" in failed.tasks["total"].error.message
    assert project.ran() == ["clean", "total"]


def test_a_task_that_writes_to_a_path_of_its_own_is_not_run_for_it_again(project: Project) -> None:
    project.write(
        "job.py",
        """
        from pathlib import Path
        from flowc import component, pipeline

        @component
        def push(text: str, to: Path) -> int:
            to.mkdir(exist_ok=True)
            (to / "pushed.txt").write_text(text)
            return len(text)

        @pipeline
        def job(text: str = "abc", to: Path = Path("served")):
            push(text, to)
    """,
    )
    assert project.ran() == ["push"]
    assert project.ran() == []
    (project.folder / "served/pushed.txt").unlink()
    assert project.ran() == ["push"]
    assert (project.folder / "served/pushed.txt").read_text() == "abc"


def test_a_class_counts_where_its_instances_arrive(project: Project) -> None:
    project.write(
        "shapes.py",
        """
        class Square:
            def __init__(self, a):
                self.a = a

            def area(self):
                return self.a ** 2
        """,
    )
    project.write(
        "job.py",
        """
        from typing import Any
        from flowc import component, pipeline

        @component
        def make(a: int) -> Any:
            from shapes import Square
            return Square(a)

        @component
        def keep(shape: Any) -> Any:
            return [shape]

        @component
        def measure(shapes: Any) -> int:
            return sum(shape.area() for shape in shapes)

        @pipeline
        def job(a: int = 3):
            measure(keep(make(a)))
    """,
    )
    first = project.result()
    assert project.value(first, "measure") == 9
    project.edit("shapes.py", "** 2", "* 4")
    second = project.result()
    assert project.value(second, "measure") == 12


def test_resume_runs_exactly_what_had_not_finished(project: Project) -> None:
    project.edit("job.py", "@component\ndef clean", "@component(cache=False)\ndef clean")
    project.edit(
        "job.py",
        "return shout(",
        "if not Path(__file__).with_name('ready').exists():\n        raise ValueError('not yet')\n    return shout(",
    )
    first = project.result()
    assert first.state == "FAILED"
    (project.folder / "ready").touch()
    assert project.ran(Wish(resume=first.run)) == ["total"]
    assert project.ran() == ["clean"]


def test_from_until_and_only(project: Project) -> None:
    assert project.ran(Wish(until="clean")) == ["load", "clean"]
    assert project.ran() == ["total"]
    assert project.ran(Wish(begin="clean")) == ["clean", "total"]
    assert project.ran(Wish(only="clean")) == ["clean"]
    assert project.ran(Wish(again=True)) == ALL
    with pytest.raises(UsageError, match="no task 'clan'") as raised:
        project.ran(Wish(only="clan"))
    assert raised.value.hint == "did you mean 'clean'?"


def test_only_a_task_whose_inputs_are_there(project: Project) -> None:
    with pytest.raises(UsageError, match="'total' can't run by itself"):
        project.ran(Wish(only="total"))


def test_a_plan_says_what_would_become_of_each_task(project: Project) -> None:
    project.ran()
    project.edit("job.py", "FACTOR = 2", "FACTOR = 3")
    with project.store() as store:
        decisions = Reuser(project.plan(), store).decide()
        assert isinstance(decisions["load"], Reuse)
        assert decisions["clean"] == Run("nothing like it has run")
        assert decisions["total"] == Undecided("after 'clean'")
        decisions = Reuser(project.plan(), store, Wish(until="load")).decide()
        assert isinstance(decisions["total"], LeftOut)
        decisions = Reuser(project.plan(), store, Wish(only="total")).decide()
        assert isinstance(decisions["clean"], Blocked)


def test_a_secret_is_no_part_of_it(project: Project) -> None:
    project.write(
        "job.py",
        """
        from pydantic import SecretStr
        from flowc import component, pipeline

        @component
        def ask(key: SecretStr) -> int:
            return len(key.get_secret_value())

        @pipeline
        def job(key: SecretStr):
            ask(key)
    """,
    )
    assert project.ran(key="abc") == ["ask"]
    assert project.ran(key="other") == []
