"""An artifact's identity: one SHA-256 over what it is (codec and Python type) and the files that hold it.

The type counts because the same bytes may stand for two values (the path "a" and the text "a"), and a task that
was given the one must not be taken for a task that was given the other. Times, owners and modes don't count.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

_FORMAT = b"flowc artifact 1"
# The name of the file of a value that is one document.
DOCUMENT = "value"


def document_digest(codec: str, python_type: str, content: bytes) -> str:
    """Return the digest of a value that is one document, held in memory."""
    return _digest(codec, python_type, [(DOCUMENT, hashlib.sha256(content).digest())])


def folder_digest(codec: str, python_type: str, folder: Path) -> str:
    """Return the digest of a value whose files lie in a folder; for one document in it, that of the document."""
    return _digest(codec, python_type, _entries(str(folder), ""))


def _entries(folder: str, prefix: str) -> Iterable[tuple[str, bytes | None]]:
    with os.scandir(folder) as found:
        for entry in found:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield name, None
                yield from _entries(entry.path, name + "/")
            else:
                with Path(entry.path).open("rb") as file:
                    yield name, hashlib.file_digest(file, "sha256").digest()


def _digest(codec: str, python_type: str, entries: Iterable[tuple[str, bytes | None]]) -> str:
    whole = hashlib.sha256(_FORMAT)
    for word in (codec, python_type):
        _add(whole, word.encode())
    for name, content in sorted((os.fsencode(name), content) for name, content in entries):
        whole.update(b"folder" if content is None else b"file")
        _add(whole, name)
        whole.update(content or b"")
    return whole.hexdigest()


def _add(whole: hashlib._Hash, word: bytes) -> None:
    # With its length before it, no two sequences of words give the same bytes.
    whole.update(len(word).to_bytes(8, "big"))
    whole.update(word)
