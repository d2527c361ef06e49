"""What the README shows of `flowc check` is what it prints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from command_line import Flowc

MISTAKES = Path(__file__).parents[1] / "cases" / "mistakes"
README = Path(__file__).parents[2] / "README.md"
SHOWN = re.findall(
    r"^```console\n\$ flowc check (\w+\.py)\n(.*?)^```",
    README.read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def test_five_mistakes_are_shown() -> None:
    assert sorted(file for file, _ in SHOWN) == sorted(path.name for path in MISTAKES.glob("*.py"))


@pytest.mark.parametrize(("file", "said"), SHOWN, ids=[file for file, _ in SHOWN])
def test_a_mistake_is_told_as_shown(flowc: Flowc, tmp_path: Path, file: str, said: str) -> None:
    shutil.copy(MISTAKES / file, tmp_path)
    told = flowc("check", file)
    assert (told.code, told.out) == (3, said)
