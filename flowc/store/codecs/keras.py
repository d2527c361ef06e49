"""Keras models in Keras's own format, without the time of saving: equal weights give equal files."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from flowc.store.codecs.codec import Content, Draft, is_a

_FILE = "model.keras"
_METADATA = "metadata.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)


class KerasCodec:
    name = "keras"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        if not is_a(value, "keras", "Model"):
            return None
        saved = draft.folder / f"saved-{_FILE}"
        value.save(saved)
        _without_time(saved, draft.folder / _FILE)
        saved.unlink()
        return {
            "file": _FILE,
            "name": value.name,
            "parameters": value.count_params() if value.built else None,
        }

    def read(self, content: Content) -> Any:
        import keras

        # Code in a model (a Lambda layer) is as trusted as a pickle: it is from our own store, and verified.
        return keras.saving.load_model(content.folder / _FILE, safe_mode=False)


def _without_time(saved: Path, target: Path) -> None:
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(target, "w") as copy:
        for name in sorted(source.namelist()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            if name == _METADATA:
                metadata = json.loads(source.read(name))
                metadata.pop("date_saved", None)
                copy.writestr(entry, json.dumps(metadata, sort_keys=True))
                continue
            with source.open(name) as content, copy.open(entry, "w", force_zip64=True) as out:
                shutil.copyfileobj(content, out)
