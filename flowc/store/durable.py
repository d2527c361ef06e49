"""Files that are either there as a whole or not at all, also after a crash; and what to say when a disk refuses."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from flowc.errors import StoreError

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_REFUSED = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
_TAKEN = frozenset((errno.ENOTEMPTY, errno.EEXIST))


def seal(folder: Path) -> int:
    """Make every file under a folder read-only, bring all to the disk, and return their size in bytes.

    Folders stay writable: nobody could remove `.flowc` with `rm -r` otherwise.
    """
    size = 0
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            path = Path(parent, name)
            path.chmod(0o444)
            size += path.stat().st_size
            sync(path)
        sync(Path(parent))
    return size


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def place(finished: Path, final: Path) -> bool:
    """Give a sealed folder its final name in one step; return False, and do nothing, where one is there already."""
    try:
        final.parent.mkdir()
    except FileExistsError:
        pass
    else:
        sync(final.parent.parent)
    try:
        finished.rename(final)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        return False
    sync(final.parent)
    return True


def refusal(error: OSError, action: str, path: Path) -> StoreError:
    """Return the error to raise for what the system refused: `action` as in "can't store an artifact"."""
    if _is_full(error, path):
        return StoreError(
            f"{action}: no space left on the disk that holds {path}",
            hint="free some space there, or keep the project's .flowc folder on a larger disk; then run again",
        )
    if error.errno in _REFUSED:
        return StoreError(
            f"{action}: no permission for {path} ({error.strerror})",
            hint="let this user read and write the folder, then run again",
        )
    return StoreError(f"{action}: {error.strerror or error}", hint=f"look at {path}, then run again")


def _is_full(error: OSError, path: Path) -> bool:
    if error.errno is not None:
        return error.errno in _FULL
    # numpy and h5py report a full disk without its number.
    folder = next(parent for parent in (path, *path.parents) if parent.exists())
    return os.statvfs(folder).f_bavail == 0
