"""File artifacts: the file or folder is copied in, and the loaded value's path points into the store.

It is named `content` and keeps its suffixes only: temporary files and folders have a new name each time, and
equal content must be equal. What a subclass holds beside the path is kept as JSON.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from flowc.errors import CodecError
from flowc.store.codecs.codec import Content, Draft, class_of, importable
from flowc.store.codecs.exact import plain
from flowc.types.artifacts import FileArtifact

_ATTRIBUTES = "attributes.json"


class FilesCodec:
    name = "files"

    def write(self, value: Any, draft: Draft) -> dict[str, Any] | None:
        if not isinstance(value, FileArtifact):
            return None
        _check(value)
        file = "content" + "".join(value.path.suffixes)
        target = draft.folder / file
        if value.path.is_dir():
            shutil.copytree(value.path, target, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(value.path, target)
        others = {name: item for name, item in vars(value).items() if name != "path"}
        if others:
            (draft.folder / _ATTRIBUTES).write_text(json.dumps(others, sort_keys=True))
        shown = {name: item for name, item in others.items() if isinstance(item, str | int | float)}
        return {**shown, "file": file, "name": value.path.name}

    def read(self, content: Content) -> Any:
        cls = class_of(content)
        value = cls.__new__(cls)
        attributes = content.folder / _ATTRIBUTES
        if attributes.exists():
            vars(value).update(json.loads(attributes.read_text()))
        value.path = next(path for path in content.folder.iterdir() if path.name != _ATTRIBUTES)
        return value


def _check(value: FileArtifact) -> None:
    kind = type(value).__name__
    if not importable(type(value)):
        raise CodecError(
            f"the class {kind} can't be imported by others", hint="define it in a module, at its top level"
        )
    if not value.path.exists():
        raise CodecError(
            f"{kind}: there is no file or folder at {value.path}", hint="write it before returning it"
        )
    broken = _broken_link(value.path)
    if broken:
        raise CodecError(f"{kind}: {broken} is a link to nothing", hint="remove it, or mend it")
    for name, item in vars(value).items():
        if name != "path" and not plain(item):
            raise CodecError(
                f"{kind}.{name} is a {type(item).__name__}, which can't be kept beside the file",
                hint="keep only texts, numbers, lists and dicts in the attributes of a file artifact",
            )


def _broken_link(path: Path) -> Path | None:
    return next((each for each in path.rglob("*") if each.is_symlink() and not each.exists()), None)
