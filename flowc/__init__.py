"""flowc compiles machine-learning work into typed pipelines, runs them and records what they made.

The public names are imported when first used, so that the command line starts fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowc.errors import ComponentError, FlowcError
    from flowc.python import component, pipeline
    from flowc.types.artifacts import (
        Anomalies,
        Artifact,
        Blessing,
        BytesArtifact,
        Dataset,
        Evaluation,
        FileArtifact,
        Html,
        Image,
        Metrics,
        Model,
        RecordArtifact,
        Schema,
        ServedModel,
        Statistics,
        TransformGraph,
    )
    from flowc.types.rows import Add, Drop, Rename, Select
    from flowc.workspace import workdir

__version__ = "0.1.0"

_HOMES = {
    "flowc.errors": ("ComponentError", "FlowcError"),
    "flowc.python": ("component", "pipeline"),
    "flowc.types.artifacts": (
        "Anomalies",
        "Artifact",
        "Blessing",
        "BytesArtifact",
        "Dataset",
        "Evaluation",
        "FileArtifact",
        "Html",
        "Image",
        "Metrics",
        "Model",
        "RecordArtifact",
        "Schema",
        "ServedModel",
        "Statistics",
        "TransformGraph",
    ),
    "flowc.types.rows": ("Add", "Drop", "Rename", "Select"),
    "flowc.workspace": ("workdir",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Add",
    "Anomalies",
    "Artifact",
    "Blessing",
    "BytesArtifact",
    "ComponentError",
    "Dataset",
    "Drop",
    "Evaluation",
    "FileArtifact",
    "FlowcError",
    "Html",
    "Image",
    "Metrics",
    "Model",
    "RecordArtifact",
    "Rename",
    "Schema",
    "Select",
    "ServedModel",
    "Statistics",
    "TransformGraph",
    "component",
    "pipeline",
    "workdir",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'flowc' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
