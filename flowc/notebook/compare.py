"""Whether two values are the same, by type and content, all the way down; and if not, where they differ first.

Numbers are compared exactly, NaN equals NaN, the order of a dict counts. What is not known here is compared by what
pickle would take of it, so a fitted model is what its attributes are.
"""

from __future__ import annotations

import copyreg
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SHORT = 160
# By value: of these, equal objects of one class are the same.
_SIMPLE_MODULES = frozenset(
    ("datetime", "decimal", "fractions", "pathlib", "uuid", "zoneinfo", "ipaddress", "re")
)
_SIMPLE = (str, bytes, bytearray, int, bool, range, slice, type(None), type(Ellipsis), type(NotImplemented))
_PLAIN = frozenset((str, bytes, int, bool, type(None)))
_Pairs = Iterable[tuple[str, Any, Any]]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two values differ first: `place` is what stands behind the variable's name, as in "['a'][3]"."""

    place: str
    one: str
    other: str


class NotComparableError(Exception):
    """Nothing is there by which two values could be told apart; the message says of what, and why."""


def first_difference(one: Any, other: Any) -> Difference | None:
    """Return where two values differ first, or None where they are the same.

    Raises NotComparableError where a part of them has no content that could be looked at.
    """
    comparison = _Comparison()
    try:
        return comparison.difference("", one, other)
    except RecursionError as error:
        raise NotComparableError("it is nested too deeply") from error


class _Comparison:
    """One comparison. Pairs that are being compared are not gone into again: objects may hold themselves."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], tuple[Any, Any]] = {}

    def difference(self, place: str, one: Any, other: Any) -> Difference | None:
        if one is other:
            return None
        if type(one) is not type(other) and not _of_one_name(type(one), type(other)):
            return Difference(place, _with_type(one), _with_type(other))
        kind = type(one)
        if kind in (float, complex):
            return None if repr(one) == repr(other) else _differ(place, one, other)
        if kind in _SIMPLE or kind.__module__ in _SIMPLE_MODULES:
            return None if one == other else _differ(place, one, other)
        pair = (id(one), id(other))
        if pair in self._seen:
            return None
        self._seen[pair] = (one, other)  # kept alive, so that the ids stay theirs
        return self._of_kind(place, one, other)

    def _of_kind(self, place: str, one: Any, other: Any) -> Difference | None:
        library = type(one).__module__.partition(".")[0]
        special = _LIBRARIES.get(library)
        pairs = special(place, one, other) if special else None
        if pairs is None:
            pairs = _parts(place, one, other)
        if isinstance(pairs, Difference):
            return pairs
        for where, left, right in pairs:
            found = self.difference(where, left, right)
            if found is not None:
                return found
        return None


def _of_one_name(one: type, other: type) -> bool:
    """Say whether two classes may be one that a function made twice: pickle can't name it, and so copies it."""
    names = {(each.__module__, each.__qualname__) for each in (one, other)}
    return len(names) == 1 and "<locals>" in one.__qualname__


def _differ(place: str, one: Any, other: Any) -> Difference:
    return Difference(place, shown(one), shown(other))


def shown(value: Any) -> str:
    """Return a value in few words."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  # the user's own __repr__
        text = f"<{type(value).__name__}, whose repr fails: {type(error).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def _with_type(value: Any) -> str:
    return f"{shown(value)}, of type {type(value).__module__}.{type(value).__qualname__}"


# -- Python's own


def _parts(place: str, one: Any, other: Any) -> _Pairs | Difference:
    match one:
        case dict():
            return _mapping(place, one, other)
        case list() | tuple():
            return _sequence(place, one, other)
        case set() | frozenset():
            return _set(place, one, other)
        case type() if _of_one_name(one, other):
            return _class(place, one, other)
        case type() | types.ModuleType() | types.BuiltinFunctionType():
            return _named(place, one, other)
        case types.FunctionType():
            return _function(place, one, other)
        case types.MethodType():
            return [
                (f"{place}.__func__", one.__func__, other.__func__),
                (f"{place}.__self__", one.__self__, other.__self__),
            ]
        case types.CodeType():
            return _code(place, one, other)
    return _reduced(place, one, other)


def _named(place: str, one: Any, other: Any) -> Difference:
    """Tell apart what goes by its name; of two with one name, nobody can say what they have in common."""
    if shown(one) == shown(other):
        raise NotComparableError(f"there are two of {shown(one)}")
    return _differ(place, one, other)


def _class(place: str, one: type, other: type) -> _Pairs:
    """Return what two classes of one name are made of. Descriptors that Python makes itself say nothing more."""
    yield f"{place}.__bases__", one.__bases__, other.__bases__
    yield from _attributes(place, _class_body(one), _class_body(other))


def _class_body(kind: type) -> dict[str, Any]:
    made = (types.GetSetDescriptorType, types.MemberDescriptorType)
    return {
        name: part.__func__ if isinstance(part, staticmethod | classmethod) else part
        for name, part in vars(kind).items()
        if not isinstance(part, made) and not name.startswith(("__static_", "__firstlineno", "_abc_"))
    }


def _mapping(place: str, one: dict[Any, Any], other: dict[Any, Any]) -> _Pairs | Difference:
    if len(one) != len(other):
        return Difference(
            place, f"{len(one)} keys: {shown(list(one))}", f"{len(other)} keys: {shown(list(other))}"
        )
    pairs: list[tuple[str, Any, Any]] = []
    for (key, value), (other_key, other_value) in zip(one.items(), other.items(), strict=True):
        pairs.append((f"{place} key", key, other_key))
        pairs.append((f"{place}[{shown(key)}]", value, other_value))
    return [*pairs, *_own_state(place, one, other, dict)]


def _sequence(place: str, one: Any, other: Any) -> _Pairs | Difference:
    if len(one) != len(other):
        return Difference(place, f"length {len(one)}: {shown(one)}", f"length {len(other)}: {shown(other)}")
    fields = getattr(type(one), "_fields", ())
    items = () if _plainly_equal(one, other) else enumerate(zip(one, other, strict=True))
    return _chained(
        (
            (f"{place}.{fields[index]}" if index < len(fields) else f"{place}[{index}]", *pair)
            for index, pair in items
        ),
        _own_state(place, one, other, list if isinstance(one, list) else tuple),
    )


def _plainly_equal(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Say whether items are the same for sure, all of them plain. It takes a tenth of the time of looking at each."""
    kinds = list(map(type, one))
    return set(kinds) <= _PLAIN and kinds == list(map(type, other)) and one == other


def _chained(*parts: _Pairs) -> Iterator[tuple[str, Any, Any]]:
    for part in parts:
        yield from part


def _set(place: str, one: Any, other: Any) -> _Pairs | Difference:
    if {(type(item), item) for item in one} == {(type(item), item) for item in other}:
        return []
    # Objects that are equal to themselves alone: each must have its equal on the other side.
    left, right = list(one), list(other)
    for item in left:
        match = next((each for each in right if _same(item, each)), None)
        if match is None:
            return _differ(place, one, other)
        right = [each for each in right if each is not match]
    return [] if not right else _differ(place, one, other)


def _same(one: Any, other: Any) -> bool:
    return first_difference(one, other) is None


def _own_state(place: str, one: Any, other: Any, plain: type) -> _Pairs:
    """Return what a subclass of a container holds besides its items."""
    return () if type(one) is plain else _attributes(place, _state_of(one), _state_of(other))


def _state_of(value: Any) -> dict[str, Any]:
    state = dict(getattr(value, "__dict__", {}))
    for name in copyreg._slotnames(type(value)):  # type: ignore[attr-defined]  # what pickle itself goes by
        if hasattr(value, name):
            state[name] = getattr(value, name)
    if isinstance(factory := getattr(value, "default_factory", None), type | types.FunctionType):
        state["default_factory"] = factory
    return {name: part for name, part in state.items() if not _is_cache(value, name)}


def _is_cache(value: Any, name: str) -> bool:
    return isinstance(getattr(type(value), name, None), functools.cached_property)


def _attributes(place: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> _Pairs:
    yield f"{place}: attributes", sorted(one), sorted(other)
    for name, value in one.items():
        yield f"{place}.{name}", value, other[name]


def _function(place: str, one: Any, other: Any) -> _Pairs:
    yield f"{place}.__qualname__", one.__qualname__, other.__qualname__
    yield f"{place}.__code__", one.__code__, other.__code__
    yield f"{place}.__defaults__", one.__defaults__, other.__defaults__
    yield f"{place}.__kwdefaults__", one.__kwdefaults__, other.__kwdefaults__
    for name, cell, other_cell in zip(
        one.__code__.co_freevars, one.__closure__ or (), other.__closure__ or (), strict=True
    ):
        yield f"{place} ({name})", cell.cell_contents, other_cell.cell_contents


def _code(place: str, one: Any, other: Any) -> _Pairs:
    for name in ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars"):
        yield f"{place}.{name}", getattr(one, name), getattr(other, name)


def _reduced(place: str, one: Any, other: Any) -> _Pairs | Difference:
    """Return what pickle would take of two objects."""
    taken, other_taken = _reduction(one), _reduction(other)
    if isinstance(taken, str) or isinstance(other_taken, str):
        return [] if taken == other_taken else _differ(place, one, other)
    if len(taken) != len(other_taken):
        return _differ(place, one, other)
    return _chained(*_reduction_parts(place, one, taken, other_taken))


def _reduction(value: Any) -> Any:
    try:
        reducer = copyreg.dispatch_table.get(type(value))
        return reducer(value) if reducer else value.__reduce_ex__(4)
    except Exception as error:
        message = f"a {type(value).__qualname__} shows nothing of its content: {error}"
        raise NotComparableError(message) from error


def _reduction_parts(
    place: str, value: Any, one: tuple[Any, ...], other: tuple[Any, ...]
) -> Iterator[_Pairs]:
    yield [(f"{place}: made by", one[0], other[0]), (f"{place}: made from", one[1], other[1])]
    for part, other_part in zip(map(_flat, one[2:]), map(_flat, other[2:]), strict=True):
        if isinstance(part, dict) and isinstance(other_part, dict):
            yield _attributes(
                place,
                {str(name): each for name, each in part.items() if not _is_cache(value, str(name))},
                {str(name): each for name, each in other_part.items() if not _is_cache(value, str(name))},
            )
        elif isinstance(part, Iterator) and isinstance(other_part, Iterator):
            yield [(f"{place}: items", list(part), list(other_part))]
        else:
            yield [(place, part, other_part)]


def _flat(state: Any) -> Any:
    """Return what pickle takes of an instance with slots as one mapping: it has the dictionary, then the slots."""
    match state:
        case (dict() | None as attributes, dict() as slots):
            return {**(attributes or {}), **slots}
    return state


# -- libraries' own


def _numpy(place: str, one: Any, other: Any) -> _Pairs | Difference | None:
    import numpy as np

    if isinstance(one, np.ma.MaskedArray):
        return [(f"{place}.mask", one.mask, other.mask), (f"{place}.data", one.data, other.data)]
    if isinstance(one, np.ndarray | np.generic):
        return _array(place, one, other)
    if isinstance(one, np.dtype):
        return [] if one == other else _differ(place, one, other)
    if isinstance(one, np.random.RandomState):
        return [(f"{place}.get_state()", one.get_state(legacy=False), other.get_state(legacy=False))]
    return None


def _array(place: str, one: Any, other: Any) -> _Pairs | Difference:
    import numpy as np

    if one.dtype != other.dtype or one.shape != other.shape:
        return Difference(place, f"{one.dtype} of shape {one.shape}", f"{other.dtype} of shape {other.shape}")
    left, right = np.asarray(one), np.asarray(other)
    if (
        left.dtype.hasobject
        and left.dtype.names is None
        and _plainly_equal(list(left.flat), list(right.flat))
    ):
        return []
    if left.dtype.hasobject:
        return (
            (f"{place}[{', '.join(map(str, index))}]", left[index], right[index])
            for index in np.ndindex(left.shape)
        )
    if left.dtype.kind == "V":
        return [] if left.tobytes() == right.tobytes() else _differ(place, one, other)
    # Negative zero is not zero; a NaN, whatever its bits, is a NaN.
    equal = ((left == right) | (_missing(left) & _missing(right))) & (_signs(left) == _signs(right))
    if np.all(equal):
        return []
    first = tuple(int(position[0]) for position in np.nonzero(~np.atleast_1d(equal)))
    where = f"{place}[{', '.join(map(str, first))}]" if left.shape else place
    return _differ(where, np.atleast_1d(left)[first], np.atleast_1d(right)[first])


def _missing(values: Any) -> Any:
    """Return where an array has NaN or NaT."""
    return values != values  # noqa: PLR0124  # which neither equals


def _signs(values: Any) -> Any:
    import numpy as np

    return np.signbit(values) & (values == 0) if values.dtype.kind == "f" else np.zeros(values.shape, bool)


def _pandas(place: str, one: Any, other: Any) -> _Pairs | Difference | None:
    import pandas as pd

    if isinstance(one, pd.DataFrame):
        return _frame(place, one, other)
    if isinstance(one, pd.Series):
        return _chained(
            [(f"{place}.name", one.name, other.name), (f"{place}.index", one.index, other.index)],
            [(place, one.array, other.array), (f"{place}.attrs", one.attrs, other.attrs)],
        )
    if isinstance(one, pd.MultiIndex):
        levels = (
            (f"{place} level {n}", one.get_level_values(n), other.get_level_values(n))
            for n in range(one.nlevels)
        )
        return _chained([(f"{place}: levels", one.nlevels, other.nlevels)], levels)
    if isinstance(one, pd.Index):
        freq = (f"{place}.freq", getattr(one, "freq", None), getattr(other, "freq", None))
        return [(f"{place}.names", list(one.names), list(other.names)), freq, (place, one.array, other.array)]
    if isinstance(one, pd.api.extensions.ExtensionArray):
        return _extension(place, one, other)
    if isinstance(
        one,
        pd.api.extensions.ExtensionDtype | pd.offsets.BaseOffset | pd.Timestamp | pd.Timedelta | pd.Period,
    ):
        return [] if one == other else _differ(place, one, other)
    return None


def _frame(place: str, one: Any, other: Any) -> _Pairs:
    yield f"{place}.columns", one.columns, other.columns
    yield f"{place}.index", one.index, other.index
    for position, column in enumerate(one.columns):
        yield f"{place}[{column!r}]", one.iloc[:, position].array, other.iloc[:, position].array
    yield f"{place}.attrs", one.attrs, other.attrs


def _extension(place: str, one: Any, other: Any) -> _Pairs | Difference:
    if one.dtype != other.dtype or len(one) != len(other):
        return Difference(place, f"{len(one)} of {one.dtype}", f"{len(other)} of {other.dtype}")
    if type(one).__name__ in ("PandasArray", "NumpyExtensionArray"):
        return [(place, one.to_numpy(), other.to_numpy())]
    if hasattr(one, "categories"):
        return [
            (f"{place}.categories", one.categories, other.categories),
            (f"{place}.ordered", one.ordered, other.ordered),
            (f"{place}.codes", one.codes, other.codes),
        ]
    if one.equals(other):
        return []
    return ((f"{place}[{index}]", *pair) for index, pair in enumerate(zip(one, other, strict=True)))


def _arrow(place: str, one: Any, other: Any) -> _Pairs | Difference | None:
    import pyarrow as pa

    if not isinstance(one, pa.Table):
        return None
    if one.schema.equals(other.schema, check_metadata=True) and one.equals(other):
        return []
    return [
        (f"{place}.schema", str(one.schema), str(other.schema)),
        (place, one.to_pydict(), other.to_pydict()),
    ]


def _torch(place: str, one: Any, other: Any) -> _Pairs | Difference | None:
    if not isinstance(one, sys.modules["torch"].Tensor):
        return None
    return [
        (f"{place}.dtype", str(one.dtype), str(other.dtype)),
        (f"{place}.device", str(one.device), str(other.device)),
        (f"{place}.requires_grad", one.requires_grad, other.requires_grad),
        (place, one.detach().cpu().numpy(), other.detach().cpu().numpy()),
    ]


def _keras(place: str, one: Any, other: Any) -> _Pairs | Difference | None:
    import keras

    if not isinstance(one, keras.Model):
        return None
    return [
        (f"{place}.get_config()", one.get_config(), other.get_config()),
        (f"{place}.get_weights()", one.get_weights(), other.get_weights()),
        (f"{place}.optimizer", _optimizer(one), _optimizer(other)),
    ]


def _optimizer(model: Any) -> list[Any] | None:
    optimizer = getattr(model, "optimizer", None)
    return None if optimizer is None else [each.numpy() for each in optimizer.variables]


def _ipython(_place: str, one: Any, _other: Any) -> _Pairs | None:
    # A measurement is another each time.
    return () if type(one).__name__ == "TimeitResult" else None


_LIBRARIES: Mapping[str, Callable[[str, Any, Any], _Pairs | Difference | None]] = types.MappingProxyType(
    {
        "numpy": _numpy,
        "pandas": _pandas,
        "pyarrow": _arrow,
        "torch": _torch,
        "keras": _keras,
        "IPython": _ipython,
    }
)
