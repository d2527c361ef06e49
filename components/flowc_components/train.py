"""A Keras binary classifier is trained on encoded features, and saved with the encoding as one model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from flowc import ComponentError, Dataset, Metrics, Model, TransformGraph, component, workdir
from flowc_components.keras_files import keras, load_model, raw_kinds, save_model
from flowc_components.labels import binary_labels
from flowc_components.transform import encode

_FILE = "model.keras"


class TrainingMetrics(Metrics):
    """The last epoch's values, and in `history` each epoch's."""

    history: dict[str, tuple[float, ...]] = {}


class Trained(NamedTuple):
    """The model takes raw columns and gives a probability."""

    model: Model
    metrics: TrainingMetrics


@component(role="train")
def train(  # noqa: PLR0913, PLR0917 - each is a binding of its own, so that a pipeline can make a parameter of it
    train: Dataset,
    transform: TransformGraph,
    label: str,
    model_fn: Callable[[Any], Any] | None = None,
    epochs: int = 5,
    batch_size: int = 256,
    learning_rate: float = 0.001,
    seed: int = 0,
) -> Trained:
    """Train a binary classifier with Adam on log loss; one seed gives one model, byte for byte, on one machine.

    The seed is that of Python's, NumPy's and TensorFlow's generators in this process, and stays so.
    `model_fn` builds the network: it takes the encoded features, a Keras tensor of shape [None, width], and
    returns one of shape [None, 1], a probability. Raises ComponentError for labels that can't be learnt from, a
    `model_fn` that returns anything else, a loss that is no number any more, and
    settings that are not above 0.
    """
    import tensorflow as tf

    _refuse_settings(epochs=epochs, batch_size=batch_size, learning_rate=learning_rate)
    labels = binary_labels(train.table, label)
    keras().backend.clear_session()  # names of layers count up from the process's start; the file holds them
    keras().utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()
    transformed = load_model(transform.path)
    if label in raw_kinds(transformed):
        raise ComponentError(
            f"the label '{label}' is among the features", hint="leave it out of the transform's features"
        )
    encoded = encode(transformed, train.table)
    network = _network(model_fn or default_network, encoded.shape[1])
    network.compile(
        optimizer=keras().optimizers.Adam(learning_rate),
        loss="binary_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,
    )
    history = network.fit(encoded, labels, batch_size=batch_size, epochs=epochs, verbose=2).history
    path = workdir() / _FILE
    save_model(keras().Model(transformed.input, network(transformed.output), name="model"), path)
    return Trained(Model(path), _metrics(history))


def _refuse_settings(**settings: float) -> None:
    for name, value in settings.items():
        if value <= 0:
            raise ComponentError(f"{name} is a number above 0, not {value}")


def default_network(encoded: Any) -> Any:
    """Return a network of two hidden layers, of 64 and 32 units, on the encoded features."""
    hidden = keras().layers.Dense(64, activation="relu")(encoded)
    hidden = keras().layers.Dense(32, activation="relu")(hidden)
    return keras().layers.Dense(1, activation="sigmoid")(hidden)


def _network(model_fn: Callable[[Any], Any], width: int) -> Any:
    encoded = keras().Input(shape=(width,), name="encoded")
    output = model_fn(encoded)
    if not keras().backend.is_keras_tensor(output) or tuple(output.shape) != (None, 1):
        found = f"shape {tuple(output.shape)}" if hasattr(output, "shape") else repr(output)
        raise ComponentError(
            f"model_fn '{getattr(model_fn, '__name__', model_fn)}' returned {found}, not a Keras tensor of shape "
            "(None, 1)",
            hint='end it with keras.layers.Dense(1, activation="sigmoid")(...)',
        )
    return keras().Model(encoded, output, name="network")


def _metrics(history: dict[str, list[float]]) -> TrainingMetrics:
    values = {name: tuple(map(float, each)) for name, each in history.items()}
    for epoch, loss in enumerate(values.get("loss", ()), 1):
        if not math.isfinite(loss):
            raise ComponentError(
                f"the loss is {loss} in epoch {epoch}",
                hint="lower learning_rate, or normalise the features of kind 'float'",
            )
    return TrainingMetrics(values={name: each[-1] for name, each in values.items()}, history=values)
