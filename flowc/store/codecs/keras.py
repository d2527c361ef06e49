"""Keras models in Keras's own format, without what differs each time: equal models give equal files."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flowc.store.codecs.codec import Content, Draft, is_a

_FILE = "model.keras"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_SHARED = "shared_object_id"


class KerasCodec:
    name = "keras"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        if not is_a(value, "keras", "Model"):
            return None
        save_model(value, draft.folder / _FILE)
        return {
            "file": _FILE,
            "name": value.name,
            "parameters": value.count_params() if value.built else None,
        }

    def read(self, content: Content) -> Any:
        import keras

        # Code in a model (a Lambda layer) is as trusted as a pickle: it is from our own store, and verified.
        return keras.saving.load_model(content.folder / _FILE, safe_mode=False)


def save_model(model: Any, path: Path) -> None:
    """Save a Keras model as a `.keras` file that depends on the model alone: not on the time, nor on the process."""
    as_keras_does = path.with_name(f"saved-{path.name}")
    model.save(as_keras_does)
    with zipfile.ZipFile(as_keras_does) as source, zipfile.ZipFile(path, "w") as target:
        for name in sorted(source.namelist()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            if name.endswith(".json"):
                target.writestr(entry, json.dumps(_steady(json.loads(source.read(name)))))
                continue
            with source.open(name) as content, target.open(entry, "w", force_zip64=True) as out:
                shutil.copyfileobj(content, out)
    as_keras_does.unlink()


def _steady(config: Any) -> Any:
    """Take the date of saving out of a configuration, and the addresses in memory by which it names shared parts."""
    if isinstance(config, dict):
        config.pop("date_saved", None)
    parts = [part for part in _dicts(config) if _SHARED in part]
    uses = Counter(part[_SHARED] for part in parts)
    shared = [address for address, count in uses.items() if count > 1]
    numbers = {address: number for number, address in enumerate(shared)}
    for part in parts:
        address = part.pop(_SHARED)
        if address in numbers:  # of a part that is used once, Keras does not always say so
            part[_SHARED] = numbers[address]
    return config


def _dicts(config: Any) -> Iterator[dict[str, Any]]:
    if isinstance(config, dict):
        yield config
    if isinstance(config, dict | list):
        for part in config.values() if isinstance(config, dict) else config:
            yield from _dicts(part)
