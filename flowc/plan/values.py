"""Argument values as digests: equal ones give equal digests, in any process and on any machine."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import hashlib
import pickle
import struct
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretBytes, SecretStr

from flowc.types.names import ref_of

DigestOf = Callable[[Path], str]

_TEXTS = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.tzinfo,
    decimal.Decimal,
    uuid.UUID,
    complex,
)


def value_digest(value: Any, digest_of: DigestOf) -> str:
    """Return the digest of a value. A path counts by its name and what it points at, as `digest_of` says; a secret
    counts as a secret, whatever it is.

    Raises StoreError where a file can't be read, and whatever pickle raises for a value that is none of the usual.
    """
    whole = hashlib.sha256()
    for word in _words(value, digest_of):
        whole.update(len(word).to_bytes(8, "big"))
        whole.update(word)
    return whole.hexdigest()


def paths_in(value: Any) -> Iterable[Path]:
    """Return the paths in a value."""
    pending = [value]
    while pending:
        match pending.pop():
            case Path() as path:
                yield path
            case list() | tuple() | set() | frozenset() as items:
                pending += items
            case dict() as items:
                pending += (*items.keys(), *items.values())
            case BaseModel() as model:
                pending += dict(model).values()
            case other if dataclasses.is_dataclass(other) and not isinstance(other, type):
                pending += (getattr(other, field.name) for field in dataclasses.fields(other))


def _words(value: Any, digest_of: DigestOf) -> Iterable[bytes]:
    """Return words that spell the value. What is nested is spelled between its type and its length, so no two values
    are spelled alike."""
    cls = type(value)
    yield ref_of(cls).encode()
    match value:
        case None | SecretStr() | SecretBytes():
            pass
        case enum.Enum():
            yield value.name.encode()
        case bool() | int():
            yield str(int(value)).encode()
        case float():
            yield struct.pack(">d", value)
        case str():
            yield value.encode("utf-8", "surrogatepass")
        case bytes():
            yield value
        case Path():
            yield from (value.name.encode("utf-8", "surrogateescape"), digest_of(value).encode())
        case _ if isinstance(value, _TEXTS):
            yield repr(value).encode()
        case list() | tuple():
            yield from _sequence(value, digest_of)
        case set() | frozenset():
            yield from sorted(value_digest(item, digest_of).encode() for item in value)
            yield b"end"
        case dict():
            yield from _sequence([part for item in value.items() for part in item], digest_of)
        case BaseModel():
            yield from _words(dict(value), digest_of)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = dataclasses.fields(value)
            yield from _words({field.name: getattr(value, field.name) for field in fields}, digest_of)
        case _:
            yield pickle.dumps(value, 5)


def _sequence(items: Any, digest_of: DigestOf) -> Iterable[bytes]:
    yield str(len(items)).encode()
    for item in items:
        yield from _words(item, digest_of)
