"""Says which machines flowc's locks cover, and which lock is this machine's.

A lock is per Python and per glibc, because TensorFlow Data Validation's wheels are (docs/adr/0001). The scripts
beside this file keep to Python 3.6's syntax, so that an old Python gets as far as being refused here.
"""

import hashlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parent.parent


def refuse(what: str, advice: str) -> NoReturn:
    """End the program with what is wrong, where, and what to do."""
    sys.exit(f"set-up: {what}\n  here:  {sys.executable}, {platform.platform()}\n  do:    {advice}")


if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs this has whatever Python they have
    refuse(
        "this Python is too old", "install Python 3.11 or newer, then: make PYTHON=/path/to/python3.11 ..."
    )


class World(NamedTuple):
    """One lock's machines: x86-64 Linux with this Python and this glibc or a newer one."""

    python: tuple[int, int]
    glibc: tuple[int, int]

    @property
    def python_version(self) -> str:
        return "{}.{}".format(*self.python)

    @property
    def platform_tag(self) -> str:
        return "x86_64-manylinux_{}_{}".format(*self.glibc)

    @property
    def lock(self) -> Path:
        return ROOT / "locks" / "py{}.{}-glibc{}.{}.txt".format(*self.python, *self.glibc)


# Newest glibc first: the first that fits is the best.
WORLDS = (
    World((3, 11), (2, 39)),
    World((3, 12), (2, 39)),
    World((3, 13), (2, 39)),
    World((3, 11), (2, 28)),
)


def this_world() -> World:
    """Return the world of the running interpreter, or end the program saying why there is none."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        refuse(
            f"{platform.system()} on {platform.machine()} is not supported: "
            "TensorFlow Data Validation has wheels for Linux on x86-64 only",
            "use an x86-64 Linux machine or container, such as Debian 12 or 13",
        )
    python, glibc = sys.version_info[:2], _glibc()
    if platform.python_implementation() != "CPython":
        refuse(f"{platform.python_implementation()} is not supported", "make PYTHON=/path/to/python3.11 ...")
    for world in WORLDS:
        if world.python == python and world.glibc <= glibc:
            return world
    fitting = sorted({world.python_version for world in WORLDS if world.glibc <= glibc})
    if not fitting:
        oldest = "{}.{}".format(*min(world.glibc for world in WORLDS))
        refuse(
            "glibc {}.{} is too old: the oldest supported is {}".format(*glibc, oldest),
            "use a newer system, such as Debian 12 or 13",
        )
    refuse(
        "Python {}.{} has no TensorFlow Data Validation with glibc {}.{}".format(*python, *glibc),
        f"install Python {' or '.join(fitting)}, then: make PYTHON=/path/to/python{fitting[0]} ...",
    )


def _glibc() -> tuple[int, int]:
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (ValueError, OSError):
        name, version = "", ""
    if name != "glibc":
        refuse("the C library is not glibc", "use a glibc system, such as Debian 12 or 13 (not Alpine)")
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def dependencies_digest() -> str:
    """Return a digest of what pyproject.toml asks for. Locks carry it, so a forgotten `make lock` is noticed."""
    import tomllib  # since Python 3.11: not before an older one was refused

    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = document["project"]
    asked = [
        project["dependencies"],
        project["optional-dependencies"],
        document["dependency-groups"],
        document["tool"]["uv"],
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def lock_header() -> str:
    return f"# from pyproject.toml's dependencies {dependencies_digest()}\n"
