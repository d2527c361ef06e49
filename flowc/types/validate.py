"""From the type language back to Python: values checked against a type, and turned to JSON and back."""

from __future__ import annotations

import datetime
import enum
import functools
import pathlib
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Union

import annotated_types
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    DirectoryPath,
    Field,
    FilePath,
    NaiveDatetime,
    PlainSerializer,
    PlainValidator,
    SecretBytes,
    SecretStr,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)
from typing_extensions import TypedDict

from flowc.errors import UsageError
from flowc.types.limits import meant
from flowc.types.model import (
    AnyType,
    BytesLiteralType,
    CallableType,
    Check,
    DictType,
    EnumType,
    ListType,
    LiteralType,
    ModelType,
    RefinedType,
    ScalarName,
    ScalarType,
    TupleType,
    Type,
    UnionType,
    VariableType,
    short_name,
)
from flowc.types.names import resolve_ref

_PYTHON: dict[ScalarName, Any] = {
    "none": None,
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "bytes": bytes,
    "path": pathlib.Path,
    "decimal": Decimal,
    "uuid": uuid.UUID,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
    "secret": SecretStr,
    "secret_bytes": SecretBytes,
}
_WRITTEN = (("int", "int"), ("int", "float"), ("float", "float"), ("bool", "bool"))
_CONTAINERS: dict[str, Any] = {"list": list, "set": set, "frozenset": frozenset, "sequence": Sequence}
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "before": BeforeValidator,
    "after": AfterValidator,
    "wrap": WrapValidator,
    "plain": PlainValidator,
    "predicate": annotated_types.Predicate,
}


def is_value(type_: Type) -> bool:
    """Say whether values of this type have a JSON form, so that they can be parameters and constants."""
    match type_:
        case ListType(item=item):
            return is_value(item)
        case TupleType(items=items) | UnionType(options=items):
            return all(map(is_value, items))
        case DictType(key=key, value=value):
            return is_value(key) and is_value(value)
        case RefinedType(base=base):
            return is_value(base)
        case VariableType(bound=bound):
            return bound is None or is_value(bound)
        case ModelType(fields=fields):
            return all(is_value(field.type) for field in fields or ())
        case _:
            return isinstance(type_, AnyType | ScalarType | LiteralType | BytesLiteralType | EnumType)


def takes_values(type_: Type) -> bool:
    """Say whether a constant can be given where this type is wanted; of a union, one option is enough."""
    options = type_.options if isinstance(type_, UnionType) else ()
    return is_value(type_) or any(map(takes_values, options))


def takes_functions(type_: Type) -> bool:
    """Say whether a function can be given where this type is wanted; of a union, one option is enough."""
    options = type_.options if isinstance(type_, UnionType) else ()
    if isinstance(type_, VariableType):
        return type_.bound is None or takes_functions(type_.bound)
    return isinstance(type_, AnyType | CallableType) or any(map(takes_functions, options))


def python_type(type_: Type) -> Any:
    """Return the annotation that pydantic validates this type by: of a union, the options that values can be.

    Raises UsageError where the type has no JSON form, NotFoundError where its class can't be imported.
    """
    match type_:
        case ScalarType():
            return _scalar(type_)
        case AnyType():
            return Any
        case VariableType(bound=bound):
            return Any if bound is None else python_type(bound)
        case LiteralType(values=values):
            return Literal[values]
        case BytesLiteralType(values=texts):
            return _bytes_literal(texts)
        case EnumType():
            return _enum(type_)
        case ModelType(ref=ref, args=args, fields=fields):
            if fields is not None:
                return _typed_dict(type_)
            cls = resolve_ref(ref)
            return cls[tuple(map(python_type, args))] if args else cls
        case ListType(container=container, item=item):
            return _sized(type_, _container(container, python_type(item)))
        case TupleType(items=items):
            return tuple.__class_getitem__(tuple(map(python_type, items)))
        case DictType(key=key, value=value):
            return _sized(type_, dict.__class_getitem__((python_type(key), python_type(value))))
        case UnionType(options=options, discriminator=discriminator):
            union: Any = Union[tuple(map(python_type, filter(takes_values, options)))]  # noqa: UP007  # there is no X | Y of a list
            return union if discriminator is None else Annotated[union, Field(discriminator=discriminator)]
        case RefinedType(base=base, checks=checks):
            return _refined(python_type(base), checks)
    raise UsageError(f"a value of type {type_} can't be given here; make it the output of a component")


def _scalar(type_: ScalarType) -> Any:
    plain = _PYTHON[type_.name]
    if type_.zone is not None:
        plain = AwareDatetime if type_.zone == "aware" else NaiveDatetime
    extras: list[Any] = []
    if limits := {key: meant(type_.name, value) for key, value in type_.constraints().items()}:
        extras.append(Field(**limits))
    if type_.change:
        changes: dict[str, Any] = dict.fromkeys(type_.change, True)
        extras.append(StringConstraints(**changes))
    return Annotated[(plain, *extras)] if extras else plain


def _container(container: str, item: Any) -> Any:
    if container == "tuple":
        return tuple.__class_getitem__((item, ...))
    if container == "collection":
        options = [_CONTAINERS[each][item] for each in ("sequence", "set", "frozenset")]
        return Union[tuple(options)]  # noqa: UP007  # there is no X | Y of a list
    return _CONTAINERS[container][item]


def _sized(type_: ListType | DictType, plain: Any) -> Any:
    if type_.min_length is None and type_.max_length is None:
        return plain
    return Annotated[plain, Field(min_length=type_.min_length, max_length=type_.max_length)]


def _bytes_literal(texts: tuple[str, ...]) -> Any:
    known = {text: text.encode("latin-1") for text in texts}

    def decoded(value: Any) -> Any:
        return known.get(value, value) if isinstance(value, str) else value

    def encoded(value: bytes) -> str:
        return value.decode("latin-1")

    encode = PlainSerializer(encoded, when_used="json")
    return Annotated[Literal[tuple(known.values())], BeforeValidator(decoded), encode]


def _enum(type_: EnumType) -> Any:
    cls = resolve_ref(type_.ref)
    if type_.only is None:
        return cls
    allowed = [cls[name] for name in type_.only]

    def among(value: enum.Enum) -> enum.Enum:
        if value not in allowed:
            raise ValueError(f"{value} is not among {type_}")
        return value

    return Annotated[cls, AfterValidator(among)]


def _typed_dict(type_: ModelType) -> Any:
    # Made again of its fields: pydantic refuses typing's own TypedDict before Python 3.12.
    optional: Any = NotRequired
    fields: dict[str, Any] = {}
    for field in type_.fields or ():
        plain = python_type(field.type)
        fields[field.name] = plain if field.required else optional[plain]
    make: Any = TypedDict
    made = make(short_name(type_.ref), fields)
    if type_.closed:
        made.__pydantic_config__ = {"extra": "forbid"}
    return made


def _refined(plain: Any, checks: tuple[Check, ...]) -> Any:
    return Annotated[(plain, *(_CHECKS[check.mode](resolve_ref(check.ref)) for check in checks))]


@functools.lru_cache(maxsize=1024)
def _scalar_adapter(type_: ScalarType) -> TypeAdapter[Any]:
    return TypeAdapter(python_type(type_))


def adapter(type_: Type) -> TypeAdapter[Any]:
    """Return pydantic's validator for a type; scalars' are kept, since most ports are scalars."""
    return _scalar_adapter(type_) if isinstance(type_, ScalarType) else TypeAdapter(python_type(type_))


def validated(type_: Type, value: Any) -> Any:
    """Return a Python value held to the type, converted as pydantic does it (an int where a float is asked).

    Raises UsageError with pydantic's reasons.
    """
    try:
        return adapter(type_).validate_python(value)
    except ValidationError as error:
        raise UsageError(f"expected {type_}: {_reasons(error)}") from error


def validated_constant(type_: Type, value: Any) -> Any:
    """Return a value that stands in the user's code, held to the type.

    A text, flag or number that pydantic would make a number or flag of another kind is refused, as it would be if a
    component made it: the function called by itself gets what is written. Raises UsageError with the reasons.
    """
    if _is_of_another_kind(type_, value):
        raise UsageError(f"expected {type_}, got {value!r}")
    return validated(type_, value)


def _is_of_another_kind(type_: Type, value: Any) -> bool:
    kind = type(value).__name__
    match type_:
        case UnionType(options=options):
            return all(_is_of_another_kind(option, value) for option in options)
        case ScalarType(name="none"):
            return value is not None
        case ScalarType(name="int" | "float" | "bool" as wanted):
            return kind in ("str", "bool", "int", "float") and (kind, wanted) not in _WRITTEN
    return False


def validated_json(type_: Type, value: Any) -> Any:
    """Return the Python value of one that came as JSON data."""
    try:
        return adapter(type_).validate_python(value, strict=False)
    except ValidationError as error:
        raise UsageError(f"expected {type_}: {_reasons(error)}") from error


def unwidened(value: Any, written: Any) -> Any:
    """Return a value with the whole numbers that stand where a float may: `rate: float = 1` is 1 in a kernel."""
    match value, written:
        case float(), int():
            return written
        case (list() | tuple(), list() | tuple()) if len(value) == len(written):
            return type(value)(map(unwidened, value, written))
        case dict(), dict():
            return {key: unwidened(each, written.get(key)) for key, each in value.items()}
    return value


def validated_text(type_: Type, text: str) -> Any:
    """Return the Python value that a text from a command line or a form stands for.

    Scalars are read as they stand, an enum's member by its name or value, everything else as JSON; a union tries
    both ways.
    """
    if isinstance(type_, EnumType) and text in type_.allowed():
        return resolve_ref(type_.ref)[text]
    try:
        return adapter(type_).validate_strings(text)
    except ValidationError as error:
        if isinstance(type_, ScalarType | LiteralType):
            raise UsageError(f"expected {type_}, got {text!r}: {_reasons(error)}") from error
    if isinstance(type_, UnionType | AnyType) and text in ("None", "null"):
        text = "null"
    try:
        return adapter(type_).validate_json(text)
    except ValidationError as error:
        raise UsageError(f"expected {type_}, got {text!r}: {_reasons(error)}") from error


def must_exist(type_: Type, value: Any) -> None:
    """Raise UsageError where the type says that a file or folder is at a path, and none is.

    Apart from `validated`, since a path written in a pipeline is relative to its file, and complete only in a task.
    """
    if isinstance(type_, UnionType):
        for option in type_.options:
            must_exist(option, value)
    elif isinstance(type_, ScalarType) and type_.exists and isinstance(value, pathlib.Path):
        try:
            TypeAdapter(FilePath if type_.exists == "file" else DirectoryPath).validate_python(value)
        except ValidationError as error:
            raise UsageError(f"no {type_.exists} is at {value}") from error


def to_json(type_: Type, value: Any) -> Any:
    """Return a value's JSON form; a secret's is its mask."""
    return adapter(type_).dump_python(value, mode="json")


def _reasons(error: ValidationError) -> str:
    def reason(item: Any) -> str:
        place = ".".join(map(str, item["loc"]))
        return f"{place}: {item['msg']}" if place else str(item["msg"])

    return "; ".join(dict.fromkeys(map(reason, error.errors(include_url=False))))
