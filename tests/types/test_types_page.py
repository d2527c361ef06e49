"""The examples of docs/types.md are true."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_examples_of_the_page_are_true() -> None:
    page = Path(__file__).parents[2] / "docs" / "types.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0
