"""What all tests share: how Hypothesis looks for counterexamples."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadlines: machines are noisy, and a slow example is no counterexample. CI tries the same examples each time,
# so that what a change did not break does not fail it.
settings.register_profile(
    "flowc",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("flowc")


@pytest.fixture(autouse=True)
def _own_modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no test find the projects' modules that another one imported, nor their folders on the path."""
    path, modules = [*sys.path], {*sys.modules}
    folders = (str(tmp_path_factory.getbasetemp()), str(Path(__file__).parent))
    yield
    sys.path[:] = path
    for name in {*sys.modules} - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folders):
            del sys.modules[name]


@pytest.fixture
def terminal_pair() -> tuple[int, int]:
    """A pseudo-terminal: the driver's side and the program's; tests that need one are skipped where none are."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"this machine has no pseudo-terminals ({error}); CI has them")
