"""The names of a notebook while its cells are walked, so kept that a statement costs what it does, not what there is.

What the current statement changes lies over what was there before; a branch is a copy of that thin layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowc.notebook.heap import Regions
from flowc.notebook.versions import Version

Layer = dict[str, Version]


class Names:
    """Versions by name, with an index by the regions that they may be."""

    def __init__(self) -> None:
        self._base: dict[str, Version] = {}
        self._layer: Layer = {}
        self._by_region: dict[int, set[str]] = {}
        self._journal: list[tuple[str, Version | None]] = []

    def get(self, name: str) -> Version | None:
        """Return a name's version, which may be one that is deleted."""
        return self._layer.get(name) or self._base.get(name)

    def put(self, version: Version) -> None:
        """Let a name have a version."""
        self._layer[version.name] = version
        for region in version.value.top:
            self._by_region.setdefault(region, set()).add(version.name)

    def alive(self) -> Iterator[Version]:
        """Go through all versions that are not deleted."""
        for name in {**self._base, **self._layer}:
            version = self.get(name)
            if version is not None and version.bound != "no":
                yield version

    def being(self, tops: Regions) -> list[Version]:
        """Return the versions that may be any of these regions."""
        names = sorted(set().union(*(self._by_region[region] for region in self._by_region.keys() & tops)))
        found = []
        for name in names:
            version = self.get(name)
            if version is not None and version.bound != "no" and version.value.top & tops:
                found.append(version)
        return found

    def changed(self) -> Layer:
        """Return what the current statement has made of names."""
        return self._layer

    def commit(self) -> None:
        """End a statement."""
        for name, version in self._layer.items():
            self._journal.append((name, self._base.get(name)))
            self._base[name] = version
        self._layer = {}

    def checkpoint(self) -> int:
        """Return a mark to go back to."""
        return len(self._journal)

    def rollback(self, mark: int) -> None:
        """Undo all statements since a mark."""
        self._layer = {}
        while len(self._journal) > mark:
            name, version = self._journal.pop()
            if version is None:
                del self._base[name]
            else:
                self._base[name] = version

    def snapshot(self) -> Layer:
        """Return the current statement's layer."""
        return dict(self._layer)

    def restore(self, layer: Layer) -> None:
        """Go back to a layer."""
        self._layer = dict(layer)

    def differing(self, layers: Sequence[Layer]) -> Iterator[tuple[str, list[Version | None]]]:
        """Go through the names that are not the same in all of these layers, with their versions in each."""
        for name in dict.fromkeys(name for layer in layers for name in layer):
            versions = [layer.get(name) or self._base.get(name) for layer in layers]
            if any(version is not versions[0] for version in versions):
                yield name, versions

    def all(self) -> dict[str, Version]:
        """Return all versions by name."""
        return {**self._base, **self._layer}
