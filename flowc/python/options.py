"""What `@component` and `.options` accept, in words and numbers that people write."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, TypedDict, get_args

from flowc.errors import UsageError, did_you_mean
from flowc.ir import Policy, Resources, Role

_MEMORY = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
_NAME = re.compile(r"\w(?:[\w .:-]*\w)?")
_TIME = {"": 1.0, "s": 1.0, "ms": 0.001, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class TaskOptions(TypedDict, total=False):
    """`memory` is bytes or "4GiB", `timeout` seconds or "10m"; `retries` counts attempts after the first.

    `cache` says whether results are used again, or for how long ("1d"): that counts for a task whose results depend on
    the network or the clock, too, which are not used again otherwise. Another `cache_version` makes a task run anew.
    """

    name: str
    cpus: float
    memory: int | str
    gpus: int
    processes: int
    retries: int
    timeout: float | str
    cache: bool | float | str
    cache_version: str


class ComponentOptions(TaskOptions, total=False):
    role: Role


_KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "cpus": (int, float),
    "gpus": (int,),
    "processes": (int,),
    "retries": (int,),
    "cache": (bool, int, float, str),
    "cache_version": (str,),
}


def refuse_unknown(options: TaskOptions, known: Iterable[str]) -> None:
    """Raise UsageError for an option that is not `known`, or one whose value is of a wrong kind."""
    known = list(known)
    for key, value in options.items():
        if key not in known:
            hint = did_you_mean(key, known) or f"the options are: {', '.join(known)}"
            raise UsageError(f"there is no option '{key}'", hint=hint)
        kinds = _KINDS.get(key)
        if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise UsageError(f"{key}={value!r} is not of type {names}", hint=f"give {key} as {names}")
        if key == "name" and not _NAME.fullmatch(str(value)):
            raise UsageError(f"name={value!r} is no name", hint="write a word or several, without '/'")
        if key == "role" and value not in get_args(Role):
            hint = did_you_mean(str(value), get_args(Role)) or f"the roles are: {', '.join(get_args(Role))}"
            raise UsageError(f"there is no role {value!r}", hint=hint)


def resources_from(options: TaskOptions, ground: Resources) -> Resources:
    """Return the resources with what the options say changed. Raises UsageError for what makes no sense."""
    changes: dict[str, Any] = {key: options[key] for key in ("cpus", "gpus", "processes") if key in options}
    if "memory" in options:
        changes["memory"] = bytes_from(options["memory"])
    _refuse_below("cpus", changes.get("cpus"), 0)
    _refuse_below("gpus", changes.get("gpus"), 0)
    _refuse_below("processes", changes.get("processes"), 1)
    return ground.model_copy(update=changes)


def policy_from(options: TaskOptions, ground: Policy) -> Policy:
    """Return the policy with what the options say changed. Raises UsageError for what makes no sense."""
    changes: dict[str, Any] = {key: options[key] for key in ("retries", "cache_version") if key in options}
    if "cache" in options:
        changes |= cache_from(options["cache"])
    if "timeout" in options:
        changes["timeout"] = seconds_from(options["timeout"])
    _refuse_below("retries", changes.get("retries"), 0)
    return ground.model_copy(update=changes)


def cache_from(said: bool | float | str) -> dict[str, Any]:
    """Return the policy that a cache option stands for: whether, or how long. Raises UsageError for anything else."""
    if isinstance(said, bool):
        return {"cache": said, "cache_for": None}
    return {"cache": True, "cache_for": seconds_from(said)}


def _refuse_below(name: str, value: float | None, least: int) -> None:
    if value is not None and not least <= value < math.inf:
        bound = f"at least {least}" if math.isfinite(value) else "a number that is finite"
        raise UsageError(f"{name}={value} makes no sense: it is {bound}", hint=f"give at least {least}")


def bytes_from(text: int | str) -> int:
    """Return the bytes that "512MB", "4GiB" or a number stand for. Raises UsageError for anything else."""
    return int(_amount(text, _MEMORY, "a memory size", "4GiB", "b"))


def seconds_from(text: float | str) -> float:
    """Return the seconds that "90s", "10m", "1.5h" or a number stand for. Raises UsageError for anything else."""
    return _amount(text, _TIME, "a time", "10m", "")


def _amount(text: float | str, units: dict[str, Any], what: str, example: str, suffix: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(text).lower())
    unit = match[2].removesuffix(suffix) if match and suffix else match[2] if match else None
    if match is None or unit not in units or float(match[1]) == 0:
        raise UsageError(f"{text!r} is not {what}", hint=f'write it like "{example}"')
    return float(match[1]) * float(units[unit])
