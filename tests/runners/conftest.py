"""Pipelines written as text, run for real through a runner into a store of the test's own."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flowc.plan import Plan
from flowc.store.metadata import Store
from flowc.testing import plan_file, temporary_store

PlanMaker = Callable[..., Plan]


@pytest.fixture
def store() -> Iterator[Store]:
    with temporary_store() as store:
        yield store


@pytest.fixture
def plan_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlanMaker:
    """Return a function from a pipeline's source to its plan. Each test's module has a name of its own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = "job_" + "".join(letter if letter.isalnum() else "_" for letter in tmp_path.name)

    def make(source: str, **arguments: Any) -> Plan:
        path = tmp_path / f"{name}.py"
        path.write_text("from flowc import *\n" + textwrap.dedent(source), encoding="utf-8")
        return plan_file(path, **arguments)

    return make
