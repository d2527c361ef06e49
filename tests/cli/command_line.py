"""The command line for tests: in this process where that is the same, and as the real command where it is not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "samples"
SUMS = SAMPLES / "sums.py"


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Flowc = Callable[..., Outcome]


def start(folder: Path, *args: object, **options: Any) -> subprocess.Popen[str]:
    """Start the real command in a process of its own."""
    words = [sys.executable, "-m", "flowc", *map(str, args)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, cwd=folder, text=True, preexec_fn=_heed_sigint, **(pipes | options))  # noqa: PLW1509  # no threads here


def _heed_sigint() -> None:
    # What a shell starts in the background, such as these tests, ignores SIGINT, and so would its children.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def command(folder: Path, *args: object, **options: Any) -> Outcome:
    """Run the real command to its end."""
    with start(folder, *args, **options) as process:
        out, err = process.communicate()
    return Outcome(process.returncode, out or "", err or "")
