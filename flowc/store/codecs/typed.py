"""What pydantic validates (tuples, dates, paths, enums, models, dataclasses), as JSON with its type beside it.

The type is that of the producer: a reader that declares none gets the same value back, not JSON's idea of it.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from flowc.errors import FlowcError
from flowc.store.codecs.codec import Content, Draft
from flowc.store.codecs.exact import same
from flowc.store.codecs.json import put_json
from flowc.store.codecs.preview import preview
from flowc.types.model import AnyType, DictType, ListType, ModelType, TupleType, Type, UnionType
from flowc.types.validate import is_value, to_json, validated_json

_TYPES: TypeAdapter[Type] = TypeAdapter(Type)


class TypedCodec:
    """Declines what doesn't come back exactly, such as a path where a path or a text was declared."""

    name = "typed"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        type_ = draft.type
        if isinstance(type_, AnyType) or not is_value(type_):
            return None
        try:
            data = _ordered(to_json(type_, value), type_)
            put_json({"type": _TYPES.dump_python(_by_name(type_), mode="json"), "value": data}, draft)
            back = _value(draft.document or b"")
        except (ValueError, TypeError, RecursionError, PydanticSerializationError, FlowcError):
            return None
        return preview(data, json.dumps(data).encode()) if same(value, back) else None

    def read(self, content: Content) -> Any:
        return _value(content.document)


def _value(document: bytes) -> Any:
    saved = json.loads(document)
    return validated_json(_TYPES.validate_python(saved["type"]), saved["value"])


def _by_name(type_: Type) -> Type:
    """Leave out the schemas of classes: they are found by name."""
    match type_:
        case ModelType(args=args, fields=fields):
            named: dict[str, Any] = {"args": tuple(map(_by_name, args)), "json_schema": {}}
            if fields is not None:
                kept = (field.model_copy(update={"type": _by_name(field.type)}) for field in fields)
                named["fields"] = tuple(kept)
            return type_.model_copy(update=named)
        case ListType(item=item):
            return type_.model_copy(update={"item": _by_name(item)})
        case TupleType(items=items):
            return TupleType(items=tuple(map(_by_name, items)))
        case UnionType(options=options):
            return UnionType(options=tuple(map(_by_name, options)))
        case DictType(key=key, value=value):
            return DictType(key=_by_name(key), value=_by_name(value))
    return type_


def _ordered(data: Any, type_: Type) -> Any:
    """Sort what came from sets: their order differs from process to process."""
    match type_:
        case ListType(container=container, item=item):
            items = [_ordered(each, item) for each in data]
            return sorted(items, key=json.dumps) if container in ("set", "frozenset") else items
        case TupleType(items=items):
            return [_ordered(each, item) for each, item in zip(data, items, strict=True)]
        case DictType(value=value):
            return {key: _ordered(each, value) for key, each in data.items()}
    return data
