"""The kernel's side: load what the pipeline stored, and compare it with what the kernel has, there and then.

The comparison is made in the kernel, so that its values need not be pickled, and the notebook's own classes are there
to be unpickled: the name of the definitions' module is the kernel's `__main__` here.
"""

from __future__ import annotations

import enum
import json
import pickle
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from flowc.errors import FlowcError
from flowc.notebook.compare import NotComparableError, first_difference, shown
from flowc.notebook.crossing import Bundle, Unbound
from flowc.store.artifacts import ArtifactStore
from flowc.store.stored import Stored
from flowc.types.model import AnyType
from flowc.verify.checks import Check, Moment

Verdict = Literal["same", "different", "not compared"]
_ORDERS, _FINDINGS = "orders.pickle", "findings.jsonl"


@dataclass(frozen=True, slots=True)
class Orders:
    """What the kernel is told: checks with what is stored of each, where, and the parameters that were given."""

    store: Path
    module: str
    checks: list[tuple[Check, Stored]]
    given: dict[str, Any] = field(default_factory=dict)


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
    store = ArtifactStore(orders.store)
    with (Path(folder) / _FINDINGS).open("a", encoding="utf-8") as findings:
        for number, (check, stored) in enumerate(orders.checks):
            if check.moment == Moment(cell, after):
                findings.write(json.dumps(asdict(_finding(number, check, stored, store))) + "\n")


def given(folder: str, name: str, written: object) -> Any:
    """Return the value that a parameter was given; where the notebook writes an enum's member, that of this name."""
    value = _orders(folder).given[name]
    first = written[0] if isinstance(written, list) and written else written
    if not isinstance(first, enum.Enum):
        return value
    return [type(first)[each] for each in value] if isinstance(value, list) else type(first)[value]


def _orders(folder: str) -> Orders:
    orders: Orders = pickle.loads((Path(folder) / _ORDERS).read_bytes())  # noqa: S301  # from `write_orders`
    return orders


def _finding(number: int, check: Check, stored: Stored, store: ArtifactStore) -> Finding:
    try:
        theirs = store.load(stored, AnyType())
    except FlowcError as error:
        return Finding(number, "not compared", detail=error.message)
    if isinstance(theirs, Bundle):
        theirs = theirs.values[check.name]
    names = vars(sys.modules["__main__"])
    if isinstance(theirs, Unbound):
        return _unbound(number, check.name, theirs, names)
    if check.name not in names:
        return Finding(number, "different", kernel="not defined", pipeline=shown(theirs))
    ours = names[check.name]
    kind = f"{type(ours).__module__}.{type(ours).__qualname__}".removeprefix("builtins.")
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
    return Finding(number, "not compared", detail=theirs.why)
