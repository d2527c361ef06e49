"""What a task finds in its process, and what it leaves behind: nothing of the task that was there before it.

A warm worker keeps what is imported, for that is what makes it quick. All else that code may set for a whole process
is noted when a task begins and put back when it ends; what importing a library sets stays, as each process that
imports it would have it. So a result does not depend on which worker made it.
"""

from __future__ import annotations

import builtins
import decimal
import gc
import locale
import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader, SourcelessFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from flowc.engine.libraries import LIBRARIES
from flowc.engine.noted import Aspect, State, merged, same

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
_LOADERS = (SourceFileLoader, SourcelessFileLoader, ExtensionFileLoader)


@contextmanager
def own_surroundings(project: Path, *, forget_modules: bool) -> Iterator[None]:
    """Undo what the block does to the process, but for what importing libraries did.

    Modules of the project, which lie in its folder and outside of `site-packages`, count as the block's own code;
    with `forget_modules`, those that it imported are not there for the next.
    """
    watch = _Watch(project)
    loaded = set(sys.modules) if forget_modules else set()
    sys.meta_path.insert(0, watch)
    try:
        yield
    finally:
        if watch in sys.meta_path:
            sys.meta_path.remove(watch)
        watch.restore()
        for name in set(sys.modules) - loaded if forget_modules else ():
            if watch.is_own(getattr(sys.modules[name], "__file__", None)):
                del sys.modules[name]


class _Watch(MetaPathFinder):
    """Notes how things are, and what each import of a library that is not part of another one changes."""

    def __init__(self, project: Path) -> None:
        self._project = f"{project}{os.sep}"
        self._importing = False
        self._noted: dict[Aspect, State] = {}
        self._note_new()

    def restore(self) -> None:
        for aspect, state in self._noted.items():
            if not same(aspect.note(), state):
                aspect.restore(state)
        with warnings.catch_warnings():
            pass  # entering and leaving it lets warnings that are shown once be shown again

    def _note_new(self) -> None:
        for aspect in (*_PROCESS, *LIBRARIES):
            if aspect not in self._noted and (aspect.module is None or aspect.module in sys.modules):
                self._noted[aspect] = aspect.note()

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if self._importing:
            return None
        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        found = (finder.find_spec(name, path, target) for finder in others[self._position(others) :])
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and isinstance(spec.loader, _LOADERS) and not self.is_own(spec.origin):
            self._watch(spec.loader)
        return spec

    def _position(self, others: list[Any]) -> int:
        """Return how many of the other finders come before us, and so have been asked."""
        before = sys.meta_path[: sys.meta_path.index(self)] if self in sys.meta_path else []
        return sum(finder in before for finder in others)

    def is_own(self, file: str | None) -> bool:
        """Say whether a file is one of the project's own modules."""
        return (
            file is not None
            and file.startswith(self._project)
            and f"{os.sep}site-packages{os.sep}" not in file
        )

    def _watch(self, loader: Any) -> None:
        execute = loader.exec_module

        def executed(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)
            if self._importing:
                execute(module)
                return
            before = {aspect: aspect.note() for aspect in self._noted}
            self._importing = True
            try:
                execute(module)
            finally:
                self._importing = False
            for aspect, state in before.items():
                self._noted[aspect] = merged(self._noted[aspect], state, aspect.note())
            self._note_new()

        loader.exec_module = executed


def _note_environment() -> State:
    return dict(os.environb)  # in bytes, as it is: to decode it would be most of a small task's cost


def _restore_environment(state: State) -> None:
    zone = os.environ.get("TZ")
    os.environb.clear()
    os.environb.update(state)
    if os.environ.get("TZ") != zone:
        time.tzset()


def _restore_path(state: State) -> None:
    sys.path[:] = state


def _restore_filters(state: State) -> None:
    filters: Any = warnings.filters
    filters[:] = state


def _note_logging() -> State:
    root = logging.root
    loggers = {n: each for n, each in root.manager.loggerDict.items() if isinstance(each, logging.Logger)}
    noted: dict[Any, Any] = {name: _logger(each) for name, each in {"": root, **loggers}.items()}
    return {None: root.manager.disable, **noted}


def _logger(logger: logging.Logger) -> tuple[Any, ...]:
    return logger.level, logger.disabled, logger.propagate, tuple(logger.handlers), tuple(logger.filters)


def _restore_logging(state: State) -> None:
    assert isinstance(state, dict)
    for name in _note_logging():
        if name is None:
            logging.disable(state[None])
            continue
        logger = logging.getLogger(name)
        level, disabled, propagate, handlers, filters = state.get(name, (logging.NOTSET, False, True, (), ()))
        logger.setLevel(level)
        logger.disabled, logger.propagate = disabled, propagate
        logger.handlers[:], logger.filters[:] = handlers, filters


def _restore_builtins(state: State) -> None:
    names = vars(builtins)
    names.update(state)  # first: all code needs them
    for name in [name for name in names if name not in state]:
        del names[name]


def _note_signals() -> State:
    return {number: signal.getsignal(number) for number in _SIGNALS}


def _restore_signals(state: State) -> None:
    assert isinstance(state, dict)
    if threading.current_thread() is threading.main_thread():
        signal.alarm(0)
        for number, handler in state.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@dataclass(frozen=True, slots=True)
class _Setting:
    read: Callable[[], Any]
    write: Callable[[Any], Any]


_SETTINGS = {
    "folder": _Setting(os.getcwd, os.chdir),
    "recursion": _Setting(sys.getrecursionlimit, sys.setrecursionlimit),
    "digits": _Setting(
        lambda: decimal.getcontext().prec, lambda to: setattr(decimal.getcontext(), "prec", to)
    ),
    "locale": _Setting(
        lambda: locale.setlocale(locale.LC_ALL), lambda to: locale.setlocale(locale.LC_ALL, to)
    ),
    "gc": _Setting(gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    "excepthook": _Setting(lambda: sys.excepthook, lambda hook: setattr(sys, "excepthook", hook)),
}


def _note_settings() -> State:
    return {name: setting.read() for name, setting in _SETTINGS.items()}


def _restore_settings(state: State) -> None:
    assert isinstance(state, dict)
    for name, value in state.items():
        if _SETTINGS[name].read() != value:
            _SETTINGS[name].write(value)


_PROCESS = (
    Aspect(None, _note_environment, _restore_environment),
    Aspect(None, lambda: list(sys.path), _restore_path),
    Aspect(None, lambda: list(warnings.filters), _restore_filters),
    Aspect(None, _note_logging, _restore_logging),
    Aspect(None, lambda: dict(vars(builtins)), _restore_builtins),
    Aspect(None, _note_signals, _restore_signals),
    Aspect(None, _note_settings, _restore_settings),
)
