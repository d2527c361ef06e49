"""A blessed model becomes a SavedModel, is asked real questions in a process of its own, and only then published."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from flowc import Blessing, ComponentError, Dataset, Model, ServedModel, component, workdir
from flowc_components.keras_files import keras, load_model, raw_kinds
from flowc_components.predict import PROBABILITY, probabilities
from flowc_components.tensors import raw_columns

_ASKED_ROWS = 100
_TOLERANCE = 1e-5  # float32 sums differ in their last digits with the size of the batch
_PATIENCE = 300.0


@component(role="serve", cache=False)  # what it publishes lies outside the store, and may be gone
def serve(model: Model, blessing: Blessing, sample: Dataset, destination: Path, name: str) -> ServedModel:
    """Publish a model as `destination/name/VERSION`, TensorFlow Serving's layout, under the next free number.

    The SavedModel's `serving_default` takes raw columns, each a tensor of shape [rows] by the column's name
    (numbers float64, NaN where missing; texts strings, empty where missing), and gives `probability`. Up to 100
    rows of `sample` are put to it first in a bare TensorFlow process: what it answers must be what the model
    predicts. Raises ComponentError, with nothing published, for a model that is not blessed or fails this check.
    """
    if not blessing:
        raise ComponentError(
            f"the model '{name}' is not blessed and was not published:\n  " + "\n  ".join(blessing.reasons),
            hint="train a better one, or lower the thresholds",
        )
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name) is None:
        raise ComponentError(
            f"a model can't be named {name!r}", hint="use letters, digits and the signs _ . -"
        )
    home = workdir() / "served" / name
    exported = home / "new"
    export(model, exported)
    try_out(model, exported, sample)
    version = publish(exported, destination / name)
    exported.rename(home / version)
    return ServedModel(home.parent, str(destination / name / version))


def export(model: Model, folder: Path) -> None:
    """Write a model as a SavedModel that takes raw columns and needs nothing but TensorFlow."""
    import tensorflow as tf

    loaded = load_model(model.path)

    def answer(columns: dict[str, Any]) -> dict[str, Any]:
        raw = {column: tf.expand_dims(values, -1) for column, values in columns.items()}
        return {PROBABILITY: tf.squeeze(loaded(raw, training=False), -1)}

    archive = keras().export.ExportArchive()
    archive.track(loaded)
    signature = {each.name: tf.TensorSpec([None], each.dtype, name=each.name) for each in loaded.inputs}
    archive.add_endpoint("serve", answer, input_signature=[signature])
    archive.write_out(str(folder), verbose=False)


def try_out(model: Model, exported: Path, sample: Dataset) -> None:
    """Ask a SavedModel about rows of the sample, all at once and one; ComponentError where the model differs."""
    import numpy as np

    rows = sample.table.slice(0, _ASKED_ROWS)
    expected = probabilities(model, rows)
    columns = raw_columns(rows, raw_kinds(load_model(model.path)))
    everything = {name: [_plain(value) for value in values] for name, values in columns.items()}
    first = {name: values[:1] for name, values in everything.items()}
    of_all, of_first = ask(exported, [everything, first])
    for answered, known in ((np.array(of_all), expected), (np.array(of_first), expected[:1])):
        off = ~(np.abs(answered - known) <= _TOLERANCE)  # so that NaN is off too
        if off.any():
            row = int(np.argmax(off))
            raise ComponentError(
                f"the exported model answers {answered[row]} for row {row} of the sample, the pipeline's own "
                f"prediction is {known[row]}; it was not published"
            )


def _plain(value: Any) -> float | str:
    return value.decode() if isinstance(value, bytes) else float(value)


def ask(exported: Path, requests: list[dict[str, list[Any]]]) -> list[list[float]]:
    """Return a SavedModel's answers to requests, each of raw values by column, from a process with only TensorFlow."""
    script = Path(__file__).with_name("bare_tensorflow.py")
    # Without a GPU: the process that asks may hold all of its memory.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(script), str(exported)],
            input=json.dumps(requests),
            env=environment,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise ComponentError(f"the exported model did not answer within {_PATIENCE:g} s") from error
    except subprocess.CalledProcessError as error:
        last = "\n  ".join(error.stderr.strip().splitlines()[-5:])
        raise ComponentError(
            f"the exported model can't answer in a bare TensorFlow process:\n  {last}"
        ) from error
    answers: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    return answers


def publish(exported: Path, folder: Path) -> str:
    """Copy a SavedModel to the next free version number in a folder, all at once, and return the number.

    A reader of the folder sees a version whole or not at all, and no version is ever replaced.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copy = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
        try:
            shutil.copytree(exported, copy, dirs_exist_ok=True)
            copy.chmod(0o755)
            return _claimed(copy, folder)
        finally:
            shutil.rmtree(copy, ignore_errors=True)
    except OSError as error:
        raise ComponentError(
            f"the model can't be published in {folder}: {error.strerror or error}",
            hint="give a destination that can be written to",
        ) from error


def _claimed(copy: Path, folder: Path) -> str:
    while True:
        taken = [int(each.name) for each in folder.iterdir() if each.name.isdecimal()]
        version = str(max(taken, default=0) + 1)
        try:
            copy.rename(folder / version)
        except OSError:
            if not (folder / version).exists():
                raise
            continue  # another run took the number in between
        return version
