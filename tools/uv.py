"""Brings the pinned uv into .tools/ and runs it. pip needs hours to resolve TFDV, uv seconds."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from worlds import ROOT, refuse

PIN = Path(__file__).with_name("uv.txt")
TOOLS = ROOT / ".tools"


@contextmanager
def exclusively() -> Iterator[None]:
    """Hold the project's set-up lock. The kernel drops it when its process ends, however that ends."""
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up is at work in this folder: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def say(message: str) -> None:
    print(f"set-up: {message}", file=sys.stderr, flush=True)


def run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    """Run a command in the project folder; end the program with its words when it fails."""
    status = subprocess.run(command, cwd=ROOT, env=env, stdout=sys.stderr, check=False).returncode
    if status:
        refuse(
            f"`{' '.join(map(str, command))}` ended with status {status}",
            "see its message above, then run the same make command again: set-up starts where it is safe to",
        )


def uv(*arguments: str | Path) -> None:
    """Run the pinned uv. The caller holds `exclusively()`."""
    home = TOOLS / "uv"
    stamp, pin = home / "stamp", hashlib.sha256(PIN.read_bytes()).hexdigest()
    if not (stamp.exists() and stamp.read_text() == pin):
        say("bringing uv into .tools/uv")
        if find_spec("ensurepip") is None:
            refuse("this Python has no venv module", "apt-get install python3-venv (Debian, Ubuntu)")
        shutil.rmtree(home, ignore_errors=True)
        run(python(), "-m", "venv", home)
        run(home / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", PIN)  # fmt: skip
        stamp.write_text(pin)
    run(home / "bin/uv", *arguments, env=_environment(home / "bin/python"))


def python() -> str:
    """Return the interpreter under any virtual environment, so that an activated .venv can be rebuilt."""
    return os.path.realpath(sys.executable)


def _environment(pip_python: Path) -> dict[str, str]:
    """Return the environment for uv, which does not read pip's settings: its index and certificates are handed on."""
    env = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    listing = subprocess.run(
        [pip_python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    settings = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        settings[key.rpartition(".")[2]] = value.strip("'\"")
    if "index-url" in settings and "UV_INDEX_URL" not in env:
        env.setdefault("UV_DEFAULT_INDEX", settings["index-url"])
    if "cert" in settings:
        env.setdefault("SSL_CERT_FILE", settings["cert"])
    return env
