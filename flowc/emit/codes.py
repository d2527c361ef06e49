"""The diagnostic codes of writing pipelines in other forms; what they mean is in `pages/forms.toml`."""

from __future__ import annotations

from typing import Final

PYTHON: Final = "FC601"
KUBEFLOW: Final = "FC602"
