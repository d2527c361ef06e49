"""The kernel's side: load what the pipeline stored, and compare it with what the kernel has, there and then.

The comparison is made in the kernel, so that its values need not be pickled, and the notebook's own classes are there
to be unpickled: the name of the definitions' module is the kernel's `__main__` here.
"""

from __future__ import annotations

import copy
import enum
import functools
import json
import pickle
import sys
import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from flowc.errors import FlowcError
from flowc.notebook.compare import NotComparableError, first_difference, shown
from flowc.notebook.crossing import Bundle, Unbound
from flowc.store.artifacts import ArtifactStore
from flowc.store.stored import Stored
from flowc.types.model import AnyType, Type
from flowc.types.paths import anchored
from flowc.verify.checks import Check, Moment

Verdict = Literal["same", "different", "not compared"]
_ORDERS, _FINDINGS = "orders.pickle", "findings.jsonl"
_PICTURES = frozenset(("matplotlib", "seaborn", "plotly", "altair", "bokeh", "PIL"))
_CODE = (type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType)


@dataclass(frozen=True, slots=True)
class Argument:
    """What the pipeline took a parameter to be: a value of the parameter's type."""

    type: Type
    value: Any


@dataclass(frozen=True, slots=True)
class Orders:
    """What the kernel is told: checks with what is stored of each, if it is a step's, and where; the folder that
    relative paths start from; the parameters' values."""

    store: Path
    home: Path
    module: str
    checks: list[tuple[Check, Stored | None]]
    arguments: Mapping[str, Argument]


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one check, by its number. `detail` is the reason why a value was not compared."""

    check: int
    verdict: Verdict
    type: str = ""
    place: str = ""
    kernel: str = ""
    pipeline: str = ""
    detail: str = ""


def write_orders(folder: Path, orders: Orders) -> None:
    """Leave orders for the kernel."""
    (folder / _ORDERS).write_bytes(pickle.dumps(orders))


def read_findings(folder: Path) -> list[Finding]:
    """Return what the kernel has found."""
    path = folder / _FINDINGS
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Finding(**json.loads(line)) for line in lines]


def call(function: str, *arguments: str) -> str:
    """Return an expression that calls a function of this module and leaves the kernel's names alone.

    The arguments are expressions, too.
    """
    return f"__import__({__name__!r}, fromlist=['_']).{function}({', '.join(arguments)})"


def compare(folder: str, cell: int, after: bool) -> None:
    """Make the checks of a moment, and write down what is found."""
    orders = _orders(folder)
    sys.modules[orders.module] = sys.modules["__main__"]
    with (Path(folder) / _FINDINGS).open("a", encoding="utf-8") as findings:
        for number, (check, stored) in enumerate(orders.checks):
            if check.moment == Moment(cell, after):
                findings.write(json.dumps(asdict(_finding(number, check, stored, orders))) + "\n")


def given(folder: str, name: str, written: object) -> Any:
    """Return the value that a parameter was given; where the notebook writes an enum's member, that of this name."""
    # A copy: what the notebook does to it later is not to reach the orders.
    return _as_written(copy.deepcopy(_orders(folder).arguments[name].value), written)


def _as_written(value: Any, written: object) -> Any:
    first = written[0] if isinstance(written, list) and written else written
    if not isinstance(first, enum.Enum):
        return value
    return [type(first)[each] for each in value] if isinstance(value, list) else type(first)[value]


@functools.lru_cache(maxsize=1)
def _orders(folder: str) -> Orders:
    orders: Orders = pickle.loads((Path(folder) / _ORDERS).read_bytes())  # noqa: S301  # from `write_orders`
    return orders


@functools.lru_cache(maxsize=1)
def _store(root: Path) -> ArtifactStore:
    """Return the store: it remembers which artifacts it has verified."""
    return ArtifactStore(root)


def _finding(number: int, check: Check, stored: Stored | None, orders: Orders) -> Finding:
    names = vars(sys.modules["__main__"])
    if stored is None:
        argument = orders.arguments[check.name]
        if check.name not in names:
            return Finding(number, "different", kernel="not defined", pipeline=shown(argument.value))
        ours = names[check.name]
        # A pipeline takes relative paths from the notebook's folder; the kernel is in it.
        absolute = anchored(argument.type, ours, orders.home)
        return _compared(number, absolute, _as_written(argument.value, ours))
    try:
        theirs = _store(orders.store).load(stored, AnyType())
    except FlowcError as error:
        return Finding(number, "not compared", detail=error.message)
    if isinstance(theirs, Bundle):
        theirs = theirs.values[check.name]
    if isinstance(theirs, Unbound):
        return _unbound(number, check.name, theirs, names)
    if check.name not in names:
        return Finding(number, "different", kernel="not defined", pipeline=shown(theirs))
    return _compared(number, names[check.name], theirs)


def _compared(number: int, ours: Any, theirs: Any) -> Finding:
    kind = _kind(ours)
    try:
        found = first_difference(ours, theirs)
    except NotComparableError as error:
        return Finding(number, "not compared", kind, detail=str(error))
    if found is None:
        return Finding(number, "same", kind)
    return Finding(number, "different", kind, found.place, found.one, found.other)


def _unbound(number: int, name: str, theirs: Unbound, names: dict[str, Any]) -> Finding:
    if name not in names:
        return Finding(number, "same", "not defined")
    if theirs.missing:
        return Finding(number, "different", kernel=shown(names[name]), pipeline="not defined")
    ours = names[name]
    kind = _kind(ours)
    if type(ours).__module__.partition(".")[0] in _PICTURES:
        return Finding(number, "not compared", kind, detail="figures and their parts are not compared")
    if isinstance(ours, _CODE):
        return Finding(number, "not compared", kind, detail="code is not compared, only what it computes")
    return Finding(number, "not compared", kind, detail=theirs.why)


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
