"""The type language as data: what a port or a parameter may hold, in a form that travels as JSON.

A type names classes as "module:qualname" and never holds them, so a pipeline can be read, checked and drawn
without importing the code that it was made from.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from flowc.frozen import Frozen, Variant

ScalarName = Literal[
    "none", "bool", "int", "float", "str", "bytes", "path", "date", "datetime", "time", "timedelta", "secret"
]

CONSTRAINTS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")


class AnyType(Variant):
    """No type was said: anything flows in and out."""

    kind: Literal["any"] = "any"

    def __str__(self) -> str:
        return "Any"


class ScalarType(Variant):
    """A plain value with pydantic's constraints on it."""

    kind: Literal["scalar"] = "scalar"
    name: ScalarName
    ge: int | float | None = None
    gt: int | float | None = None
    le: int | float | None = None
    lt: int | float | None = None
    multiple_of: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None

    def constraints(self) -> dict[str, int | float | str]:
        """Return the constraints that are set, by pydantic's names."""
        values = ((name, getattr(self, name)) for name in CONSTRAINTS)
        return {name: value for name, value in values if value is not None}

    def __str__(self) -> str:
        name = {"none": "None", "secret": "SecretStr", "path": "Path"}.get(self.name, self.name)
        limits = ", ".join(f"{key}={value!r}" for key, value in self.constraints().items())
        return f"{name}({limits})" if limits else name


class LiteralType(Variant):
    kind: Literal["literal"] = "literal"
    values: tuple[bool | int | str | None, ...]

    def __str__(self) -> str:
        return f"Literal[{', '.join(map(repr, self.values))}]"


class EnumType(Variant):
    kind: Literal["enum"] = "enum"
    ref: str
    members: dict[str, Any]

    def __str__(self) -> str:
        return short_name(self.ref)


class ListType(Variant):
    """`list`, `set`, `frozenset` and the homogeneous `tuple[T, ...]`."""

    kind: Literal["list"] = "list"
    container: Literal["list", "set", "frozenset", "tuple"] = "list"
    item: Type

    def __str__(self) -> str:
        return f"{self.container}[{self.item}{', ...' if self.container == 'tuple' else ''}]"


class TupleType(Variant):
    kind: Literal["tuple"] = "tuple"
    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.items)) or '()'}]"


class DictType(Variant):
    kind: Literal["dict"] = "dict"
    key: Type
    value: Type

    def __str__(self) -> str:
        return f"dict[{self.key}, {self.value}]"


class UnionType(Variant):
    kind: Literal["union"] = "union"
    options: tuple[Type, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.options))


class ModelType(Variant):
    """A pydantic model, dataclass, NamedTuple or TypedDict used as a value; `json_schema` is pydantic's."""

    kind: Literal["model"] = "model"
    ref: str
    bases: tuple[str, ...] = ()
    json_schema: dict[str, Any]

    def __str__(self) -> str:
        return short_name(self.ref)


class CallableType(Variant):
    """A function handed to a component, such as the one that builds a model."""

    kind: Literal["callable"] = "callable"

    def __str__(self) -> str:
        return "Callable"


class Column(Frozen):
    """A table's column. `type` is Arrow's own name of the type, such as `int64` or `timestamp[us, tz=UTC]`."""

    name: str
    type: str
    nullable: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.type}{'?' if self.nullable else ''}"


class ArtifactType(Variant):
    """One of the nominal artifact classes, ours or a user's. `bases` holds its artifact ancestors, nearest first.

    `columns` is None where a table's columns are not said; `row` names the class that says them.
    """

    kind: Literal["artifact"] = "artifact"
    ref: str
    bases: tuple[str, ...] = ()
    row: str | None = None
    columns: tuple[Column, ...] | None = None

    def __str__(self) -> str:
        return short_name(self.ref) + (f"[{short_name(self.row)}]" if self.row else "")


class ObjectType(Variant):
    """Any other class: `pandas.DataFrame`, `numpy.ndarray`, a Keras model. Its codec is chosen by type."""

    kind: Literal["object"] = "object"
    ref: str
    bases: tuple[str, ...] = ()

    def __str__(self) -> str:
        return short_name(self.ref)


Type = Annotated[
    AnyType
    | ScalarType
    | LiteralType
    | EnumType
    | ListType
    | TupleType
    | DictType
    | UnionType
    | ModelType
    | CallableType
    | ArtifactType
    | ObjectType,
    Field(discriminator="kind"),
]

for _model in (ListType, TupleType, DictType, UnionType):
    _model.model_rebuild()


def short_name(ref: str) -> str:
    """Return the last part of a "module:qualname" reference: what a person calls the class."""
    return ref.rpartition(":")[2].rpartition(".")[2]
