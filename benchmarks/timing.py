"""How long things take: the best of several tries, since noise on a shared machine only ever adds."""

from __future__ import annotations

import gc
import subprocess
import time
from collections.abc import Callable, Sequence


def best(action: Callable[[], object], tries: int) -> float:
    """Return the seconds that the fastest of several tries took."""
    return min(_timed(action) for _ in range(tries))


def _timed(action: Callable[[], object]) -> float:
    gc.collect()
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def best_of_commands(commands: Sequence[list[str]], tries: int) -> list[float]:
    """Return for each command the seconds of its fastest try; tries alternate, so that noise hits all alike."""
    seconds = [[_timed(lambda c=command: _run(c)) for command in commands] for _ in range(tries)]
    return [min(times) for times in zip(*seconds, strict=True)]


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
