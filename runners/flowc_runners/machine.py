"""What this machine, or the container that we are in, has; and what tells libraries to use a part of it."""

from __future__ import annotations

import os
from pathlib import Path

from flowc.ir import Resources

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
# What sizes the thread pools of OpenMP (torch, scikit-learn, Arrow), of BLAS libraries, and of TensorFlow.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")


def machine_resources() -> Resources:
    """Return the cpus that this process may use, the memory that it may fill, and the visible GPUs."""
    return Resources(cpus=_cpus(), memory=_memory(), gpus=len(visible_gpus()))


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> int:
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(physical, int(_CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no cgroup, or its limit is "max"
        return physical


def visible_gpus() -> tuple[str, ...]:
    """Return the GPUs' names as CUDA_VISIBLE_DEVICES has them: those it lists, else one for each NVIDIA device."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is not None:
        return tuple(name.strip() for name in listed.split(",") if name.strip() not in ("", "-1"))
    return tuple(str(index) for index, _ in enumerate(Path("/dev").glob("nvidia[0-9]*")))


def share_of_machine(threads: int, gpus: tuple[str, ...]) -> dict[str, str]:
    """Return the environment that holds a new process's libraries to so many threads and to these GPUs.

    What the user's environment says about threads stands.
    """
    limits = {name: str(threads) for name in _THREADS if name not in os.environ}
    return {**limits, "CUDA_VISIBLE_DEVICES": ",".join(gpus)}
