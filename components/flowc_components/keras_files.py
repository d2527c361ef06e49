"""Keras models as files that are equal where the models are, and run on raw columns.

A .keras file as Keras writes it holds the time it was written at and the addresses of objects. Without them,
training twice with one seed gives one artifact.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

from flowc import ComponentError
from flowc_components.tensors import RawColumns, RawKind

_EPOCH = (1980, 1, 1, 0, 0, 0)
_BATCH = 4096


def keras() -> Any:
    """Return the keras module. ComponentError where it is not installed or runs on another backend."""
    # Else each start prints what TensorFlow was built with.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        import keras as module
        import tensorflow  # noqa: F401, ICN001 - Keras fails late and obscurely without it
    except ModuleNotFoundError as error:
        raise ComponentError(
            f"this component needs {error.name}, which is not installed",
            hint="install flowc[tensorflow]",
        ) from error
    if module.backend.backend() != "tensorflow":
        raise ComponentError(
            f"Keras runs on {module.backend.backend()}; an exported model needs TensorFlow",
            hint="unset KERAS_BACKEND, or set it to tensorflow",
        )
    return module


def save_model(model: Any, path: Path) -> None:
    """Write a Keras model; equal models give equal bytes."""
    written = path.with_name("as-keras-writes-it.keras")
    model.save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(path, "w") as target:
        for name in sorted(source.namelist()):
            target.writestr(zipfile.ZipInfo(name, _EPOCH), _timeless(name, source.read(name)))
    written.unlink()


def _timeless(name: str, content: bytes) -> bytes:
    if name == "metadata.json":
        return json.dumps(json.loads(content) | {"date_saved": "1980-01-01@00:00:00"}).encode()
    if name == "config.json":
        return json.dumps(_numbered(json.loads(content), {})).encode()
    return content


def _numbered(config: Any, numbers: dict[int, int]) -> Any:
    """Return the configuration with each shared object's address replaced by its rank of appearance."""
    if isinstance(config, list):
        return [_numbered(item, numbers) for item in config]
    if not isinstance(config, dict):
        return config
    return {
        key: numbers.setdefault(value, len(numbers) + 1)
        if key == "shared_object_id"
        else _numbered(value, numbers)
        for key, value in config.items()
    }


def load_model(path: Path) -> Any:
    """Read a Keras model. ComponentError where it is none, or needs a class that is not there."""
    try:
        return keras().saving.load_model(path, compile=False)
    except (ValueError, TypeError, OSError, zipfile.BadZipFile) as error:
        raise ComponentError(
            f"{path} can't be loaded as a Keras model: {error}",
            hint="own layers need @keras.saving.register_keras_serializable(), in a module that is imported",
        ) from error


def raw_kinds(model: Any) -> dict[str, RawKind]:
    """Return the raw columns that a model takes, by name."""
    return {each.name: "text" if each.dtype == "string" else "number" for each in model.inputs}


def run_model(model: Any, columns: RawColumns) -> Any:
    """Return what a model gives for raw columns, as a float32 array with a row for each row."""
    import numpy as np
    import tensorflow as tf

    rows = len(next(iter(columns.values())))

    def batch(start: int) -> Any:
        part = {name: tf.constant(each[start : start + _BATCH])[:, None] for name, each in columns.items()}
        return model(part, training=False).numpy()

    return np.concatenate([batch(start) for start in range(0, rows, _BATCH)])
