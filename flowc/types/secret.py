"""Which types hold a secret, so that whoever shows, records or fingerprints a value knows to leave it out."""

from __future__ import annotations

from typing import Any

from flowc.types.model import DictType, ListType, ModelType, ScalarType, TupleType, Type, UnionType


def holds_secret(type_: Type) -> bool:
    """Say whether a value of this type may hold a `SecretStr`, at any depth."""
    match type_:
        case ScalarType(name=name):
            return name == "secret"
        case ListType(item=item):
            return holds_secret(item)
        case TupleType(items=items) | UnionType(options=items):
            return any(map(holds_secret, items))
        case DictType(key=key, value=value):
            return holds_secret(key) or holds_secret(value)
        case ModelType(json_schema=schema):
            return _has_password(schema)
        case _:
            return False


def _has_password(schema: Any) -> bool:
    # pydantic writes a SecretStr field as {"type": "string", "format": "password", "writeOnly": true}.
    if isinstance(schema, dict):
        return schema.get("format") == "password" or any(map(_has_password, schema.values()))
    return isinstance(schema, list) and any(map(_has_password, schema))
