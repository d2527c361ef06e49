"""What a step's cells show, written down as it is shown: a worker that is killed leaves all that came before.

One line of JSON for each thing that happens, in a file of the attempt: a cell begins or ends, writes to a stream,
displays data (as nbformat has it), clears. `flowc.notebook.executed` makes a notebook of these.
"""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Iterator, Mapping
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


class OutputFile:
    """Writes down what the cells of one step show. Each line is in the file when the method returns."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor: int | None = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666
        )
        self._cell: int | None = None
        self._left: dict[Stream, int] = {}
        self._displays = 0

    def begin(self, cell: int) -> None:
        """Note that a cell begins; what is shown from now on is its own."""
        self._cell = cell
        self._left = {"stdout": _LONGEST_STREAM, "stderr": _LONGEST_STREAM}
        self._displays = 0
        self._write({"event": "begin"})

    def end(self) -> None:
        """Note that the cell came to its end."""
        self._write({"event": "end"})
        self._cell = None

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

    def _write(self, event: dict[str, Any]) -> None:
        if self._descriptor is None or self._cell is None:
            return
        line = json.dumps({"cell": self._cell, **event}) + "\n"
        os.write(self._descriptor, line.encode())  # in ASCII: any text is data, also a lone surrogate


class CellStream(io.TextIOBase):
    """A stream of the step: what is written goes where it would go without us, and is kept."""

    def __init__(self, name: Stream, under: TextIO, outputs: OutputFile) -> None:
        self._name: Stream = name
        self._under = under
        self._outputs = outputs

    def write(self, text: str) -> int:
        written = self._under.write(text)
        self._outputs.stream(self._name, text)
        return written

    def flush(self) -> None:
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
