"""The standard parts of a production pipeline, as plain decorated functions.

Each is used three ways: in a `@pipeline`, in a notebook cell, in a test as an ordinary call. What a component
needs beyond Arrow (TensorFlow, TensorFlow Data Validation) is imported when it is called.
"""

from flowc_components.evaluate import evaluate
from flowc_components.ingest import ingest
from flowc_components.predict import predict
from flowc_components.serve import serve
from flowc_components.split import split
from flowc_components.train import train
from flowc_components.transform import Feature, FeatureKind, transform
from flowc_components.validate import validate

__all__ = [
    "Feature",
    "FeatureKind",
    "evaluate",
    "ingest",
    "predict",
    "serve",
    "split",
    "train",
    "transform",
    "validate",
]
