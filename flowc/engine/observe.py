"""What a task touches outside its inputs, seen by an audit hook (PEP 578): files that it opens, folders that it lists,
connections that it makes, programs that it starts.

Files are inputs as arguments are: an edit of one means that the task has to run again. What is opened by libraries in
C is not seen here; files that the code names by text are watched for that reason, whoever opens them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flowc.runner import Observed
from flowc.store.files import MISSING, FileDigests, FileState

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SYSTEM = ("/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/", "/run/", "/var/", "/opt/", "/bin/", "/sbin/")
_HOME = (".cache", ".config", ".local", ".matplotlib", ".ipython", ".jupyter", ".nv", ".triton")
_INSTALLED = ("/site-packages/", "/dist-packages/", "/__pycache__/")
_CODE = (".py", ".pyc", ".pyi", ".so")
_IMPORTING = ("<frozen importlib._bootstrap_external>", "<frozen importlib._bootstrap>")
# What libraries ask of the machine; none of it says anything of data.
_HARMLESS = frozenset(
    (
        "uname",
        "lscpu",
        "ldconfig",
        "fc-list",
        "gcc",
        "cc",
        "ld",
        "objdump",
        "nvidia-smi",
        "sysctl",
        "getconf",
        "file",
    )
)
_MOST_FILES = 10_000


@dataclass(slots=True)
class _Use:
    """How a file was used; `before` is its state when it was first touched."""

    before: FileState | None
    read: bool = False
    wrote: bool = False
    read_first: bool = False


@dataclass(slots=True)
class Observer:
    """Takes note of what one task touches. `root` is the project's, `given` the paths that it has as arguments."""

    root: str
    store: str
    given: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    _files: dict[str, _Use] = field(default_factory=dict)
    _listed: dict[str, str] = field(default_factory=dict)
    _outside: list[str] = field(default_factory=list)
    _wrote_given: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for path in self.watched:
            if not self._is_given(path):
                self._files[path] = _Use(FileState.of(path), read=True, read_first=True)

    def opened(self, path: str, *, writes: bool, reads: bool) -> None:
        """Note that a file is about to be opened."""
        if writes and self._is_given(path):
            self._wrote_given.add(path)
        if not self._counts(path):
            return
        use = self._files.get(path)
        if use is None:
            use = self._files[path] = _Use(FileState.of(path))
        use.read_first = use.read_first or (reads and not use.wrote and use.before is not None)
        use.read = use.read or reads
        use.wrote = use.wrote or writes

    def listed(self, folder: str, digests: FileDigests) -> None:
        """Note that the names in a folder are about to be read."""
        if folder not in self._listed and self._counts(folder + "/"):
            self._listed[folder] = digests.names_in(Path(folder))

    def reached_outside(self, what: str) -> None:
        """Note that the task did something whose outcome no file tells."""
        if len(self._outside) < 10:
            self._outside.append(what)

    def result(self, digests: FileDigests) -> Observed:
        """Return what the task's results depend on, and why they may not be repeatable, if so."""
        files: dict[str, str] = {}
        reasons = list(self._outside)
        if len(self._files) > _MOST_FILES:
            reasons.append(
                f"it opened more than {_MOST_FILES:,} files by itself: give their folder as a Path"
            )
        code = _module_files() if any(path.endswith(_CODE) for path in self._files) else frozenset()
        for path, use in list(self._files.items())[:_MOST_FILES]:
            if path in code or path.endswith((".pyc", ".so")):
                continue
            reason = self._settled(path, use, digests, files)
            if reason:
                reasons.append(reason)
        for folder, names in self._listed.items():
            if self._is_scratch(folder) and not Path(folder).exists():
                continue
            if digests.names_in(Path(folder)) != names:
                reasons.append(f"it listed {self._name(folder)}, and changed it")
            files[self._name(folder)] = names
        return Observed(files, tuple(sorted(self._wrote_given)), reasons[0] if reasons else None)

    def _settled(self, path: str, use: _Use, digests: FileDigests, files: dict[str, str]) -> str | None:
        """Put the digest of a file that the task used into `files`; return why it can't be told, if so."""
        after = FileState.of(path)
        # C code that writes is not seen, but leaves another file.
        changed = after != use.before
        if after is None:
            if self._is_scratch(path):
                return None
            if use.read_first:
                return f"it read {self._name(path)}, and removed it"
            if not use.wrote:
                files[self._name(path)] = MISSING
            return None
        if use.read_first and changed and (use.wrote or path not in self.watched):
            return f"it read {self._name(path)}, which changed while it ran"
        if (use.wrote or changed) and self._is_scratch(path):
            return None
        files[self._name(path)] = digests.of(Path(path))
        return None

    def _counts(self, path: str) -> bool:
        if path.startswith(self.store) or self._is_given(path) or any(part in path for part in _INSTALLED):
            return False
        if path.startswith((sys.prefix + "/lib", sys.base_prefix + "/lib")):
            return False
        return self._is_projects(path) or not path.startswith((*_SYSTEM, *_home_folders()))

    def _is_projects(self, path: str) -> bool:
        return path.startswith(self.root + "/")

    def _is_scratch(self, path: str) -> bool:
        return not self._is_projects(path) and path.startswith(tempfile.gettempdir() + "/")

    def _is_given(self, path: str) -> bool:
        return any(path == given or path.startswith(given + "/") for given in self.given)

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self.root) if self._is_projects(path) else path


class _Hook:
    """The process's audit hook. It can't be removed once it is there, so there is one, which sleeps between tasks."""

    def __init__(self) -> None:
        self._observers: tuple[Observer, ...] = ()
        self._digests: FileDigests | None = None
        self._installed = False

    @contextmanager
    def heeding(self, observer: Observer, digests: FileDigests) -> Iterator[None]:
        if not self._installed:
            self._installed = True
            sys.addaudithook(self)
        self._digests = digests
        # Tasks that run side by side in one process can't be told apart: each is said to touch what any does.
        self._observers = (*self._observers, observer)
        try:
            yield
        finally:
            self._observers = tuple(each for each in self._observers if each is not observer)

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._observers or event not in _EVENTS:
            return
        for observer in self._observers:
            _EVENTS[event](self, observer, args)

    def opened(self, observer: Observer, args: tuple[Any, ...]) -> None:
        path, mode, flags = args
        name = _absolute(path)
        if name is None or (name.endswith(_CODE) and _imports()):
            return
        writes = any(letter in mode for letter in "wax+") if mode else bool((flags or 0) & _WRITING)
        reads = (
            not writes
            or (mode is not None and "+" in mode and "w" not in mode)
            or bool((flags or 0) & os.O_RDWR)
        )
        observer.opened(name, writes=writes, reads=reads and "w" not in (mode or ""))

    def renamed(self, observer: Observer, args: tuple[Any, ...]) -> None:
        for path in args[:2]:
            name = _absolute(path)
            if name is not None:
                observer.opened(name, writes=True, reads=False)

    def listed(self, observer: Observer, args: tuple[Any, ...]) -> None:
        name = _absolute(args[0] if args[0] is not None else ".")
        if name is not None and self._digests is not None and not _imports():
            observers, self._observers = self._observers, ()  # looking at the folder is an event, too
            observer.listed(name, self._digests)
            self._observers = observers

    def database(self, observer: Observer, args: tuple[Any, ...]) -> None:
        name = _absolute(args[0])
        if name is not None and args[0] not in (":memory:", b":memory:", "", b""):
            observer.opened(name, writes=False, reads=True)

    def connected(self, observer: Observer, args: tuple[Any, ...]) -> None:
        address = args[1]
        if isinstance(address, tuple):
            observer.reached_outside(f"it connected to {address[0]}:{address[1]}")
        elif isinstance(address, str) and not address.startswith(("\0", tempfile.gettempdir())):
            observer.reached_outside(f"it connected to {address}")

    def started(self, observer: Observer, args: tuple[Any, ...]) -> None:
        words = args[0] if isinstance(args[0], str | bytes | os.PathLike) else args[1]
        program = os.fsdecode(words if isinstance(words, str | bytes | os.PathLike) else words[0])
        name = Path(program.split(maxsplit=1)[0] if program.strip() else program).name
        if name not in _HARMLESS:
            observer.reached_outside(f"it ran a program, {name}")


_EVENTS: dict[str, Callable[[_Hook, Observer, tuple[Any, ...]], None]] = {
    "open": _Hook.opened,
    "os.rename": _Hook.renamed,
    "os.listdir": _Hook.listed,
    "os.scandir": _Hook.listed,
    "sqlite3.connect": _Hook.database,
    "socket.connect": _Hook.connected,
    "subprocess.Popen": _Hook.started,
    "os.system": _Hook.started,
    "os.posix_spawn": _Hook.started,
    "os.exec": _Hook.started,
}
_hook = _Hook()


def observing(observer: Observer, digests: FileDigests) -> AbstractContextManager[None]:
    """Let the observer see what this process does, as long as the context lasts."""
    return _hook.heeding(observer, digests)


def _absolute(path: Any) -> str | None:
    """Return a path as an absolute one; None for a file descriptor."""
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    return os.path.abspath(os.fsdecode(path))  # noqa: PTH100  # links are not followed


def _imports() -> bool:
    """Say whether Python's own import asks: above the hook's two frames."""
    return sys._getframe(3).f_code.co_filename in _IMPORTING


def _home_folders() -> Iterable[str]:
    return (f"{Path.home()}/{name}" for name in _HOME)


def _module_files() -> frozenset[str]:
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return frozenset(file for file in files if isinstance(file, str))
