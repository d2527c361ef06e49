"""The version of an installed module: that of the distribution whose record lists its file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

from flowc.python.reach.finder import Found

_FIRST_PARTS = re.compile(r"^([^/,\n]+)", re.MULTILINE)


class Distribution:
    """A `.dist-info` or `.egg-info`, read as far as it is asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.site = path.parent

    @property
    def short_name(self) -> str:
        """The name in the folder's own name, normalised."""
        return _normal(self.path.stem.partition("-")[0])

    @cached_property
    def name_and_version(self) -> tuple[str, str]:
        """The name, normalised, and the version as its metadata say them."""
        header = (self._text("METADATA") or self._text("PKG-INFO")).partition("\n\n")[0]
        fields = {
            key: value.strip() for key, _, value in (line.partition(":") for line in header.splitlines())
        }
        stem_name, _, stem_version = self.path.stem.partition("-")
        return _normal(fields.get("Name", stem_name)), fields.get("Version", stem_version)

    @cached_property
    def top_level(self) -> frozenset[str]:
        """The names in its site folder that it says are its own."""
        first = {part.partition(".")[0] for part in _FIRST_PARTS.findall(self.record)}
        return frozenset((*first, *self._text("top_level.txt").split()))

    @cached_property
    def record(self) -> str:
        return self._text("RECORD")

    def owns(self, file: Path) -> bool:
        """Say whether a file is of this distribution, as far as it says what is."""
        if not file.is_relative_to(self.site):
            return False
        relative = file.relative_to(self.site).as_posix()
        if self.record:
            return f"\n{relative}," in f"\n{self.record}"
        return relative.partition("/")[0].partition(".")[0] in self.top_level

    def _text(self, name: str) -> str:
        file = self.path if self.path.is_file() and name == "PKG-INFO" else self.path / name
        try:
            return file.read_text(encoding="utf-8", errors="replace")
        except OSError:  # which of these files there are depends on the installer
            return ""


class Distributions:
    """The distributions on a search path."""

    def __init__(self, search_path: Sequence[str]) -> None:
        self._path = tuple(dict.fromkeys(Path(folder).absolute() for folder in search_path))
        self._owners: dict[str, Distribution | None] = {}

    def owner(self, found: Found) -> tuple[str, str] | None:
        """Return the name and version of the distribution that an installed module is of, if one says so."""
        if found.file is None:
            return None
        if found.file not in self._owners:
            self._owners[found.file] = self._searched(found.name.partition(".")[0], Path(found.file))
        owner = self._owners[found.file]
        return owner.name_and_version if owner else None

    def _searched(self, top: str, file: Path) -> Distribution | None:
        namesakes = self._by_name.get(_normal(top), ())
        for distribution in chain(namesakes, self._by_top_level(top)):
            if distribution.owns(file):
                return distribution
        return None

    @cached_property
    def _by_name(self) -> dict[str, list[Distribution]]:
        known: dict[str, list[Distribution]] = {}
        for folder in self._path:
            for path in sorted(folder.glob("*.*-info")) if folder.is_dir() else ():
                if path.suffix in (".dist-info", ".egg-info"):
                    distribution = Distribution(path)
                    known.setdefault(distribution.short_name, []).append(distribution)
        return known

    def _by_top_level(self, top: str) -> Iterator[Distribution]:
        for distributions in self._by_name.values():
            yield from (each for each in distributions if top in each.top_level)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
