"""What one task does to its process is gone for the next one in the same worker; what imports do stays."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from flowc.cli.app import run_command
from flowc.engine.surroundings import own_surroundings

LOOK = """
import os, sys, random, warnings, logging, locale, decimal, signal, builtins, json
def look():
    import numpy as np, pandas as pd
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    logger = logging.getLogger("mine")
    return {
        "pid": os.getpid(),
        "draws": [random.random(), float(np.random.rand())],
        "cwd": os.getcwd(), "path": "/mine" in sys.path, "variable": os.environ.get("MINE"),
        "filters": any(filter[0] == "error" and filter[2] is SyntaxWarning for filter in warnings.filters),
        "logging": [logging.root.level, logger.level, len(logger.handlers), logging.root.manager.disable],
        "builtin": hasattr(builtins, "mine"), "digits": decimal.getcontext().prec,
        "recursion": sys.getrecursionlimit(), "alarm": str(signal.getsignal(signal.SIGALRM)),
        "figures": plt.get_fignums(), "line": plt.rcParams["lines.linewidth"],
        "errors": np.geterr()["divide"], "print": np.get_printoptions()["precision"],
        "rows": pd.get_option("display.max_rows"), "float": str(pd.get_option("display.float_format")),
    }
def disturb():
    import numpy as np, pandas as pd
    import matplotlib.pyplot as plt
    random.seed(1), np.random.seed(1)
    os.chdir("/"), sys.path.append("/mine"), os.environ.update(MINE="1")
    warnings.simplefilter("error", SyntaxWarning)
    logging.root.setLevel(5), logging.disable(30)
    logging.getLogger("mine").setLevel(3), logging.getLogger("mine").addHandler(logging.NullHandler())
    builtins.mine = 1
    decimal.getcontext().prec = 3
    sys.setrecursionlimit(3000)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    plt.figure(), plt.rcParams.update({"lines.linewidth": 9})
    np.seterr(divide="raise"), np.set_printoptions(precision=1)
    pd.set_option("display.max_rows", 7), pd.set_option("display.float_format", "{:.1f}".format)
"""
FILE = """
import json, random
import numpy as np
from pathlib import Path
from flowc import component, pipeline
from looking import look, disturb
SEED
@component
def first(folder: Path) -> int:
    (folder / "1.json").write_text(json.dumps(look()))
    disturb()
    return 1
@component
def second(folder: Path, after: int) -> int:
    (folder / "2.json").write_text(json.dumps(look()))
    return 2
@pipeline
def two(folder: Path):
    second(folder, first(folder))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "looking.py").write_text(LOOK)
    return tmp_path


def _looked(folder: Path, target: str, *options: str) -> list[dict[str, Any]]:
    """Run two tasks in one worker, of which the first disturbs all, and return what each saw first."""
    assert run_command(["run", target, "--workers", "1", *options]) == 0
    first, second = (json.loads((folder / f"{number}.json").read_text()) for number in (1, 2))
    assert first.pop("pid") == second.pop("pid") != os.getpid()
    return [first, second]


def _differ(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return all(one != other for one, other in zip(first.pop("draws"), second.pop("draws"), strict=True))


def test_a_worker_is_as_new_for_each_task(project: Path) -> None:
    (project / "two.py").write_text(FILE.replace("SEED", ""))
    first, second = _looked(project, "two.py", "--folder", str(project))
    assert _differ(first, second)
    assert first == second
    assert (second["line"], second["variable"], second["digits"], second["rows"]) == (1.5, None, 28, 60)


def test_a_seed_that_a_module_sets_counts_for_each_task(project: Path) -> None:
    # Under names of their own: this process has imported the other test's files.
    (project / "seen.py").write_text(LOOK)
    source = FILE.replace("SEED", "random.seed(0)\nnp.random.seed(0)").replace("looking", "seen")
    (project / "seeded.py").write_text(source)
    first, second = _looked(project, "seeded.py", "--folder", str(project))
    assert first["draws"] == second["draws"] == [random.Random(0).random(), 0.5488135039273248]


def test_a_worker_is_as_new_for_each_step(project: Path) -> None:
    (project / "counting.py").write_text("count = 0\n")
    write = "from pathlib import Path\nPath('{}.json').write_text(json.dumps(look()))"
    cells = [
        ["imports", "import json\nimport counting\nfrom looking import look, disturb"],
        ["step:a", write.format(1) + "\ncounting.count += 1\nx = counting.count\ndisturb()"],
        ["step:b", write.format(2) + "\nprint(x, counting.count)"],
    ]
    lines = [f"# %% tags=['{tags}']\n{source}" for tags, source in cells]
    (project / "notebook.py").write_text("\n".join(lines))
    first, second = _looked(project, "notebook.py")
    assert _differ(first, second)
    assert first == second


def test_a_task_that_makes_tensorflow_deterministic_makes_no_later_one_so(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    with own_surroundings(tmp_path, forget_modules=False):
        tf.config.experimental.enable_op_determinism()
    # Where it is on, draws without a seed are refused.
    assert tf.random.uniform([1]).shape == [1]
