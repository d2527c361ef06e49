"""The module in the form that `ruff format` gives it, by ruff itself where it is installed: no other code knows all
of its rules, and the lines of cells are in whatever form their writer liked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def formatted(text: str, path: Path) -> str | None:
    """Return a module's text as ruff formats it for a path, by the settings that hold there; None without ruff."""
    folders = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    ruff = shutil.which("ruff", path=os.pathsep.join(folders))
    if ruff is None:
        return None
    command = [ruff, "format", "--quiet", "--stdin-filename", str(path), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, encoding="utf-8")
    return done.stdout if done.returncode == 0 else None
