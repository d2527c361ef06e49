"""What reached code is besides its text: distributions, the environment, the clock, files; and where it lies."""

from __future__ import annotations

import ast
import random
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowc.python.reach import CodeReach, Reached, Reading


def write(folder: Path, **files: str) -> None:
    """Write modules; folders are named by two underscores."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


def reached(*folders: Path, ref: str = "main:run") -> Reached:
    return CodeReach([str(folder) for folder in folders]).of(ref)


def install(site: Path, name: str, version: str, *files: str) -> None:
    """Install a distribution of empty files."""
    record = ""
    for file in files:
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_text("", encoding="utf-8")
        record += f"{file},sha256=x,0\n"
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nAbout\n", "utf-8"
    )
    (info / "RECORD").write_text(record, encoding="utf-8")


def test_an_installed_package_counts_by_its_version(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, "tinylib", "1.2", "tinylib/__init__.py")
    write(tmp_path, main="import tinylib\ndef run(x):\n    return tinylib.f(x)\n")
    before = reached(tmp_path, site)
    (site / "tinylib/__init__.py").write_text("X = 1\n", encoding="utf-8")
    assert reached(tmp_path, site) == before
    (site / "tinylib-1.2.dist-info/METADATA").write_text("Name: tinylib\nVersion: 1.3\n", encoding="utf-8")
    after = reached(tmp_path, site)
    assert before.distributions == {"tinylib": "1.2"}
    assert after.distributions == {"tinylib": "1.3"}
    assert before.digest != after.digest


def test_a_distribution_is_found_by_the_file_that_it_has(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, "scikit_tiny", "2.0", "tinylearn/__init__.py", "tinylearn/linear.py")
    install(site, "cloud_one", "1.0", "cloud/one/__init__.py")
    install(site, "cloud_two", "2.0", "cloud/two/__init__.py")
    write(
        tmp_path,
        main="""
        from tinylearn.linear import Model
        import cloud.two
        import cloud.one
        def run(x):
            return cloud.two.f(Model(x))
        def other(x):
            return cloud.one.f(x)
        """,
    )
    assert reached(tmp_path, site).distributions == {"cloud-two": "2.0", "scikit-tiny": "2.0"}
    assert reached(tmp_path, site, ref="main:other").distributions == {"cloud-one": "1.0"}


def test_an_import_that_nothing_reads_is_there_for_its_effect(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, "tinyops", "1.0", "tinyops.py")
    install(site, "tinyplot", "1.0", "tinyplot.py")
    write(
        tmp_path,
        main="import tinyops\nimport tinyplot\ndef run(x):\n    return x\ndef show(x):\n    tinyplot.show(x)\n",
    )
    assert reached(tmp_path, site).distributions == {"tinyops": "1.0"}


def test_what_no_distribution_says_is_its_own_is_read(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    write(tmp_path, main="import loose\ndef run(x):\n    return loose.f(x)\n")
    write(site, loose="def f(x):\n    return 1\n")
    before = reached(tmp_path, site)
    write(site, loose="def f(x):\n    return 2\n")
    assert reached(tmp_path, site).digest != before.digest


def test_a_component_of_a_library_counts_by_its_name_and_version(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, "tinylib", "1.2", "tinylib/__init__.py")
    one, other = (reached(site, ref=f"tinylib:{name}") for name in ("one", "other"))
    assert one.distributions == other.distributions == {"tinylib": "1.2"}
    assert one.digest != other.digest


def test_flowc_counts_by_its_version(tmp_path: Path) -> None:
    from flowc import __version__

    write(
        tmp_path,
        main="from flowc import Dataset, component\n@component\ndef run(x: Dataset) -> Dataset: ...\n",
    )
    assert reached(tmp_path).distributions == {"flowc": __version__}


def test_a_module_that_is_not_there_counts_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, main="def run(x):\n    import absent.part\n    return absent.part.f(x)\n")
    before = reached(tmp_path)
    assert "absent.part:" in before.definitions
    write(tmp_path, absent__part="def f(x):\n    return x\n")
    assert reached(tmp_path).digest != before.digest


def test_environment_variables_are_named(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="""
        import os
        from os import environ, getenv as get
        KEY = "KEPT"
        def helper():
            return environ.get("LEVEL", "1")
        def run(x):
            return os.environ["HOME_DIR"], helper(), get("TOKEN"), "DEBUG" in os.environ, os.environ[KEY]
        def other():
            return get("UNREAD")
        """,
    )
    assert reached(tmp_path).environment == ("DEBUG", "HOME_DIR", "KEPT", "LEVEL", "TOKEN")


def test_reads_of_the_clock_have_places(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="""\
        import time, uuid, datetime as dt
        from datetime import datetime, date
        from time import time as now, strftime, perf_counter
        import numpy as np, pandas as pd
        def run(x):
            now()
            datetime.now(tz=x), dt.datetime.utcnow(), date.today()
            time.time_ns(), perf_counter(), time.monotonic(), time.process_time()
            strftime("%Y"), time.localtime(), time.localtime(x), strftime("%Y", x)
            np.datetime64("now"), np.datetime64("2020-01-01"), pd.Timestamp.now(), pd.Timestamp("today")
            uuid.uuid1(), uuid.uuid4(), datetime(2020, 1, 1), x.field(default_factory=dt.datetime.now)
        def other():
            return now()
        """,
    )
    found = {(reading.name, reading.line) for reading in reached(tmp_path).clock}
    assert found == {
        ("time.time", 6),
        *{("datetime.datetime.now", 7), ("datetime.datetime.utcnow", 7), ("datetime.date.today", 7)},
        ("time.time_ns", 8),
        *{("time.strftime", 9), ("time.localtime", 9)},
        *{("numpy.datetime64", 10), ("pandas.Timestamp.now", 10), ("pandas.Timestamp", 10)},
        *{("uuid.uuid1", 11), ("datetime.datetime.now", 11)},
    }
    assert {reading.file for reading in reached(tmp_path).clock} == {str(tmp_path / "main.py")}


def test_the_clock_in_a_helper_has_the_helpers_place(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="from a import f\ndef run(x):\n    return f()\n",
        a="import time\ndef f(): return time.time()\n",
    )
    assert reached(tmp_path).clock == (Reading("time.time", str(tmp_path / "a.py"), 2),)


def test_texts_that_could_name_a_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="""
        TABLE = "data/trips.csv"
        OTHER = "other.csv"
        def run(x):
            "Read trips.csv. It is large."
            return open(TABLE), x / "schema.pbtxt", "plain", f"part.{x}", "two.\\nlines"
        """,
    )
    assert reached(tmp_path).texts == ("data/trips.csv", "part.", "schema.pbtxt")


def test_a_project_has_the_same_digest_wherever_it_lies(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two" / "deeper"]
    for folder in folders:
        write(
            folder,
            main="import pack.a\ndef run(x):\n    return pack.a.f(x)\n",
            pack__a="def f(x):\n    return {1, 2}\n",
        )
    one, two = map(reached, folders)
    assert one == two


def test_what_can_t_be_parsed_counts_by_its_bytes(tmp_path: Path) -> None:
    write(tmp_path, main="import broken\ndef run(x):\n    return broken.f(x)\n", broken="def f(:\n")
    digests = [reached(tmp_path).digest]
    for data in (b"def f(:\n\n", b"X = '\xff'\n", b"X = 1\0", b"# -*- coding: latin-1 -*-\nf = '\xff'\n"):
        (tmp_path / "broken.py").write_bytes(data)
        digests.append(reached(tmp_path).digest)
    assert len(set(digests)) == 5


def test_links_to_modules_are_followed(tmp_path: Path) -> None:
    write(tmp_path / "src", helpers="def f(x):\n    return 1\n")
    write(tmp_path / "project", main="import helpers\ndef run(x):\n    return helpers.f(x)\n")
    (tmp_path / "project/helpers.py").symlink_to(tmp_path / "src/helpers.py")
    before = reached(tmp_path / "project")
    write(tmp_path / "src", helpers="def f(x):\n    return 2\n")
    assert reached(tmp_path / "project").digest != before.digest


def test_modules_may_import_each_other(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="import b\nfrom b import *\nN = 1\ndef run(x):\n    return b.g(x)\n",
        b="import main\nfrom main import *\ndef g(x):\n    return main.N + M\nM = 2\n",
    )
    assert set(reached(tmp_path).definitions) >= {"main:run", "main:N", "b:g", "b:M"}


def test_long_chains_take_no_recursion(tmp_path: Path) -> None:
    length = 2000
    functions = "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(length))
    values = "A0 = 1\n" + "".join(f"A{i + 1} = A{i}\n" for i in range(length))
    write(
        tmp_path,
        main=f"{functions}{values}\ndef f{length}(x):\n    return A{length}\n\ndef run(x):\n    return f0(x)\n",
    )
    assert len(reached(tmp_path).definitions) == 2 * length + 3


def test_deep_expressions_take_no_recursion(tmp_path: Path) -> None:
    write(tmp_path, main=f"N = 1\ndef run(x):\n    return {'x + ' * 900}N\n")
    assert set(reached(tmp_path).definitions) == {"main:N", "main:run"}


def test_modules_that_are_imported_before_count_by_what_they_do(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="import helpers\nhelpers.f = max\ndef flow():\n    return 1\n",
        helpers="def f(x):\n    return x\n",
    )

    def of_helper() -> str:
        return CodeReach([str(tmp_path)], imported=["main"]).of("helpers:f").digest

    before = of_helper()
    assert before != reached(tmp_path, ref="helpers:f").digest
    write(tmp_path, main="import helpers\nhelpers.f = max\ndef flow():\n    return 2\n")
    assert of_helper() == before
    write(tmp_path, main="import helpers\nhelpers.f = min\ndef flow():\n    return 2\n")
    assert of_helper() != before


def test_the_docstring_of_a_function_that_is_passed_on_counts(tmp_path: Path) -> None:
    write(tmp_path, main="def run(x):\n    'Do it.'\n")
    one = CodeReach([str(tmp_path)]).of("main:run")
    one_passed = CodeReach([str(tmp_path)]).of("main:run", passed_on=True)
    write(tmp_path, main="def run(x):\n    'Do it well.'\n")
    assert CodeReach([str(tmp_path)]).of("main:run") == one
    assert CodeReach([str(tmp_path)]).of("main:run", passed_on=True).digest != one_passed.digest


def test_a_star_import_of_a_library_counts(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, "tinylib", "1.2", "tinylib.py")
    write(tmp_path, main="from tinylib import *\nfrom time import *\ndef run(x):\n    return f(x), time()\n")
    found = reached(tmp_path, site)
    assert found.distributions == {"tinylib": "1.2"}
    assert [reading.name for reading in found.clock] == ["time.time"]


def program(folder: Path, source: str, *search_path: Path) -> Reached:
    return CodeReach([str(each) for each in search_path]).of_program(ast.parse(source).body, "step", folder)


def test_all_of_a_program_counts_as_one(tmp_path: Path) -> None:
    one = program(tmp_path, "x = 1\ndef f():\n    'Do it.'\n    return x\ny = f()\n")
    assert list(one.definitions) == ["<step>:"]
    assert (
        program(tmp_path, "x = 1  # one\ndef f():\n    'Do it well.'\n    return (x)\ny = f()\n").digest
        == one.digest
    )
    assert program(tmp_path, "x = 2\ndef f():\n    'Do it.'\n    return x\ny = f()\n").digest != one.digest
    assert program(tmp_path, "def f():\n    'Do it.'\n    return x\nx = 1\ny = f()\n").digest != one.digest


def test_a_program_s_imports_are_found_in_its_folder_first(tmp_path: Path) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    write(near, helpers="def f(x):\n    return 1\ndef g(x):\n    return 1\n")
    write(far, helpers="def f(x):\n    return 2\n", other="N = 1\n")
    source = "from helpers import f\nimport other\ny = f(other.N)\n"
    before = program(near, source, far)
    assert set(before.definitions) == {"<step>:", "helpers:f", "other:N"}
    write(near, helpers="def f(x):\n    return 1\ndef g(x):\n    return 2\n")
    assert program(near, source, far).digest == before.digest
    write(near, helpers="def f(x):\n    return 3\ndef g(x):\n    return 2\n")
    assert program(near, source, far).digest != before.digest


def test_a_program_may_have_the_name_of_a_module(tmp_path: Path) -> None:
    write(tmp_path, step="def f(x):\n    return 1\n")
    assert set(program(tmp_path, "from step import f\ny = f(1)\n").definitions) == {"<step>:", "step:f"}


def test_programs_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    reach = CodeReach([])
    one, two, again = (
        reach.of_program(ast.parse(source).body, "step", tmp_path) for source in ("x = 1", "x = 2", "x = 1")
    )
    assert one == again
    assert one.digest != two.digest


def test_a_program_that_imports_by_any_name_reaches_its_folder(tmp_path: Path) -> None:
    write(tmp_path, near="N = 1\n", pack__far="M = 1\n")
    found = program(tmp_path, "import importlib\ny = importlib.import_module(name)\n")
    assert set(found.definitions) == {"<step>:", "near:N", "pack.far:M"}


# None of these asks for the source of code, where layout does count.
SOURCES = ("abc", "bisect", "cmd", "codeop", "colorsys", "configparser", "copy", "csv")


@settings(max_examples=10, deadline=None)
@given(name=st.sampled_from(SOURCES), layout=st.randoms(use_true_random=False))
def test_layout_never_counts(
    tmp_path_factory: pytest.TempPathFactory, name: str, layout: random.Random
) -> None:
    """A module of the standard library, written anew from its tree and with comments put in, is the same."""
    folder = tmp_path_factory.mktemp("law")
    source = Path(ast.__file__).with_name(f"{name}.py").read_bytes()
    target = folder / "module.py"
    target.write_bytes(source)
    before = reached(folder, ref="module:")
    blocks = [
        f"# {layout.choice('ab')}" + "\n" * layout.randint(1, 3) + ast.unparse(statement)
        for statement in ast.parse(source).body
    ]
    target.write_text("\n".join(blocks) + "  # the end\n", encoding="utf-8")
    after = reached(folder, ref="module:")
    assert len(before.definitions) > 1
    assert (after.digest, after.texts, after.environment) == (before.digest, before.texts, before.environment)
