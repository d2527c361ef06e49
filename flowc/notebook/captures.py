"""What a `%%capture` cell shows, kept under a name or for nobody, instead of shown; as IPython does it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any, TextIO

from flowc.notebook.displays import Displays


class Captures:
    """Begins and ends the captures of one step."""

    def __init__(self, displays: Displays) -> None:
        self._displays = displays
        self._end: Callable[[], Any] | None = None

    def begin(self, stdout: bool, stderr: bool, display: bool) -> None:
        """Capture these from here on."""
        streams: tuple[TextIO, TextIO] = sys.stdout, sys.stderr
        out, err = io.StringIO() if stdout else None, io.StringIO() if stderr else None
        sys.stdout, sys.stderr = out or sys.stdout, err or sys.stderr
        outputs: list[dict[str, Any]] | None = [] if display else None
        self._displays.captured = outputs

        def end() -> Any:
            self._displays.captured = None
            sys.stdout, sys.stderr = streams
            return out, err, outputs

        self._end = end

    def end_unnamed(self, value: Any = None) -> None:
        """End the capture with the value of the cell's last expression; nobody wants what was captured."""
        self._ended(value)

    def end(self, value: Any = None) -> Any:
        """End the capture with the value of the cell's last expression; return what IPython would."""
        from IPython.utils.capture import CapturedIO

        return CapturedIO(*self._ended(value))

    def _ended(self, value: Any) -> Any:
        self._displays.show_result(value)
        self._displays.end_cell()
        return self._release()

    def release(self) -> None:
        """End the capture of a cell that has failed."""
        self._release()

    def _release(self) -> Any:
        end, self._end = self._end, None
        return end() if end is not None else (None, None, None)
