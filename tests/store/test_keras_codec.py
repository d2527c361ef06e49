"""Keras models: they come back with weights and optimizer, and equal weights are equal files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flowc.store.artifacts import ArtifactStore
from flowc.types.describe import describe


def test_a_model_comes_back_and_equal_models_are_equal_artifacts(store: ArtifactStore) -> None:
    keras = pytest.importorskip("keras")
    layers = [keras.layers.Input((2,), name="in"), keras.layers.Dense(1, name="out")]
    model = keras.Sequential(layers, name="taxi")
    model.compile(optimizer="adam", loss="mse")
    rows = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
    model.fit(rows, np.array([[1.0], [0.0]], "float32"), epochs=1, verbose=0)
    stored = store.save(model, describe(keras.Model))
    assert stored.codec == "keras"
    assert stored.summary == {"file": "model.keras", "name": "taxi", "parameters": 3}

    back = ArtifactStore(store.root).load(stored, describe(Any))
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.predict(rows, verbose=0), model.predict(rows, verbose=0))
    assert back.optimizer.iterations.numpy() == 1
    assert store.save(back, describe(Any)).digest == stored.digest
    back.set_weights([weight + 1 for weight in back.get_weights()])
    assert store.save(back, describe(Any)).digest != stored.digest
