"""How a step shows values: as a kernel would, by IPython's own formatters, without a kernel.

IPython takes half a second to import, and most steps show nothing, or a number. So it is started when it is first
needed: by a value that is more than a number or a text, or by anything that imports it, as matplotlib's inline
backend does. Until then, a stand-in answers to `get_ipython()`; libraries ask it whether they are in a notebook.
"""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flowc.notebook.outputs import Kind, OutputFile

# Values of which IPython's text is the repr, and which have no other form.
_PLAIN = (bool, int, float, complex, str, bytes)
_ABSENT = object()


class Displays:
    """Shows the values of one step: as text on stdout and, where there is a file for it, in all their forms there."""

    def __init__(self, module: types.ModuleType, outputs: OutputFile | None) -> None:
        self._module = module
        self._outputs = outputs
        # What `%%capture` keeps of what is displayed, while it does; as IPython keeps it.
        self.captured: list[dict[str, Any]] | None = None
        # A display is for the log as well, but is no part of what the cell writes to stdout.
        self._log = sys.stdout
        self._shell: Any = None
        self._before: dict[str, Any] = {}

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let code find what it finds in a kernel: `display`, `get_ipython`, and in IPython itself, this step."""
        found = {"get_ipython": self._get_ipython, "display": self.display, "__IPYTHON__": True}
        before = {name: getattr(builtins, name, _ABSENT) for name in found}
        watch = _Watch(self._start)
        sys.meta_path.insert(0, watch)
        vars(builtins).update(found)
        if "IPython" in sys.modules:
            self._start()
        try:
            yield
        finally:
            self._leave_shell()
            if watch in sys.meta_path:
                sys.meta_path.remove(watch)
            for name, value in before.items():
                _restore(name, value)

    def show_result(self, value: Any) -> None:
        """Show the value of a cell's last expression."""
        if value is None:
            return
        if self._outputs is None or type(value) in _PLAIN or not _has_ipython():
            self._publish("execute_result", {"text/plain": repr(value)}, {})
            return
        data, metadata = self._start().display_formatter.format(value)
        self._publish("execute_result", data, metadata)

    def display(self, *values: Any, **options: Any) -> Any:
        """Show values as IPython's `display` does."""
        if not _has_ipython() or (not options and all(type(value) in _PLAIN for value in values)):
            for value in values:
                self._publish("display_data", {"text/plain": repr(value)}, {})
            return None
        self._start()
        from IPython.display import display

        return display(*values, **options)  # type: ignore[no-untyped-call]

    def show_content(self, kind: str, mime: str, content: str) -> None:
        """Show what a cell such as `%%html` holds, as IPython's class of this name does."""
        self._publish(
            "display_data", {mime: content, "text/plain": f"<IPython.core.display.{kind} object>"}, {}
        )

    def end_cell(self) -> None:
        """Do what waits for a cell's end, as showing the figures that it drew does."""
        if self._shell is not None:
            self._shell.events.trigger("post_execute")

    def publish(
        self, data: dict[str, Any], metadata: dict[str, Any] | None, display_id: str | None, update: bool
    ) -> None:
        """Take what IPython was asked to display."""
        if self.captured is not None:
            transient = {"display_id": display_id} if display_id is not None else {}
            self.captured.append(
                {"data": data, "metadata": metadata, "transient": transient, "update": update}
            )
            return
        if self._outputs is not None:
            self._outputs.display("display_data", data, metadata or {}, display_id, update=update)
        self._print(data)

    def clear(self, wait: bool) -> None:
        """Take that the cell's outputs are to be cleared."""
        if self.captured is not None:
            self.captured.clear()
            return
        if self._outputs is not None:
            self._outputs.clear(wait=wait)

    def _publish(self, kind: Kind, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        if self.captured is not None:
            more = {"transient": {}, "update": False} if kind == "display_data" else {}
            self.captured.append({"data": data, "metadata": metadata, **more})
            return
        if self._outputs is not None:
            self._outputs.display(kind, data, metadata)
        self._print(data)

    def _print(self, data: dict[str, Any]) -> None:
        text = data.get("text/plain")
        if text is None:
            return
        if self._outputs is None:
            self._log.write(f"{text}\n")
            return
        with self._outputs.writing():
            self._log.write(f"{text}\n")
            self._log.flush()

    def _get_ipython(self) -> Any:
        return self._shell or _StandIn(self._start)

    def _start(self) -> Any:
        """Return IPython's shell, which is this step's until its end."""
        if self._shell is None:
            self._shell = _shell()
            ours = {
                "display_pub": _publisher(self._shell, self),
                "user_module": self._module,
                "user_ns": vars(self._module),
            }
            self._before = {name: getattr(self._shell, name) for name in ours}
            _set(self._shell, ours)
        return self._shell

    def _leave_shell(self) -> None:
        if self._shell is not None:
            _set(self._shell, self._before)
            self._shell = None


def _has_ipython() -> bool:
    return "IPython" in sys.modules or importlib.util.find_spec("IPython") is not None


def _set(shell: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(shell, name, value)


def _restore(name: str, value: Any) -> None:
    if value is _ABSENT:
        vars(builtins).pop(name, None)
    else:
        setattr(builtins, name, value)


class _StandIn:
    """What `get_ipython()` gives until IPython is started. Libraries look at the type's name and for a kernel."""

    kernel = None

    def __init__(self, start: Any) -> None:
        self._start = start

    def __getattr__(self, name: str) -> Any:
        return getattr(self._start(), name)


_StandIn.__name__ = _StandIn.__qualname__ = "ZMQInteractiveShell"


class _Watch(importlib.abc.MetaPathFinder):
    """Starts the shell once IPython has been imported, before who imported it asks for the shell."""

    def __init__(self, start: Any) -> None:
        self._start = start

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  # the protocol's
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "IPython":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: types.ModuleType) -> None:
                execute(module)
                self._start()

            spec.loader.exec_module = executed  # type: ignore[method-assign]  # of this one loader
        return spec


def _shell() -> Any:
    """Return this process's shell: that of the notebook which we run in, or one without history and files."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    if InteractiveShell.initialized():
        return InteractiveShell.instance()

    # Libraries decide by this name whether they are in a notebook.
    class ZMQInteractiveShell(InteractiveShell):
        kernel = None

        def init_ipython_dir(self, ipython_dir: str | None) -> None: ...

        def init_profile_dir(self, profile_dir: str | None) -> None: ...

        def init_virtualenv(self) -> None: ...

    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    # What the shell puts into its first namespace is not the step's.
    own = types.ModuleType("__flowc_shell__")
    return ZMQInteractiveShell.instance(config=config, user_module=own, user_ns=vars(own))


def _publisher(shell: Any, displays: Displays) -> Any:
    from IPython.core.displaypub import DisplayPublisher

    class Publisher(DisplayPublisher):
        def publish(
            self,
            data: dict[str, Any],
            metadata: dict[str, Any] | None = None,
            *_source: Any,
            transient: dict[str, Any] | None = None,
            update: bool = False,
            **_more: Any,
        ) -> None:
            displays.publish(data, metadata, (transient or {}).get("display_id"), update)

        def clear_output(self, wait: bool = False) -> None:
            displays.clear(wait)

    return Publisher(parent=shell, shell=shell)  # type: ignore[no-untyped-call]
