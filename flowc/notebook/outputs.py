"""What a step's cells show, written down as it is shown: a worker that is killed leaves all that came before.

One line of JSON for each thing that happens, in a file of the attempt: a cell begins or ends, writes to a stream,
displays data (as nbformat has it), clears. `flowc.notebook.executed` makes a notebook of these.
"""

from __future__ import annotations

import base64
import io
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO

Kind = Literal["display_data", "execute_result"]
Stream = Literal["stdout", "stderr"]

# What is kept of one cell: characters of each stream, characters of one display, displays.
_LONGEST_STREAM = 1_000_000
_LARGEST_DISPLAY = 20_000_000
_MOST_DISPLAYS = 1_000


def outputs_of(log: Path) -> Path:
    """Return the file beside an attempt's log that its cells' outputs are written to."""
    return log.with_suffix(".outputs.jsonl")


def log_of(outputs: Path) -> Path:
    """Return the log that a file of outputs is beside."""
    return outputs.with_name(outputs.name.removesuffix(".outputs.jsonl") + ".log")


class OutputFile:
    """Writes down what the cells of one step show. Each line is in the file when the method returns."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor: int | None = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666
        )
        self._unseen: Unseen | None = None
        self._lock = threading.RLock()  # a step's threads write too
        self._cell: int | None = None
        self._left: dict[Stream, int] = {}
        self._displays = 0

    def watch(self, log: Path) -> None:
        """Keep what is written to the log by others than Python's streams as well, where that is our output."""
        self._unseen = Unseen.of(log)

    def begin(self, cell: int) -> None:
        """Note that a cell begins; what is shown from now on is its own."""
        self.take_unseen()
        self._cell = cell
        self._left = {"stdout": _LONGEST_STREAM, "stderr": _LONGEST_STREAM}
        self._displays = 0
        self._write({"event": "begin"})

    def end(self) -> None:
        """Note that the cell came to its end."""
        self.take_unseen()
        self._write({"event": "end"})
        self._cell = None

    def take_unseen(self) -> None:
        """Keep what C code and child processes have written since we looked last."""
        for name, text in self._unseen.take() if self._unseen is not None else ():
            self.stream(name, text)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let the block write to the log what is kept otherwise."""
        with self._lock:
            self.take_unseen()
            yield
            if self._unseen is not None:
                self._unseen.skip()

    def stream(self, name: Stream, text: str) -> None:
        """Keep what was written to a stream, up to a length."""
        left = self._left.get(name, 0)
        if self._cell is None or not text or left < 0:
            return
        self._left[name] = left - len(text)
        if len(text) > left:
            text = f"{text[:left]}\n[flowc keeps {_LONGEST_STREAM:,} characters of a cell's {name}; its log has all]\n"
            self._left[name] = -1
        self._write({"event": "stream", "name": name, "text": text})

    def display(
        self,
        kind: Kind,
        data: Mapping[str, Any],
        metadata: Mapping[str, Any],
        display_id: str | None = None,
        *,
        update: bool = False,
    ) -> None:
        """Keep a display; with `update`, in the place of the one that has this id."""
        if self._cell is None or not data:
            return
        if not update:
            self._displays += 1
            if self._displays > _MOST_DISPLAYS:
                return
            if self._displays == _MOST_DISPLAYS:
                data = {"text/plain": f"[flowc keeps {_MOST_DISPLAYS:,} displays of a cell]"}
        event = "update" if update else kind
        self._write(
            {"event": event, "id": display_id, "data": _bounded(_bundle(data)), "metadata": _json(metadata)}
        )

    def clear(self, *, wait: bool) -> None:
        """Note that the cell's outputs so far are to go; with `wait`, when the next one comes."""
        self._write({"event": "clear", "wait": wait})

    def close(self) -> None:
        """End the file; what threads of the step show later is not kept."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
        if self._unseen is not None:
            self._unseen.close()

    def _write(self, event: dict[str, Any]) -> None:
        if self._descriptor is None or self._cell is None:
            return
        line = json.dumps({"cell": self._cell, **event}) + "\n"
        os.write(self._descriptor, line.encode())  # in ASCII: any text is data, also a lone surrogate


class Unseen:
    """Finds in a log what was written to it by file descriptor: by C code, and by child processes.

    stdout and stderr are descriptors of their own on it, so each one's offset tells where it has written last.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._known = 0
        self.skip()

    @classmethod
    def of(cls, log: Path) -> Unseen | None:
        """Return one for a log, or None where this process's stdout and stderr do not go there."""
        try:
            file = log.stat()
            same = all(os.path.samestat(os.fstat(number), file) for number in (1, 2))
        except OSError:  # there is no log, or one of them is closed
            return None
        return cls(os.open(log, os.O_RDONLY | os.O_CLOEXEC)) if same else None

    def skip(self) -> None:
        """Take all that is there as known."""
        self._known = os.fstat(self._descriptor).st_size

    def take(self) -> Iterator[tuple[Stream, str]]:
        """Yield what is new, as far as it is to be kept, with the stream that it came by."""
        start, end = self._known, os.fstat(self._descriptor).st_size
        if end <= start:
            return
        self._known = end
        ends: list[tuple[int, Stream]] = sorted([(_offset(1), "stdout"), (_offset(2), "stderr")])
        for offset, name in ends:
            if start < offset <= end:
                length = min(offset - start, _LONGEST_STREAM * 4)
                yield name, os.pread(self._descriptor, length, start).decode(errors="backslashreplace")
                start = offset

    def close(self) -> None:
        os.close(self._descriptor)


def _offset(descriptor: int) -> int:
    try:
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:  # the step has closed it
        return -1


class CellStream(io.TextIOBase):
    """A stream of the step: what is written goes where it would go without us, and is kept."""

    def __init__(self, name: Stream, under: TextIO, outputs: OutputFile) -> None:
        self._name: Stream = name
        self._under = under
        self._outputs = outputs

    def write(self, text: str) -> int:
        with self._outputs.writing():
            written = self._under.write(text)
            self._outputs.stream(self._name, text)
        return written

    def flush(self) -> None:
        with self._outputs.writing():
            self._under.flush()

    def isatty(self) -> bool:
        return self._under.isatty()

    def fileno(self) -> int:
        return self._under.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # as the stream below has it
        return self._under.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._under.errors


def read_outputs(path: Path) -> Iterator[dict[str, Any]]:
    """Return the events that a file holds, in order; none where no cell began. A line cut short is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # the worker was killed in the middle of it
            continue
        if isinstance(event, dict) and "cell" in event and "event" in event:
            yield event


def _bundle(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a display's data as nbformat wants it: text, base64 for bytes, JSON where the type is one of JSON."""
    bundle = {str(mime): _content(str(mime), content) for mime, content in data.items()}
    kept = {mime: content for mime, content in bundle.items() if content is not None}
    return kept or {"text/plain": f"[data that is no text: {', '.join(bundle)}]"}


def _content(mime: str, content: Any) -> Any:
    if isinstance(content, bytes):
        return base64.b64encode(content).decode() + "\n"
    if mime.endswith("json"):
        return _json(content)
    return content if isinstance(content, str) else None


def _json(content: Any) -> Any:
    """Return content that JSON can hold; as text where it can't."""
    try:
        json.dumps(content)
    except (TypeError, ValueError, RecursionError):
        return (
            {str(key): repr(value) for key, value in content.items()}
            if isinstance(content, Mapping)
            else None
        )
    return content


def _bounded(bundle: dict[str, Any]) -> dict[str, Any]:
    size = len(json.dumps(bundle))
    if size <= _LARGEST_DISPLAY:
        return bundle
    kinds = ", ".join(bundle)
    text = bundle.get("text/plain", "")
    note = f"[an output of {size:,} characters, {kinds}: flowc keeps {_LARGEST_DISPLAY:,}]"
    return {"text/plain": f"{note}\n{text[:_LONGEST_STREAM]}"}
