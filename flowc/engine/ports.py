"""Values held to their ports' types at run time, on the way into a task and out of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError
from typing_extensions import get_protocol_members, is_protocol

from flowc.errors import ComponentError, FlowcError, NotFoundError, UsageError
from flowc.ir import Component, Port
from flowc.store.codecs.tables import in_declared_form
from flowc.types.model import (
    AnyType,
    ArtifactType,
    CallableType,
    DictType,
    ListType,
    ObjectType,
    ScalarType,
    TupleType,
    Type,
    UnionType,
    VariableType,
)
from flowc.types.names import ref_of, resolve_ref
from flowc.types.validate import adapter, is_value, must_exist, validated

_CONTAINERS: dict[str, type] = {
    "list": list,
    "set": set,
    "frozenset": frozenset,
    "tuple": tuple,
    "sequence": Sequence,
    "collection": Collection,
}


class WrongValueError(FlowcError):
    """A task got or gave something that its port can't hold."""

    exit_code = 1


@contextmanager
def about(what: str) -> Iterator[None]:
    """Say in each error for people what it is about."""
    try:
        yield
    except FlowcError as error:
        raise type(error)(f"{what}: {error.message}", hint=error.hint) from error


def held_input(port: Port, value: Any) -> Any:
    """Return an input's value held to its port, converted as pydantic does it (an int where a float is asked)."""
    if isinstance(port.type, AnyType):
        return value
    if not is_value(port.type):
        return _held_object(port.type, value)
    try:
        held = validated(port.type, _plain(port.type, value))
        must_exist(port.type, held)
        return held
    except UsageError as error:
        raise WrongValueError(error.message) from error


def held_outputs(component: Component, returned: Any) -> dict[str, Any]:
    """Return what a function returned by output port, each held to its port's type.

    Nothing is converted but what widens (int to float), numpy's scalars where a plain one is asked, and tables in
    one form to another. Raises WrongValueError, or ComponentError for a table that lacks its columns.
    """
    held = {}
    for port, value in _by_port(component.outputs, returned):
        with about(f"output '{port.name}'"):
            held[port.name] = _held_output(port.type, value)
    return held


def _by_port(ports: tuple[Port, ...], returned: Any) -> Iterator[tuple[Port, Any]]:
    if len(ports) == 1 and ports[0].name == "output":
        yield ports[0], returned
        return
    for port in ports:
        if isinstance(returned, Mapping) and port.name in returned:
            yield port, returned[port.name]
        elif hasattr(returned, port.name):
            yield port, getattr(returned, port.name)
        else:
            raise WrongValueError(
                f"output '{port.name}' is missing from the {_name(returned)} that was returned",
                hint="return an instance of the class that the function is annotated with",
            )


def _held_output(type_: Type, value: Any) -> Any:
    if isinstance(type_, AnyType):
        return value
    return _held_value(type_, value) if is_value(type_) else _held_object(type_, value)


def _held_value(type_: Type, value: Any) -> Any:
    try:
        return adapter(type_).validate_python(_plain(type_, value), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{part!r}] " for part in first["loc"])
        said = not place and first["type"].endswith(
            ("_type", "_of")
        )  # what was expected and what it got says it all
        raise _wrong(type_, value, "" if said else place + first["msg"]) from error


def _plain(type_: Type, value: Any) -> Any:
    """Return Python's scalar for one of numpy's, where a scalar is asked."""
    is_numpy = isinstance(type_, ScalarType) and type(value).__module__ == "numpy"
    return value.item() if is_numpy and hasattr(value, "item") else value


def _held_object(type_: Type, value: Any) -> Any:
    """Check a value that has no JSON form: a table, a model, a list of them."""
    value = in_declared_form(value, type_)
    if not _is_of_kind(type_, value):
        raise _wrong(type_, value)
    match type_:
        case VariableType(bound=bound):
            return value if bound is None else _held_output(bound, value)
        case UnionType(options=options):
            if not any(_fits(option, value) for option in options):
                raise _wrong(type_, value)
        case ListType(item=item):
            for index, each in enumerate(value):
                with about(f"[{index}]"):
                    _held_output(item, each)
        case TupleType(items=items):
            for index, (item, each) in enumerate(zip(items, value, strict=True)):
                with about(f"[{index}]"):
                    _held_output(item, each)
        case DictType(value=item):
            for key, each in value.items():
                with about(f"[{key!r}]"):
                    _held_output(item, each)
    return value


def _is_of_kind(type_: Type, value: Any) -> bool:
    match type_:
        case ArtifactType(ref=ref):
            return _is_instance(value, ref)
        case ObjectType(ref=ref):
            return _is_instance(value, ref) and _is_array(type_, value)
        case CallableType():
            return callable(value)
        case ListType(container=container):
            return isinstance(value, _CONTAINERS[container])
        case TupleType(items=items):
            return isinstance(value, tuple) and len(value) == len(items)
        case DictType():
            return isinstance(value, dict)
    return True


def _fits(type_: Type, value: Any) -> bool:
    try:
        _held_output(type_, value)
    except (WrongValueError, ComponentError):
        return False
    return True


def _is_instance(value: Any, ref: str) -> bool:
    # By name first: the class may be a notebook's or a script's own, and a wrong value should import nothing.
    if any(ref_of(cls) == ref for cls in type(value).__mro__):
        return True
    try:
        cls = resolve_ref(ref)
    except NotFoundError:
        return False  # a class that can't be found here
    if is_protocol(cls):  # those that are not @runtime_checkable refuse isinstance
        return all(hasattr(value, name) for name in get_protocol_members(cls))
    return isinstance(value, cls)


def _is_array(type_: ObjectType, value: Any) -> bool:
    """Say whether an array is of the dtype and the number of axes that its type says, if it says any."""
    if type_.dtype and type_.dtype[0] not in (base.__name__ for base in value.dtype.type.__mro__):
        return False
    return type_.ndim is None or value.ndim == type_.ndim


def _wrong(type_: Type, value: Any, reason: str = "") -> WrongValueError:
    return WrongValueError(
        f"expected {type_}, got {_name(value)}" + (f": {reason}" if reason else ""),
        hint="does every path of the function return a value?" if value is None else None,
    )


def _name(value: Any) -> str:
    return "None" if value is None else type(value).__name__
