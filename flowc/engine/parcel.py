"""An artifact as one file, for places that move files and know nothing of the store, such as Kubeflow's volumes.

A parcel is a tar archive: what the store knows of the artifact in `stored.json`, its files in `content/`.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from base64 import b64decode, b64encode
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flowc.errors import StoreError
from flowc.store.artifacts import ArtifactStore
from flowc.store.stored import Stored

_LABEL = "stored.json"
_CONTENT = "content"


def pack(store: ArtifactStore, stored: Stored, path: Path) -> None:
    """Write an artifact of the store to a file, whose folder is made if need be."""
    label = asdict(stored)
    label["inline"] = None if stored.inline is None else b64encode(stored.inline).decode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as parcel:
        _add(parcel, _LABEL, json.dumps(label).encode())
        if stored.inline is None:
            parcel.add(store.path(stored.digest), _CONTENT)


def unpack(store: ArtifactStore, path: Path) -> Stored:
    """Put the artifact in a file into the store. Its content is verified when it is loaded.

    Raises StoreError where the file is not a parcel.
    """
    try:
        with tarfile.open(path) as parcel:
            stored = _label(parcel)
            if stored.inline is None:
                place = store.path(stored.digest)
                place.mkdir(parents=True, exist_ok=True)
                _extract(parcel, place)
    except (OSError, tarfile.TarError, KeyError, TypeError, ValueError) as error:
        hint = "an input is what '--output' of another task wrote"
        raise StoreError(f"{path} is not an artifact of flowc's: {error}", hint=hint) from error
    return stored


def _add(parcel: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    parcel.addfile(entry, io.BytesIO(content))


def _label(parcel: tarfile.TarFile) -> Stored:
    file = parcel.extractfile(_LABEL)
    if file is None:
        raise ValueError(f"'{_LABEL}' is a folder")
    label: dict[str, Any] = json.loads(file.read())
    inline = label.pop("inline")
    return Stored(**label, inline=None if inline is None else b64decode(inline))


def _extract(parcel: tarfile.TarFile, place: Path) -> None:
    for entry in parcel.getmembers():
        name = entry.name.removeprefix(f"{_CONTENT}/")
        if name == entry.name:
            continue
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise ValueError(f"'{entry.name}' leads out of the archive")
        if entry.isdir():
            (place / name).mkdir(parents=True, exist_ok=True)
        elif (source := parcel.extractfile(entry)) is not None:
            with (place / name).open("wb") as target:
                shutil.copyfileobj(source, target)
