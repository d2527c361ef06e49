"""Which codec is for a value: ours in a fixed order, then those of other distributions, then pickle."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from flowc.errors import CodecError, did_you_mean
from flowc.store.codecs.arrow import ArrowCodec
from flowc.store.codecs.bytes import BytesCodec
from flowc.store.codecs.codec import Codec
from flowc.store.codecs.files import FilesCodec
from flowc.store.codecs.json import JsonCodec
from flowc.store.codecs.keras import KerasCodec
from flowc.store.codecs.numpy import NumpyCodec
from flowc.store.codecs.pandas import PandasCodec
from flowc.store.codecs.pickle import PickleCodec
from flowc.store.codecs.record import RecordCodec
from flowc.store.codecs.typed import TypedCodec

GROUP = "flowc.codecs"


class Codecs:
    """The codecs that there are. Others' are looked for only when none of ours fits."""

    def __init__(self) -> None:
        self._pickle = PickleCodec()
        self._ours: tuple[Codec, ...] = (
            JsonCodec(),
            TypedCodec(),
            RecordCodec(),
            BytesCodec(),
            FilesCodec(),
            ArrowCodec(),
            PandasCodec(),
            NumpyCodec(),
            KerasCodec(),
        )

    def in_order(self) -> Iterator[Codec]:
        """Give the codecs in the order that a value is offered to them; the last takes any."""
        yield from self._ours
        yield from self._others
        yield self._pickle

    def named(self, name: str) -> Codec:
        """Return the codec that a value was stored by; CodecError where it isn't installed."""
        ours = {codec.name: codec for codec in (*self._ours, self._pickle)}
        if name in ours:
            return ours[name]
        known = {codec.name: codec for codec in self._others}
        if name in known:
            return known[name]
        raise CodecError(
            f"no codec '{name}' is installed here, and a stored value needs it",
            hint=did_you_mean(name, (*ours, *known)) or "install the package that it came from",
        )

    @cached_property
    def _others(self) -> tuple[Codec, ...]:
        return tuple(map(_loaded, entry_points(group=GROUP)))


def _loaded(entry: EntryPoint) -> Codec:
    try:
        codec: Codec = entry.load()()
    except Exception as error:
        owner = entry.dist.name if entry.dist else "an installed package"
        raise CodecError(
            f"the codec '{entry.name}' of {owner} ({entry.value}) can't be loaded: {error}",
            hint=f"update or uninstall {owner}",
        ) from error
    return codec
