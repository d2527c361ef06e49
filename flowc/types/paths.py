"""Paths inside values: made relative when a pipeline is written down, and absolute again when it is run."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowc.types.model import DictType, ListType, RefinedType, ScalarType, TupleType, Type, UnionType


def anchored(type_: Type, value: Any, folder: Path) -> Any:
    """Return the value with each relative path in it made absolute, as if `folder` were the current one."""
    return _mapped(type_, value, lambda path: folder / path)


def portable(type_: Type, value: Any, folder: Path, root: Path) -> Any:
    """Return the value with each absolute path below `root` written relative to `folder`."""

    def relative(path: Path) -> Path:
        inside = path.is_absolute() and path.is_relative_to(root)
        return Path(os.path.relpath(path, folder)) if inside else path

    return _mapped(type_, value, relative)


def _mapped(type_: Type, value: Any, change: Callable[[Path], Path]) -> Any:
    match type_:
        case ScalarType(name="path") if isinstance(value, Path):
            return change(value)
        case RefinedType(base=base):
            return _mapped(base, value, change)
        case UnionType(options=options):
            for option in options:
                value = _mapped(option, value, change)
            return value
        case ListType(item=item) if isinstance(value, list | set | frozenset | tuple):
            return type(value)(_mapped(item, each, change) for each in value)
        case TupleType(items=items) if isinstance(value, tuple) and len(value) == len(items):
            return tuple(_mapped(item, each, change) for item, each in zip(items, value, strict=True))
        case DictType(value=of) if isinstance(value, dict):
            return {key: _mapped(of, each, change) for key, each in value.items()}
    return value
