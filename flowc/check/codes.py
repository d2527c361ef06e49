"""Every diagnostic code with its page: what it means, why it matters, what to do, and an example of each.

The pages stand beside the rules, as TOML in the folder `pages` of each layer that finds something; a file is a
family. `docs/diagnostics/` is written from them, and each example is a test.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from flowc.diagnostics import Severity
from flowc.errors import UsageError, did_you_mean
from flowc.frozen import Frozen

_LAYERS: Final = ("ir", "python", "notebook", "check", "emit")


class CodePage(Frozen):
    """What there is to say of a code. `also` are severities that it has besides its own, where a rule decides.

    `bad` and `good` are files by name, the one to compile last; `command` is what finds the code in the bad one.
    `unshown` says why there is no example, `strict` that only --strict looks for it.
    """

    code: str
    title: str
    why: str
    fix: str
    severity: Severity = "error"
    also: tuple[Severity, ...] = ()
    command: str = "check"
    bad: Mapping[str, str] = {}
    good: Mapping[str, str] = {}
    unshown: str | None = None
    strict: bool = False

    @property
    def hint(self) -> str:
        """What to do, as a hint beside a diagnostic that has none of its own."""
        text = " ".join(self.fix.split()).removesuffix(".")
        return text[:1].lower() + text[1:]

    @property
    def only_error(self) -> bool:
        """Whether nothing of this code leaves a run possible, so that it can't be lowered or ignored."""
        return {self.severity, *self.also} == {"error"}


@lru_cache(maxsize=1)
def code_pages() -> Mapping[str, CodePage]:
    """Return the pages of all codes, in the order of the codes."""
    found: dict[str, CodePage] = {}
    for layer in _LAYERS:
        for family in sorted((files("flowc") / layer / "pages").iterdir(), key=lambda file: file.name):
            table: dict[str, Any] = tomllib.loads(family.read_text(encoding="utf-8"))
            for code, page in table.items():
                if code in found:
                    raise ValueError(f"{code} has two pages, the second in {family}")
                found[code] = CodePage.model_validate({"code": code, **page})
    return dict(sorted(found.items()))


def page_of(code: str) -> CodePage:
    """Return a code's page, however its letters are written. Raises UsageError where there is no such code."""
    pages = code_pages()
    wanted = code.strip().upper()
    if wanted not in pages:
        raise UsageError(f"there is no code '{code}'", hint=near_codes(wanted, pages))
    return pages[wanted]


def near_codes(code: str, known: Iterable[str]) -> str:
    """Return a hint for a code that is not there: the closest one of its family, or where all are."""
    known = list(known)
    family = [each for each in known if len(code) >= 3 and each.startswith(code[:3])]
    close = did_you_mean(code, family if code.startswith("FC") else known)
    return close or "the codes are in docs/diagnostics/README.md"
