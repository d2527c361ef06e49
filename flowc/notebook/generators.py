"""The state of the global random generators, which can go from step to step under names that no notebook has."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from flowc.notebook.crossing import Unbound

# TensorFlow's is not among them: the state of its operations' generators can't be read.
CARRIED = ("random", "numpy", "torch")


def generator_name(generator: str) -> str:
    """Return the name under which analysis and steps know a global generator."""
    return f"<generator {generator}>"


def is_generator(name: str) -> bool:
    """Say whether a name is that of a global generator."""
    return name.startswith("<generator ")


def carried_names(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the generators that code like this may draw from."""
    uses_torch = any("torch" in source for source in sources)
    return tuple(generator_name(each) for each in CARRIED if each != "torch" or uses_torch)


def generator_state(name: str) -> Any:
    """Return the state of a generator here; Unbound where its library is not loaded, so that nothing has drawn."""
    if name == generator_name("random"):
        return random.getstate()
    if name == generator_name("numpy") and "numpy" in sys.modules:
        return sys.modules["numpy"].random.get_state()
    if name == generator_name("torch") and "torch" in sys.modules:
        return sys.modules["torch"].get_rng_state().numpy()
    return Unbound(name, "its library was not used")


def set_generator_state(name: str, state: Any) -> None:
    """Let a generator go on from a state."""
    if name == generator_name("random"):
        random.setstate(state)
    elif name == generator_name("numpy"):
        import_module("numpy").random.set_state(state)
    elif name == generator_name("torch"):
        torch = import_module("torch")
        torch.set_rng_state(torch.from_numpy(state))
