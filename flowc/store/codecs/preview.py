"""The few facts about a JSON value that are shown where there is no room for the value."""

from __future__ import annotations

import math
from typing import Any

_LIMIT = 1000


def preview(data: Any, text: bytes) -> dict[str, Any]:
    """Return a summary of a value: itself while its JSON text is short, else what it is and how long."""
    if len(text) <= _LIMIT:
        return {"value": _standard(data)}
    if isinstance(data, dict):
        return {"keys": [str(key)[:40] for key in list(data)[:10]], "length": len(data)}
    return {"length": len(data)} if isinstance(data, list | str) else {}


def _standard(data: Any) -> Any:
    """Write NaN and the infinities as texts: standard JSON has no numbers for them."""
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    if isinstance(data, list):
        return [_standard(item) for item in data]
    if isinstance(data, dict):
        return {str(key): _standard(item) for key, item in data.items()}
    return data
