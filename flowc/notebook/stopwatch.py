"""What `%timeit` does when a step runs: it measures a function as IPython does, and says so in its words."""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from typing import Any

_LONG_ENOUGH = 0.2


def measure(
    function: Callable[[], object],
    *,
    number: int = 0,
    repeat: int = 7,
    precision: int = 3,
    quiet: bool = False,
    result: bool = False,
) -> Any:
    """Time a function, as often as it takes where `number` is 0; return IPython's TimeitResult if that is wanted."""
    from IPython.core.magics.execution import TimeitResult

    timer = timeit.Timer(function)
    loops = number or _loops(timer)
    runs = timer.repeat(repeat, loops)
    best, worst = min(runs) / loops, max(runs) / loops
    measured = TimeitResult(loops, repeat, best, worst, runs, 0.0, precision)  # type: ignore[no-untyped-call]
    if not quiet:
        if worst > 4 * best and best > 0 and worst > 1e-6:
            sys.stdout.write(
                f"The slowest run took {worst / best:0.2f} times longer than the fastest. This could mean that an "
                "intermediate result is being cached.\n"
            )
        sys.stdout.write(f"{measured}\n")
    return measured if result else None


def _loops(timer: timeit.Timer) -> int:
    """Return the first power of ten of loops, the tenth at most, that takes long enough to be measured."""
    loops = 1
    for exponent in range(10):
        loops = 10**exponent
        if timer.timeit(loops) >= _LONG_ENOUGH:
            break
    return loops
