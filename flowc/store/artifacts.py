"""The artifact store: values by the digest of their content, in a folder that worker processes share.

artifacts/ab/cdef.../   an artifact's files, complete and read-only, named by its digest
artifacts/tmp/          what is being written; renamed into place when it is complete
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from flowc.errors import CodecError, FlowcError, StoreError
from flowc.store.code import project_code
from flowc.store.codecs.codec import Content, Draft
from flowc.store.codecs.registry import Codecs
from flowc.store.declared import as_declared
from flowc.store.digest import DOCUMENT, document_digest, folder_digest
from flowc.store.durable import place, refusal, seal
from flowc.store.owner import Owner
from flowc.store.stored import Stored
from flowc.types.model import Type, short_name
from flowc.types.names import ref_of

INLINE_LIMIT = 2048
_TEMPORARY = "tmp"
_AGAIN = "run the pipeline again: what is missing or damaged is made anew"


class ArtifactStore:
    """Saves and loads values. It needs its folder and nothing else, and touches it only when used."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._codecs = Codecs()
        self._intact: set[str] = set()

    def save(self, value: Any, type_: Type) -> Stored:
        """Store a value that was declared to be of a type.

        Raises CodecError where it isn't of that type or can't be stored, ComponentError where a table lacks the
        columns of its type, StoreError where the disk refuses.
        """
        with self._explained(f"can't save a {type(value).__name__}"):
            value = as_declared(value, type_)
        for codec in self._codecs.in_order():
            with self._draft(value, type_) as draft:
                summary = codec.write(value, draft)
                if summary is not None:
                    draft.code.add(type(value))
                    return self._kept(draft, codec.name, ref_of(type(value)), summary)
        raise CodecError(f"no codec stores a value of type {ref_of(type(value))}")

    def load(self, stored: Stored, type_: Type) -> Any:
        """Return a stored value in the form that its reader declared; files are verified once by each store object.

        Raises StoreError where the artifact is missing or damaged, CodecError where it can't be read. One that is
        damaged is put away: the next run does not find it, and makes it anew.
        """
        codec = self._codecs.named(stored.codec)
        if stored.inline is not None or stored.digest not in self._intact:
            self._verify_or_put_away(stored)
        content = Content(type_, stored.python_type, self.path(stored.digest), stored.inline)
        try:
            with self._explained(f"can't load a {short_name(stored.python_type)}"):
                return as_declared(codec.read(content), type_)
        except (CodecError, StoreError):
            self._verify_or_put_away(stored)  # it may have been damaged since we looked
            raise

    def path(self, digest: str) -> Path:
        """Return the folder of an artifact's files, there or not."""
        return self.root / digest[:2] / digest[2:]

    def has(self, stored: Stored) -> bool:
        """Say whether the artifact is there, unverified."""
        return stored.inline is not None or self.path(stored.digest).is_dir()

    def verify(self, stored: Stored) -> None:
        """Check that the artifact is there and is what its digest says; StoreError if not."""
        folder = self.path(stored.digest)
        if not self.has(stored):
            raise StoreError(f"the artifact {stored.digest[:12]} is missing from {folder}", hint=_AGAIN)
        with self._explained("can't read an artifact"):
            if stored.inline is not None:
                found = document_digest(stored.codec, stored.python_type, stored.inline)
            else:
                found = folder_digest(stored.codec, stored.python_type, folder)
        if found != stored.digest:
            raise StoreError(f"the artifact {stored.digest[:12]} is damaged: {folder}", hint=_AGAIN)
        if stored.inline is None:
            self._intact.add(stored.digest)

    def remove_leftovers(self) -> None:
        """Remove what processes that are gone from this host had not finished writing."""
        for folder in (self.root / _TEMPORARY).glob("*~*~*~*"):
            host, pid, started, _ = folder.name.rsplit("~", 3)
            if Owner(host, int(pid), started).alive() is False:
                shutil.rmtree(folder, ignore_errors=True)

    def _kept(self, draft: Draft, codec: str, python_type: str, summary: dict[str, Any]) -> Stored:
        document, code = draft.document, project_code(draft.code)
        if document is not None and len(document) <= INLINE_LIMIT:
            digest = document_digest(codec, python_type, document)
            return Stored(digest, codec, python_type, len(document), document, summary, code)
        if document is not None:
            (draft.folder / DOCUMENT).write_bytes(document)
        size = seal(draft.folder)
        stored = Stored(
            folder_digest(codec, python_type, draft.folder), codec, python_type, size, None, summary, code
        )
        self._place(draft.folder, stored)
        return stored

    def _place(self, finished: Path, stored: Stored) -> None:
        final = self.path(stored.digest)
        if not place(finished, final) and stored.digest not in self._intact:
            try:
                self.verify(stored)
            except StoreError:
                self._put_away(stored)
                place(finished, final)
        self._intact.add(stored.digest)

    def _verify_or_put_away(self, stored: Stored) -> None:
        try:
            self.verify(stored)
        except StoreError:
            self._intact.discard(stored.digest)
            if stored.inline is None:
                self._put_away(stored)
            raise

    def _put_away(self, damaged: Stored) -> None:
        """Move an artifact away as a whole: others may still have it open. It goes when this process is gone."""
        folder = self._temporary()
        folder.mkdir(parents=True)
        with suppress(OSError):  # it may be gone, or another process quicker
            self.path(damaged.digest).rename(folder / "damaged")

    def _temporary(self) -> Path:
        """Return a folder for this process alone, not made yet."""
        owner = Owner.current()
        return self.root / _TEMPORARY / f"{owner.host}~{owner.pid}~{owner.started}~{uuid.uuid4().hex}"

    @contextmanager
    def _draft(self, value: Any, type_: Type) -> Iterator[Draft]:
        """Give a codec a place of its own to write to; nothing is left of it afterwards."""
        temporary: list[Path] = []

        def make_folder() -> Path:
            temporary.append(self._temporary())
            folder = temporary[0] / "content"
            folder.mkdir(parents=True)
            return folder

        try:
            with self._explained(f"can't save a {type(value).__name__}"):
                yield Draft(type_, make_folder)
        finally:
            for folder in temporary:
                shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _explained(self, action: str) -> Iterator[None]:
        """Turn what a library or the system raises into an error for people."""
        try:
            yield
        except FlowcError:
            raise
        except OSError as error:
            raise refusal(error, action, self.root) from error
        except Exception as error:  # whatever the library behind a codec raises
            raise CodecError(f"{action}: {type(error).__name__}: {error}") from error
