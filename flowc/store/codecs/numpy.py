"""numpy arrays and scalars as .npy files, without pickle; arrays of objects and subclasses are pickled as a whole."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from flowc.store.codecs.codec import Content, Draft, is_a

if TYPE_CHECKING:
    import numpy as np

_FILE = "array.npy"
_SCALAR_KINDS = "biufcmM"


class NumpyCodec:
    name = "numpy"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        if is_a(value, "numpy", "generic") and value.dtype.kind in _SCALAR_KINDS:
            draft.document = _document(value)
            return {"value": str(value), "dtype": str(value.dtype)}
        if not (is_a(value, "numpy", "ndarray") and type(value).__name__ == "ndarray" and _kept(value.dtype)):
            return None
        import numpy as np

        np.save(draft.folder / _FILE, value, allow_pickle=False)
        return {"shape": list(value.shape), "dtype": str(value.dtype)}

    def read(self, content: Content) -> Any:
        import numpy as np

        if content.python_type == "numpy:ndarray":
            return np.load(content.folder / _FILE, allow_pickle=False)
        return np.load(io.BytesIO(content.document), allow_pickle=False)[()]


def _document(scalar: np.generic) -> bytes:
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, scalar, allow_pickle=False)
    return buffer.getvalue()


def _kept(dtype: np.dtype[Any]) -> bool:
    """Say whether a .npy file's header can say this dtype in full."""
    import numpy as np

    if dtype.hasobject or dtype.metadata is not None:
        return False
    header: Any = np.lib.format  # without types
    said = header.descr_to_dtype(header.dtype_to_descr(dtype))
    return bool(said == dtype)
