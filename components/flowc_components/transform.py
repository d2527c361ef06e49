"""Raw columns become what a model learns from. Fitted on the training split alone, saved as one Keras graph.

The graph (imputation, then Keras FeatureSpace) becomes part of the trained and of the served model, so that
training and serving can't differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from flowc import ComponentError, Dataset, TransformGraph, component, workdir
from flowc.errors import did_you_mean
from flowc.frozen import Frozen
from flowc_components.keras_files import keras, raw_kinds, run_model, save_model
from flowc_components.tensors import RawColumns, raw_columns

if TYPE_CHECKING:
    import pyarrow as pa

FeatureKind = Literal[
    "float",
    "float_normalized",
    "float_discretized",
    "integer_categorical",
    "integer_hashed",
    "string_categorical",
    "string_hashed",
]
_FILE = "transform.keras"
_BATCH = 4096
# A missing integer is a category of its own. No integer that a double holds exactly is as small.
_MISSING_INTEGER = -(2.0**63)


class Feature(Frozen):
    """How a column is encoded. `kind` alone stands for a Feature with its defaults.

    `bins` counts the bins of discretised and hashed columns. `max_categories` keeps the most frequent ones.
    `fill` replaces missing numbers of the float kinds; without it the training split's mean does.
    """

    kind: FeatureKind
    bins: int = Field(default=10, ge=2)
    max_categories: int | None = Field(default=None, ge=1)
    fill: float | None = None


@component(role="transform")
def transform(train: Dataset, features: dict[str, FeatureKind | Feature]) -> TransformGraph:
    """Fit the encoding of the named columns on the training split.

    Missing values: a number of a float kind becomes the column's mean (or `fill`), an infinite one too once
    fitted; for categorical kinds, missing is a category, and one never seen in training is another. Raises
    ComponentError for a column that is not there, of another kind, constant, all missing or infinite.
    """
    chosen = {name: _feature(name, spec) for name, spec in features.items()}
    if not chosen:
        raise ComponentError("transform was given no features", hint="name columns and how each is encoded")
    columns = raw_columns(train.table, {name: _raw_kind(each) for name, each in chosen.items()})
    _refuse_useless(chosen, columns)
    path = workdir() / _FILE
    save_model(_fitted(chosen, columns), path)
    return TransformGraph(path)


def _feature(name: str, spec: str | Feature) -> Feature:
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name) is None:
        raise ComponentError(
            f"TensorFlow can't take a column named '{name}'",
            hint="rename it: letters, digits and the signs _ . - of which only a letter or digit comes first",
        )
    if isinstance(spec, Feature):
        return spec
    kinds = FeatureKind.__args__  # type: ignore[attr-defined]  # a Literal's values
    if spec not in kinds:
        hint = did_you_mean(str(spec), kinds) or f"the kinds are: {', '.join(kinds)}"
        raise ComponentError(f"column '{name}': there is no kind of feature {spec!r}", hint=hint)
    return Feature(kind=spec)  # type: ignore[arg-type]  # it is among the kinds


def _raw_kind(feature: Feature) -> Literal["number", "text"]:
    return "text" if feature.kind.startswith("string") else "number"


def _refuse_useless(features: Mapping[str, Feature], columns: RawColumns) -> None:
    faults = {name: _fault(feature.kind, columns[name]) for name, feature in features.items()}
    lines = [f"column '{name}' {fault}" for name, fault in faults.items() if fault is not None]
    if lines:
        raise ComponentError(
            "a model can't learn from the training split's columns as they are:\n  " + "\n  ".join(lines),
            hint="leave these columns out of the features, or mend the data",
        )


def _fault(kind: FeatureKind, column: Any) -> str | None:
    import numpy as np

    text = kind.startswith("string")
    missing = column == b"" if text else np.isnan(column)
    if missing.all():
        return f"has no value: all {len(column)} rows are missing"
    present = column[~missing]
    if not text and (infinite := int(np.isinf(present).sum())):
        return f"holds {infinite} infinite value(s) in {len(column)} rows"
    if kind.startswith("integer") and (broken := int((present % 1 != 0).sum())):
        return f"holds {broken} value(s) that are no integers in {len(column)} rows, and is to be {kind}"
    # Where missing is no category of its own, what is filled in tells nothing either.
    if (present == present[0]).all() and (kind.startswith("float") or not missing.any()):
        value = present[0].decode() if text else float(present[0])
        return f"is constant: {value!r} in all {len(present)} rows that have a value"
    return None


def _fitted(features: Mapping[str, Feature], columns: RawColumns) -> Any:
    """Return a Keras model from raw columns, each of shape [rows, 1], to encoded features [rows, width]."""
    import tensorflow as tf

    keras().backend.clear_session()  # names of layers count up from the process's start; the file holds them
    raw = {
        name: keras().Input(shape=(1,), dtype="string" if column.dtype == object else "float64", name=name)
        for name, column in columns.items()
    }
    imputed = {name: _imputed(raw[name], features[name], columns[name]) for name in features}
    complete = keras().Model(raw, imputed)(
        {name: tf.constant(each)[:, None] for name, each in columns.items()}
    )
    space = keras().utils.FeatureSpace({name: _spec(name, each) for name, each in features.items()})
    space.adapt(tf.data.Dataset.from_tensor_slices(complete).batch(_BATCH))
    encoder = keras().Model(space.get_inputs(), space.get_encoded_features())
    return keras().Model(raw, encoder(imputed), name="transform")


def _imputed(raw: Any, feature: Feature, column: Any) -> Any:
    import numpy as np

    ops = keras().ops
    if feature.kind.startswith("string"):
        return raw  # an empty text is a category like any other
    if feature.kind.startswith("integer"):
        return ops.cast(ops.where(ops.isfinite(raw), raw, _MISSING_INTEGER), "int64")
    fill = float(np.nanmean(column)) if feature.fill is None else feature.fill
    return ops.cast(ops.where(ops.isfinite(raw), raw, fill), "float32")


def _spec(name: str, feature: Feature) -> Any:
    space, layers = keras().utils.FeatureSpace, keras().layers
    match feature.kind:
        case "float":
            return space.float(name=name)
        case "float_normalized":
            return space.float_normalized(name=name)
        case "float_discretized":
            return space.float_discretized(num_bins=feature.bins, name=name)
        case "string_categorical":
            return space.string_categorical(max_tokens=_max_tokens(feature), name=name)
        case "string_hashed":
            return space.string_hashed(num_bins=feature.bins, name=name)
        case "integer_categorical":
            lookup = layers.IntegerLookup(max_tokens=_max_tokens(feature), name=f"{name}_preprocessor")
        case "integer_hashed":
            lookup = layers.Hashing(num_bins=feature.bins, name=f"{name}_preprocessor")
    # FeatureSpace's own integer kinds are int32, too small for census tracts and identifiers.
    return space.feature(dtype="int64", preprocessor=lookup, output_mode="one_hot")


def _max_tokens(feature: Feature) -> int | None:
    """Return the vocabulary's limit with the place for unseen categories counted, as Keras does."""
    return None if feature.max_categories is None else feature.max_categories + 1


def encode(transformed: Any, table: pa.Table) -> Any:
    """Return the encoded features of a table's rows by a loaded transform graph, as float32 [rows, width]."""
    return run_model(transformed, raw_columns(table, raw_kinds(transformed)))
