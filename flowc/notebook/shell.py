"""What a notebook's shell lines, scripts and file cells do when a step runs, as IPython does it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def _expanded(command: str, lookups: Mapping[str, Callable[[], Any]]) -> str:
    """Return the command with `$x` and `{x}` replaced; a name that is not defined is the shell's own."""
    for written, look_up in sorted(lookups.items(), key=lambda pair: -len(pair[0])):
        try:
            command = command.replace(written, str(look_up()))
        except NameError:
            continue
    return command.replace("$$", "$")


def run_line(command: str, lookups: Mapping[str, Callable[[], Any]] | None = None) -> None:
    """Run `!command` and show what it says as it says it. As in IPython, its failure is no error."""
    with _started(command, lookups) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)


def line_output(command: str, lookups: Mapping[str, Callable[[], Any]] | None = None) -> list[str]:
    """Run the command of `y = !command` and return its lines, those to stderr too, in IPython's kind of list."""
    from IPython.utils.text import SList

    with _started(command, lookups) as process:
        lines: list[str] = SList(line.rstrip("\r\n") for line in process.stdout or ())
    return lines


def _started(command: str, lookups: Mapping[str, Callable[[], Any]] | None) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S602  # it is a shell's line that the user wrote
        _expanded(command, lookups or {}),
        shell=True,
        text=True,
        errors="backslashreplace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def run_script(program: str, body: str, *kept: str) -> list[str] | None:
    """Run a `%%bash` cell; return what it wrote to those of "out" and "err" that are kept, and show the others.

    As in IPython, its failure is the cell's.
    """
    done = subprocess.run(program.split(), input=body, text=True, capture_output=True, check=False)
    if "out" not in kept:
        sys.stdout.write(done.stdout)
    if "err" not in kept:
        sys.stderr.write(done.stderr)
    done.check_returncode()
    return [{"out": done.stdout, "err": done.stderr}[which] for which in kept] or None


def write_file(name: str, text: str, append: bool) -> None:
    """Write a `%%writefile` cell's text."""
    with Path(name).expanduser().open("a" if append else "w", encoding="utf-8") as file:
        file.write(text)


def set_variable(setting: str, lookups: Mapping[str, Callable[[], Any]] | None = None) -> None:
    """Do what `%env NAME=value` does, and say so as IPython does."""
    name, _, value = _expanded(setting, lookups or {}).partition("=")
    os.environ[name] = value
    sys.stdout.write(f"env: {name}={value}\n")
