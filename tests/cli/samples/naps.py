"""Tasks that take their time, to be interrupted."""

import time

from flowc import component, pipeline


@component
def nap(seconds: float, after: int = 0) -> int:
    time.sleep(seconds)
    return 1


@pipeline
def naps(seconds: float):
    return nap(seconds, nap(seconds))
