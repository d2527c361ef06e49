"""What libraries keep for a whole process: random generators, options, figures. None is imported for it."""

from __future__ import annotations

import pickle
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flowc.engine.noted import Aspect, State, same

# Where numpy's global generator stands when it has just been made; one that was seeded stands at 624.
_NUMPY_FRESH = 623


@dataclass(frozen=True, slots=True)
class Generators:
    """The states of the global generators of Python and numpy; `numpy` is None where that is not imported."""

    python: Any
    numpy: Any

    @classmethod
    def now(cls) -> Generators:
        """Return the states as they are."""
        numpy = sys.modules.get("numpy.random")
        return cls(random.getstate(), None if numpy is None else numpy.get_state(legacy=True))

    def moved_since(self, before: Generators) -> bool:
        """Say whether a seed was set, or something drawn, since then."""
        if self.python != before.python:
            return True
        if self.numpy is None:
            return False
        if before.numpy is None:
            return bool(self.numpy[2] != _NUMPY_FRESH)
        return pickle.dumps(self.numpy) != pickle.dumps(before.numpy)

    def go_on(self) -> None:
        """Let the generators go on from here."""
        random.setstate(self.python)
        if self.numpy is not None:
            sys.modules["numpy.random"].set_state(self.numpy)


@contextmanager
def generators_from(start: Generators | None) -> Iterator[None]:
    """Let the global generators begin as those of a new process do, or from a state, and go on as before afterwards."""
    before = Generators.now()
    random.seed()
    if (numpy := sys.modules.get("numpy.random")) is not None:
        numpy.seed()
    _forget_seeds()
    if start is not None:
        start.go_on()
    try:
        yield
    finally:
        before.go_on()


def _forget_seeds() -> None:
    """Let torch, TensorFlow and Keras forget seeds; and Keras the numbers that it has given to names of layers."""
    if (torch := sys.modules.get("torch")) is not None and hasattr(torch, "seed"):
        torch.seed()
    if (keras := sys.modules.get("keras")) is not None and hasattr(keras, "utils"):
        keras.utils.clear_session(free_memory=False)
    tensorflow = sys.modules.get("tensorflow")
    context = sys.modules.get("tensorflow.python.eager.context")
    # TensorFlow has no public way to ask whether it was seeded; to seed it anew, it would rebuild its kernels.
    if tensorflow is not None and context is not None and context.global_seed() is not None:
        tensorflow.random.set_seed(None)


def _numpy() -> Any:
    return sys.modules["numpy"]


def _note_numpy() -> State:
    return {"errors": _numpy().geterr(), "print": _numpy().get_printoptions()}


def _restore_numpy(state: State) -> None:
    assert isinstance(state, dict)
    _numpy().seterr(**state["errors"])
    _numpy().set_printoptions(**state["print"])


def _note_matplotlib() -> State:
    return dict.copy(sys.modules["matplotlib"].rcParams)


def _restore_matplotlib(state: State) -> None:
    parameters = sys.modules["matplotlib"].rcParams
    assert isinstance(state, dict)
    pyplot, backend = sys.modules.get("matplotlib.pyplot"), dict.get(state, "backend")
    if pyplot is not None and isinstance(backend, str) and dict.get(parameters, "backend") != backend:
        pyplot.switch_backend(backend)
    # As its own `rc_context` does it: validating each again would warn of those that are deprecated.
    dict.update(parameters, state)


def _note_figures() -> State:
    return list(sys.modules["matplotlib.pyplot"].get_fignums())


def _restore_figures(state: State) -> None:
    pyplot = sys.modules["matplotlib.pyplot"]
    for number in pyplot.get_fignums():
        if number not in state:
            pyplot.close(number)


def _note_pandas() -> State:
    return dict(_flat(sys.modules["pandas"].options.d, ""))


def _flat(options: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _restore_pandas(state: State) -> None:
    assert isinstance(state, dict)
    now = _note_pandas()
    assert isinstance(now, dict)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of options that are deprecated
        for name, value in state.items():
            if not same(now.get(name), value):
                sys.modules["pandas"].set_option(name, value)


def _note_sklearn() -> State:
    return dict(sys.modules["sklearn"].get_config())


def _restore_sklearn(state: State) -> None:
    assert isinstance(state, dict)
    sys.modules["sklearn"].set_config(**state)


def _note_determinism() -> State:
    return {"on": sys.modules["tensorflow.python.framework.config"].is_op_determinism_enabled()}


def _restore_determinism(state: State) -> None:
    assert isinstance(state, dict)
    # TensorFlow has a public way to turn it on, and none to turn it off.
    config = sys.modules["tensorflow.python.framework.config"]
    (config.enable_op_determinism if state["on"] else config.disable_op_determinism)()


LIBRARIES = (
    Aspect("numpy", _note_numpy, _restore_numpy),
    Aspect("matplotlib", _note_matplotlib, _restore_matplotlib),
    Aspect("matplotlib.pyplot", _note_figures, _restore_figures),
    Aspect("pandas", _note_pandas, _restore_pandas),
    Aspect("sklearn", _note_sklearn, _restore_sklearn),
    Aspect("tensorflow.python.framework.config", _note_determinism, _restore_determinism),
)
