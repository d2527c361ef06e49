"""Types and values of the IR as Python text."""

from __future__ import annotations

import math
from typing import Any

from flowc.emit.python.imports import Imports
from flowc.emit.python.text import quoted
from flowc.types.model import (
    AnyType,
    DictType,
    ListType,
    LiteralType,
    ScalarType,
    TupleType,
    Type,
    UnionType,
)
from flowc.types.validate import validated_json

_PLAIN = {"none": "None", "bool": "bool", "int": "int", "float": "float", "str": "str", "bytes": "bytes"}
_MEMBERS = {
    "path": ("pathlib", "Path"),
    "decimal": ("decimal", "Decimal"),
    "uuid": ("uuid", "UUID"),
    "secret": ("pydantic", "SecretStr"),
    "secret_bytes": ("pydantic", "SecretBytes"),
}
_ABSTRACT = {"sequence": "Sequence", "collection": "Iterable"}
_TIMES = ("date", "datetime", "time", "timedelta")


class Annotations:
    """Writes types and values with the names that the module has for what they need. `home` is the expression for the
    notebook's folder that relative paths start from, or None where that is the module's own."""

    def __init__(self, imports: Imports, home: str | None) -> None:
        self._imports = imports
        self._home = home

    def type(self, type_: Type) -> str:
        """Return the annotation that a type is written as."""
        match type_:
            case ScalarType():
                return self._scalar(type_)
            case LiteralType(values=values):
                literal = self._imports.member("typing", "Literal")
                return f"{literal}[{', '.join(map(literal_text, values))}]"
            case ListType(container="tuple", item=item):
                return f"tuple[{self.type(item)}, ...]"
            case ListType(container="sequence" | "collection" as container, item=item):
                return f"{self._imports.member('collections.abc', _ABSTRACT[container])}[{self.type(item)}]"
            case ListType(container=container, item=AnyType()):
                return container
            case ListType(container=container, item=item):
                return f"{container}[{self.type(item)}]"
            case TupleType(items=items):
                return f"tuple[{', '.join(map(self.type, items)) or '()'}]"
            case DictType(key=AnyType(), value=AnyType()):
                return "dict"
            case DictType(key=key, value=value):
                return f"dict[{self.type(key)}, {self.type(value)}]"
            case UnionType(options=options):
                return " | ".join(map(self.type, options))
        return self._imports.member("typing", "Any")

    def _scalar(self, type_: ScalarType) -> str:
        if type_.name in _PLAIN:
            plain = _PLAIN[type_.name]
        elif type_.name in _TIMES:
            plain = self._time_class(type_.name)
        else:
            plain = self._imports.member(*_MEMBERS[type_.name])
        limits = ", ".join(f"{name}={literal_text(value)}" for name, value in type_.constraints().items())
        if not limits:
            return plain
        annotated = self._imports.member("typing", "Annotated")
        return f"{annotated}[{plain}, {self._imports.member('pydantic', 'Field')}({limits})]"

    def value(self, type_: Type, value: Any) -> str:
        """Return the expression for a value that is given in its JSON form."""
        match type_:
            case ScalarType(name="path") if isinstance(value, str):
                path = f"{self._imports.member('pathlib', 'Path')}({quoted(value)})"
                absolute = value.startswith(("/", "~"))
                return path if self._home is None or absolute else f"{self._home} / {quoted(value)}"
            case ScalarType(name=name) if name in _TIMES and isinstance(value, str):
                return self._time(type_, value)
            case ScalarType(name="bytes") if isinstance(value, str):
                return repr(value.encode())
            case ScalarType(name="float") if isinstance(value, int):
                return repr(float(value))
            case ListType(container=container, item=item) if isinstance(value, list):
                return _collection(container, [self.value(item, each) for each in value])
            case TupleType(items=items) if isinstance(value, list):
                return _collection("tuple", [self.value(*pair) for pair in zip(items, value, strict=True)])
            case DictType(key=of_key, value=of) if isinstance(value, dict):
                pairs = (f"{self.value(of_key, key)}: {self.value(of, each)}" for key, each in value.items())
                return "{" + ", ".join(pairs) + "}"
            case UnionType(options=options):
                return self.value(_option(options, value), value)
        return literal_text(value)

    def _time(self, type_: ScalarType, value: str) -> str:
        name, written = type_.name, repr(validated_json(type_, value))
        if written.count("datetime.") > 1:  # with a time zone, too
            return f"{self._time_class(name)}.fromisoformat({quoted(value)})"
        return written.replace(f"datetime.{name}", self._time_class(name), 1)

    def _time_class(self, name: str) -> str:
        """Return what a class of `datetime` is called: by its name where the user has imported it so."""
        own = self._imports.known_member("datetime", name)
        return own or f"{self._imports.module('datetime')}.{name}"


def _option(options: tuple[Type, ...], value: Any) -> Type:
    """Return the option that a JSON value is written in, the first that it may be."""
    if value is None:
        return ScalarType(name="none")
    kinds = {str: ("str",), bool: ("bool",), int: ("int", "float"), float: ("float",)}.get(type(value), ())
    named = {option.name: option for option in options if isinstance(option, ScalarType)}
    exact = [named[kind] for kind in kinds if kind in named]
    rest = [option for option in options if not (isinstance(option, ScalarType) and option.name == "none")]
    return (exact or rest)[0]


def _collection(container: str, items: list[str]) -> str:
    inner = ", ".join(items)
    match container:
        case "tuple":
            return f"({inner},)" if len(items) == 1 else f"({inner})"
        case "set" | "frozenset":
            shown = f"{{{inner}}}" if items else ""
            return shown if container == "set" and items else f"{container}({shown})"
    return f"[{inner}]"


def literal_text(value: Any) -> str:
    """Return a JSON value as a Python literal, texts in double quotes."""
    match value:
        case str():
            return quoted(value)
        case list():
            return _collection("list", list(map(literal_text, value)))
        case dict():
            return "{" + ", ".join(f"{literal_text(k)}: {literal_text(v)}" for k, v in value.items()) + "}"
        case float() if not math.isfinite(value):
            return f'float("{value}")'
    return repr(value)
