"""What a call returns inside a pipeline: a stand-in for a value that is not there until the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError, did_you_mean
from flowc.ir import Binding, FromParameter, FromTask, Port
from flowc.python.places import caller
from flowc.types.model import Type

# Every way in which Python would look inside a value. Attribute access is handled by itself.
_VALUE_METHODS = (
    *("bool", "len", "iter", "contains", "getitem", "setitem", "delitem", "call", "int", "float", "index"),
    *(
        "str",
        "format",
        "bytes",
        "complex",
        "round",
        "abs",
        "neg",
        "pos",
        "invert",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
    ),
    *("ge", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv"),
    *("mod", "rmod", "pow", "rpow", "matmul", "rmatmul", "and", "rand", "or", "ror", "xor", "rxor"),
    *("lshift", "rlshift", "rshift", "rrshift", "enter", "exit", "await", "reversed", "next", "fspath"),
)
_OPERATORS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "neg": "-", "pos": "+", "invert": "~",
}  # fmt: skip
_HINT = "pass it to a component, and do there what needs the value"


class Future:
    """A task's output, or a pipeline's parameter, before there is a value."""

    def __init__(self, binding: Binding, type_: Type, what: str) -> None:
        self._binding = binding
        self._type = type_
        self._what = what

    def __repr__(self) -> str:
        return f"<future of {self._what}: {self._type}>"

    def __hash__(self) -> int:
        return id(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(
            "_"
        ):  # protocols such as __array__ and copy ask by name, and take no for an answer
            raise AttributeError(name)
        misused(f"{self._what} has no value yet, so '.{name}' can't be read from it", _HINT)


def _refusing(method: str) -> Callable[..., NoReturn]:
    def refuse(self: Future, *_: object) -> NoReturn:
        misused(f"{self._what} has no value while the pipeline is being compiled ({_MEANING[method]})", _HINT)

    return refuse


_MEANING = (
    dict.fromkeys(_VALUE_METHODS, "an operation asks for it")
    | {
        "bool": "'if', 'and', 'or' or 'not' asks whether it is true",
        "len": "len() asks for its length",
        "iter": "a loop or an unpacking asks for its items",
        "contains": "'in' asks for its items",
        "getitem": "an index asks for an item",
        "str": "str() or an f-string asks for its text",
        "format": "str() or an f-string asks for its text",
    }
    | {name: f"'{sign}' asks for it" for name, sign in _OPERATORS.items()}
)
for _method in _VALUE_METHODS:
    setattr(Future, f"__{_method}__", _refusing(_method))


class Futures:
    """A task's several outputs: by name, and by unpacking in the order in which they are declared."""

    def __init__(self, task: str, ports: tuple[Port, ...]) -> None:
        self._task = task
        self._futures = {port.name: output_of(task, port) for port in ports}

    def __repr__(self) -> str:
        return f"<futures of task '{self._task}': {', '.join(self._futures)}>"

    def __iter__(self) -> Iterator[Future]:
        return iter(self._futures.values())

    def __len__(self) -> int:
        return len(self._futures)

    def __getitem__(self, index: int) -> Future:
        return tuple(self._futures.values())[index]

    def __getattr__(self, name: str) -> Future:
        if name in self.__dict__.get("_futures", {}):
            return self._futures[name]
        if name.startswith("_"):
            raise AttributeError(name)
        hint = did_you_mean(name, self._futures) or f"its outputs are: {', '.join(self._futures)}"
        return misused(f"task '{self._task}' has no output '{name}'", hint)


def output_of(task: str, port: Port) -> Future:
    """Return the future of one output."""
    what = f"task '{task}'" if port.name == "output" else f"output '{port.name}' of task '{task}'"
    return Future(FromTask(task=task, output=port.name), port.type, what)


def parameter_future(name: str, type_: Type) -> Future:
    """Return the stand-in for a pipeline's parameter."""
    return Future(FromParameter(parameter=name), type_, f"parameter '{name}'")


def misused(message: str, hint: str, source: Source | None = None) -> NoReturn:
    """Refuse a use of a future as a value (FC110), at the place of the innermost call by the user."""
    place = source or caller()
    raise CompileError([Diagnostic(code="FC110", message=message, source=place, hint=hint)])
