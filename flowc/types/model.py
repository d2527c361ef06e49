"""The type language as data: what a port or a parameter may hold, in a form that travels as JSON.

A type names classes as "module:qualname" and never holds them, so a pipeline can be read, checked and drawn
without importing the code that it was made from.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from flowc.frozen import Frozen, Variant
from flowc.types.column import Column, RowChange
from flowc.types.limits import Limits

ScalarName = Literal[
    "none",
    "bool",
    "int",
    "float",
    "str",
    "bytes",
    "path",
    "decimal",
    "uuid",
    "date",
    "datetime",
    "time",
    "timedelta",
    "secret",
    "secret_bytes",
]
_SHOWN = {"none": "None", "secret": "SecretStr", "secret_bytes": "SecretBytes", "path": "Path"} | {
    "decimal": "Decimal",
    "uuid": "UUID",
}


class AnyType(Variant):
    """No type was said: anything flows in and out."""

    kind: Literal["any"] = "any"

    def __str__(self) -> str:
        return "Any"


class ScalarType(Variant, Limits):
    """A plain value with pydantic's constraints on it.

    `zone` says whether a datetime has one, `exists` what is to be at a path when a task gets it, `change` what
    pydantic does to a text before it looks at its bounds.
    """

    kind: Literal["scalar"] = "scalar"
    name: ScalarName
    zone: Literal["aware", "naive"] | None = None
    exists: Literal["file", "folder"] | None = None
    change: tuple[Literal["strip_whitespace", "to_lower", "to_upper"], ...] = ()

    def __str__(self) -> str:
        said = [f"{key}={value!r}" for key, value in self.constraints().items()]
        said += [value for value in (self.zone, self.exists, *self.change) if value]
        name = _SHOWN.get(self.name, self.name)
        return f"{name}({', '.join(said)})" if said else name


class LiteralType(Variant):
    kind: Literal["literal"] = "literal"
    values: tuple[bool | int | str | None, ...]

    def __str__(self) -> str:
        return f"Literal[{', '.join(map(repr, self.values))}]"


class BytesLiteralType(Variant):
    """Literals of bytes, each byte written as the character of its number (Latin-1)."""

    kind: Literal["bytes_literal"] = "bytes_literal"
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"Literal[{', '.join(repr(value.encode('latin-1')) for value in self.values)}]"


class EnumType(Variant):
    """An Enum, by its members' names and values; `only` are the members that a Literal allows.

    `mixin` is what its members also are, as those of an IntEnum are ints.
    """

    kind: Literal["enum"] = "enum"
    ref: str
    members: dict[str, Any]
    mixin: Literal["int", "float", "str"] | None = None
    only: tuple[str, ...] | None = None

    def allowed(self) -> tuple[str, ...]:
        """Return the names of the members that a value may be."""
        return tuple(self.members) if self.only is None else self.only

    def __str__(self) -> str:
        name = short_name(self.ref)
        return name if self.only is None else f"Literal[{', '.join(f'{name}.{each}' for each in self.only)}]"


class _Sized(Variant):
    min_length: int | None = None
    max_length: int | None = None

    def _with_lengths(self, text: str) -> str:
        said = [f"{key}={getattr(self, key)}" for key in ("min_length", "max_length")]
        said = [each for each in said if not each.endswith("=None")]
        return f"{text}({', '.join(said)})" if said else text


class ListType(_Sized):
    """`list`, `set`, `frozenset`, the homogeneous `tuple[T, ...]`, a `Sequence` (a list or tuple), and a
    `collection` (`Iterable` or `Collection`: any of these)."""

    kind: Literal["list"] = "list"
    container: Literal["list", "set", "frozenset", "tuple", "sequence", "collection"] = "list"
    item: Type

    def __str__(self) -> str:
        name = self.container.capitalize() if self.container in ("sequence", "collection") else self.container
        return self._with_lengths(f"{name}[{self.item}{', ...' if name == 'tuple' else ''}]")


class TupleType(Variant):
    kind: Literal["tuple"] = "tuple"
    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.items)) or '()'}]"


class DictType(_Sized):
    kind: Literal["dict"] = "dict"
    key: Type
    value: Type

    def __str__(self) -> str:
        return self._with_lengths(f"dict[{self.key}, {self.value}]")


class UnionType(Variant):
    """Any of several types. `discriminator` is the field that tells models apart, where one was named."""

    kind: Literal["union"] = "union"
    options: tuple[Type, ...]
    discriminator: str | None = None

    def __str__(self) -> str:
        return " | ".join(map(str, self.options))


class Check(Frozen):
    """A function of the user's that pydantic calls before, after or instead of its own validation."""

    mode: Literal["before", "after", "wrap", "plain", "predicate"]
    ref: str


class RefinedType(Variant):
    """A type whose values functions validate too: `Annotated[int, AfterValidator(even)]`."""

    kind: Literal["refined"] = "refined"
    base: Type
    checks: tuple[Check, ...]

    def __str__(self) -> str:
        return f"{self.base}({', '.join(short_name(check.ref) for check in self.checks)})"


class FieldType(Frozen):
    """A key of a TypedDict."""

    name: str
    type: Type
    required: bool = True


class ModelType(Variant):
    """A class that pydantic validates: a model, dataclass, NamedTuple, TypedDict, or one such as `IPv4Address`.

    `json_schema` is pydantic's. `args` are those of a generic class, `base_args` those of its generic bases. A
    TypedDict has no class at run time, and is compared by its `fields`; `closed` says that there are no others.
    """

    kind: Literal["model"] = "model"
    ref: str
    bases: tuple[str, ...] = ()
    args: tuple[Type, ...] = ()
    base_args: dict[str, tuple[Type, ...]] = {}
    fields: tuple[FieldType, ...] | None = None
    closed: bool = False
    json_schema: dict[str, Any]

    def __str__(self) -> str:
        return short_name(self.ref) + (f"[{', '.join(map(str, self.args))}]" if self.args else "")


class CallableType(Variant):
    """A function handed to a component, such as the one that builds a model."""

    kind: Literal["callable"] = "callable"

    def __str__(self) -> str:
        return "Callable"


class ArtifactType(Variant):
    """One of the nominal artifact classes, ours or a user's. `bases` holds its artifact ancestors, nearest first.

    `columns` is None where a table's columns are not said; `row` is what the annotation calls the row. A table
    that is `open` may have others that are not known. Where the row is a TypeVar, `variable` names it, and
    `changes` are made to what it stands for in a call, in this order.
    """

    kind: Literal["artifact"] = "artifact"
    ref: str
    bases: tuple[str, ...] = ()
    row: str | None = None
    columns: tuple[Column, ...] | None = None
    open: bool = False
    variable: str | None = None
    changes: tuple[RowChange, ...] = ()

    def __str__(self) -> str:
        return short_name(self.ref) + (f"[{short_name(self.row)}]" if self.row else "")


class ObjectType(Variant):
    """Any other class: `pandas.DataFrame`, `numpy.ndarray`, a Keras model. Its codec is chosen by type.

    `dtype` names an array's scalar class and its ancestors, nearest first. `abstract` says that other classes
    than its subclasses may be of it: a Protocol, or an ABC that they register with.
    """

    kind: Literal["object"] = "object"
    ref: str
    bases: tuple[str, ...] = ()
    dtype: tuple[str, ...] = ()
    ndim: int | None = None
    abstract: bool = False

    def __str__(self) -> str:
        said = [*self.dtype[:1], *([f"ndim={self.ndim}"] if self.ndim is not None else [])]
        return short_name(self.ref) + (f"[{', '.join(said)}]" if said else "")


class VariableType(Variant):
    """A TypeVar: one type for each call of a component. `bound` is what it may be."""

    kind: Literal["variable"] = "variable"
    name: str
    bound: Type | None = None

    def __str__(self) -> str:
        return self.name


Type = Annotated[
    AnyType
    | ScalarType
    | LiteralType
    | BytesLiteralType
    | EnumType
    | ListType
    | TupleType
    | DictType
    | UnionType
    | RefinedType
    | ModelType
    | CallableType
    | ArtifactType
    | ObjectType
    | VariableType,
    Field(discriminator="kind"),
]

for _model in (ListType, TupleType, DictType, UnionType, RefinedType, FieldType, ModelType, VariableType):
    _model.model_rebuild()


def short_name(ref: str) -> str:
    """Return the last part of a "module:qualname" reference: what a person calls the class."""
    return ref.rpartition(":")[2].rpartition(".")[2]
