"""What a notebook's shell lines, scripts and file cells do when a step runs, as IPython does it."""

from __future__ import annotations

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
    """Run `!command` and print what it prints. As in IPython, its failure is no error."""
    done = subprocess.run(
        _expanded(command, lookups or {}),
        shell=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    print(done.stdout, end="")


def line_output(command: str, lookups: Mapping[str, Callable[[], Any]] | None = None) -> list[str]:
    """Run the command of `y = !command` and return its lines."""
    done = subprocess.run(_expanded(command, lookups or {}), shell=True, text=True, stdout=subprocess.PIPE)
    return done.stdout.splitlines()


def run_script(program: str, body: str) -> None:
    """Run a `%%bash` cell. As in IPython, its failure is the cell's."""
    done = subprocess.run(
        program.split(), input=body, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    done.check_returncode()


def write_file(name: str, text: str, append: bool) -> None:
    """Write a `%%writefile` cell's text."""
    with Path(name).expanduser().open("a" if append else "w", encoding="utf-8") as file:
        file.write(text)
