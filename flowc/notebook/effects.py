"""What calls do to objects, as data: the table in effects.toml, and the tables that packages add to it.

An entry point in the group `flowc.effects` names a function that returns a table's text in the same form.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any

RESULTS = frozenset(("value", "fresh", "holds", "view", "self", "chain", "element", "sum", "any"))


@dataclass(frozen=True, slots=True)
class Effect:
    """What one call does. See effects.toml for the words."""

    result: str = "any"
    changes: bool = False
    deep: bool = False
    changed_arguments: tuple[int, ...] = ()
    out: tuple[int, ...] = ()
    keeps: bool = False
    once: bool = False
    process: bool = False
    output: bool = False
    waits: bool = False
    definition: bool = False
    consumes: bool = False
    applies: bool = False
    quiet: bool = False
    files: str | None = None
    draws: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    kind: str | None = None
    stuck: str | None = None
    mark: str | None = None
    known: bool = True


UNKNOWN_METHOD = Effect("any", changes=True, deep=True, keeps=True, once=True, known=False)
UNKNOWN_FUNCTION = Effect("any", once=True, known=False)


@dataclass(frozen=True, slots=True)
class EffectsTable:
    """The effects by dotted function name, and by method name, for any receiver or one of a kind."""

    functions: dict[str, Effect] = field(default_factory=dict)
    methods: dict[tuple[str | None, str], Effect] = field(default_factory=dict)
    # The names of the methods that classes of the notebook itself define.
    own: frozenset[str] = frozenset()
    # The names that keywords may have which the notebook spreads by `**`.
    keywords: frozenset[str] = frozenset()
    # The names that queries may read whose text is not known.
    queried: frozenset[str] = frozenset()

    def function(self, path: str) -> Effect:
        """Return what calling `path` does; a module's entry counts for all that is in it."""
        name = path
        while name:
            if name in self.functions:
                return self.functions[name]
            name = name.rpartition(".")[0]
        return UNKNOWN_FUNCTION

    def method(self, kind: str | None, name: str) -> Effect:
        """Return what a method does, by its receiver's kind where that is known."""
        found = self.methods.get((kind, name)) or self.methods.get((None, name))
        return found or UNKNOWN_METHOD


@cache
def effects_table() -> EffectsTable:
    """Return flowc's own table with those of installed packages laid over it."""
    texts = [files("flowc.notebook").joinpath("effects.toml").read_text(encoding="utf-8")]
    texts += [str(point.load()()) for point in entry_points(group="flowc.effects")]
    table = EffectsTable()
    for text in texts:
        _fill(table, tomllib.loads(text))
    return table


def _fill(table: EffectsTable, data: dict[str, Any]) -> None:
    for group in data.get("functions", ()):
        effect = parse_effect(group["effect"].split(" "))
        table.functions.update(dict.fromkeys(group["names"], effect))
    for group in data.get("methods", ()):
        effect = parse_effect(group["effect"].split(" "))
        for name in group["names"]:
            table.methods[group.get("kind"), name] = effect


def parse_effect(words: Iterable[str]) -> Effect:
    """Return the effect that a group's words say. Raises ValueError for a word that is none."""
    said: dict[str, Any] = {"draws": (), "seeds": (), "changed_arguments": (), "out": ()}
    for word in words:
        key, colon, value = word.partition(":") if "=" not in word else word.partition("=")
        if word in RESULTS:
            said["result"] = word
        elif key in ("changes", "changes-deep"):
            said["deep"] = key == "changes-deep" or said.get("deep", False)
            if colon:
                said["changed_arguments"] += (int(value),)
            else:
                said["changes"] = True
        elif word in (
            "keeps",
            "once",
            "process",
            "output",
            "waits",
            "definition",
            "consumes",
            "applies",
            "quiet",
        ):
            said[word] = True
        elif word in ("reads-file", "writes-file"):
            said["files"] = word.removesuffix("-file")
        elif key in ("draws", "seeds"):
            said[key] += (value,)
        elif key == "out":
            said[key] += (int(value),)
        elif key in ("kind", "stuck", "mark"):
            said[key] = value.replace("\u00a0", " ")
        else:
            raise ValueError(f"unknown word '{word}' in an effects table")
    return Effect(**said)
