"""The diagnostic codes of writing pipelines in other forms, each with what it means."""

from __future__ import annotations

from typing import Final

PYTHON: Final = "FC601"
KUBEFLOW: Final = "FC602"

CODES: Final[dict[str, str]] = {
    PYTHON: "code of a notebook that has no form in a Python module that certainly means the same",
    KUBEFLOW: "something that Kubeflow Pipelines has no form for",
}
