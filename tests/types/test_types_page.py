"""The examples of docs/types.md are true."""

from __future__ import annotations

import builtins
import doctest
from pathlib import Path

import pytest


def test_the_examples_of_the_page_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        builtins, "_", None, raising=False
    )  # an interactive line's value, gone again after the test
    page = Path(__file__).parents[2] / "docs" / "types.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0
