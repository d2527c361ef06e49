"""Which types hold a secret, so that whoever shows, records or fingerprints a value knows to leave it out."""

from __future__ import annotations

from typing import Any

from flowc.types.model import (
    DictType,
    ListType,
    ModelType,
    RefinedType,
    ScalarType,
    TupleType,
    Type,
    UnionType,
    VariableType,
)


def holds_secret(type_: Type) -> bool:
    """Say whether a value of this type may hold a `SecretStr`, at any depth."""
    match type_:
        case ScalarType(name=name):
            return name in ("secret", "secret_bytes")
        case ListType(item=item) | RefinedType(base=item):
            return holds_secret(item)
        case VariableType(bound=bound):
            return bound is not None and holds_secret(bound)
        case TupleType(items=items) | UnionType(options=items):
            return any(map(holds_secret, items))
        case DictType(key=key, value=value):
            return holds_secret(key) or holds_secret(value)
        case ModelType(json_schema=schema, args=args, fields=fields):
            parts = (*args, *(field.type for field in fields or ()))
            return _has_password(schema) or any(map(holds_secret, parts))
        case _:
            return False


def _has_password(schema: Any) -> bool:
    # pydantic writes a SecretStr field as {"type": "string", "format": "password", "writeOnly": true}.
    if isinstance(schema, dict):
        return schema.get("format") == "password" or any(map(_has_password, schema.values()))
    return isinstance(schema, list) and any(map(_has_password, schema))
