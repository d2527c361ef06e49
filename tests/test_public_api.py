"""`flowc.__all__` is what flowc exports: every name is there, and nothing else is public."""

from __future__ import annotations

import types

import flowc


def test_every_public_name_is_there() -> None:
    assert sorted(flowc.__all__) == list(flowc.__all__)
    for name in flowc.__all__:
        assert getattr(flowc, name).__name__ == name


def test_nothing_else_is_public() -> None:
    # `annotations`, `Any` and the like are imported for the module itself; what the package defines is not.
    own = {
        name
        for name, value in vars(flowc).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and getattr(value, "__module__", "").startswith("flowc")
    }
    assert own <= set(flowc.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(flowc, "no_such_name")
