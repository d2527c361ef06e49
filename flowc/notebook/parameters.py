"""The notebook's parameters: the assignments of its `parameters` cells, with types and defaults."""

from __future__ import annotations

import ast
import enum
import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flowc.diagnostics import Diagnostic
from flowc.errors import UsageError
from flowc.ir import Parameter
from flowc.notebook.lines import PlainCell
from flowc.notebook.literals import Literals, NotLiteralError, annotation_of_value
from flowc.notebook.model import Notebook, diagnose
from flowc.types.describe import describe
from flowc.types.model import EnumType, ListType, LiteralType, Type, UnionType
from flowc.types.validate import is_value, to_json, unwidened, validated


@dataclass(frozen=True, slots=True)
class Assigned:
    """One parameter: the statement that assigns it (cell and position), and whether its value can be changed."""

    parameter: Parameter
    cell: int
    position: int
    kind: str | None


def read_parameters(
    notebook: Notebook, cells: Iterable[PlainCell], wanted: frozenset[int], module: str
) -> tuple[list[Assigned], list[Diagnostic]]:
    """Return the parameters of the cells `wanted`; `module` is the name of the notebook's definitions' module."""
    literals = Literals(module)
    found: dict[str, Assigned] = {}
    problems: list[Diagnostic] = []
    for plain in cells:
        for position, statement in enumerate(plain.tree.body):
            literals.learn(statement)
            if plain.cell.index not in wanted:
                continue
            reader = _Reader(notebook, plain, literals)
            for assigned in reader.read(statement, position):
                name = assigned.parameter.name
                if name in found:
                    problems.append(_twice(found[name], assigned))
                found[name] = assigned
            problems += reader.problems
    return list(found.values()), problems


def _twice(first: Assigned, second: Assigned) -> Diagnostic:
    source = first.parameter.source
    return diagnose(
        "FC024",
        f"parameter '{first.parameter.name}' is assigned twice",
        second.parameter.source,
        hint="keep one of the two",
        related=(("first assigned here", source),) if source else (),
    )


class _Reader:
    """Reads the assignments of one cell."""

    def __init__(self, notebook: Notebook, plain: PlainCell, literals: Literals) -> None:
        self._notebook = notebook
        self._plain = plain
        self._literals = literals
        self.problems: list[Diagnostic] = []

    def read(self, statement: ast.stmt, position: int) -> Iterable[Assigned]:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                yield from self._one(statement, position, name, annotation, value)
            case ast.Assign(targets=targets, value=value):
                found = [
                    assigned
                    for target in targets
                    for assigned in self._targets(statement, position, target, value)
                ]
                if not found or self._is_whole(statement, found):
                    yield from found

    def _is_whole(self, statement: ast.Assign, found: Sequence[Assigned]) -> bool:
        """Say whether parameters from outside stand for all that the statement does; tell where they do not."""
        names = [assigned.parameter.name for assigned in found]
        others = [
            ast.unparse(node)
            for target in statement.targets
            for node in ast.walk(target)
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Starred)
            and not isinstance(node.ctx, ast.Load)
            and not (isinstance(node, ast.Name) and node.id in names)
        ]
        place = self._notebook.place(self._plain.cell.index, statement.lineno, statement.col_offset + 1)
        if others:
            message = f"'{names[0]}' can't be given from outside: its statement sets '{others[0]}' too"
            hint = f"assign '{names[0]}' in a statement of its own"
            self.problems.append(diagnose("FC024", message, place, severity="warning", hint=hint))
        elif found[0].kind and len(statement.targets) > 1:
            message = f"'{names[0]}' and '{names[-1]}' are one {found[0].kind}, which parameters can't be"
            hint = f"write '{names[-1]} = {names[0]}' below it"
            self.problems.append(diagnose("FC024", message, place, hint=hint))
        return not others

    def _targets(
        self, statement: ast.stmt, position: int, target: ast.expr, value: ast.expr
    ) -> Iterable[Assigned]:
        match target, value:
            case ast.Name(id=name), _:
                yield from self._one(statement, position, name, None, value)
            case (
                ast.Tuple(elts=targets) | ast.List(elts=targets),
                ast.Tuple(elts=values) | ast.List(elts=values),
            ) if len(targets) == len(values):
                if all(isinstance(part, ast.Name) for part in targets):
                    for part, one in zip(targets, values, strict=True):
                        yield from self._targets(statement, position, part, one)

    def _one(
        self,
        statement: ast.stmt,
        position: int,
        name: str,
        annotation: ast.expr | None,
        node: ast.expr | None,
    ) -> Iterable[Assigned]:
        place = self._notebook.place(self._plain.cell.index, statement.lineno, statement.col_offset + 1)
        try:
            value = self._literals.value(node) if node is not None else None
        except NotLiteralError:
            return
        try:
            type_ = self._type(annotation, value)
            default = self._default(type_, value) if node is not None else None
        except (UsageError, NotLiteralError) as error:
            hint = "use builtins, Literal, Path, dates or an Enum of the notebook, and a value of the type"
            message = f"parameter '{name}': {error}"
            self.problems.append(diagnose("FC025", message, place, hint=hint))
            return
        parameter = Parameter(
            name=name,
            type=type_,
            required=node is None,
            default=default,
            description=_comment(self._plain.source, statement),
            source=place,
        )
        kind = type(value).__name__ if isinstance(value, list | dict | set) else None
        yield Assigned(parameter, self._plain.cell.index, position, kind)

    def _type(self, annotation: ast.expr | None, value: Any) -> Type:
        if annotation is None:
            return _by_name(describe(annotation_of_value(value)))
        try:
            meant = self._literals.annotation(annotation)
        except NotLiteralError as error:
            raise NotLiteralError(
                f"the annotation '{error}' can't be understood without running cells"
            ) from error
        described = _by_name(describe(meant))
        if not is_value(described):
            raise UsageError(f"a value of type {described} can't be given from outside")
        return described

    def _default(self, type_: Type, value: Any) -> Any:
        value = _plain(value)
        held = validated(type_, value)
        if not isinstance(held, pathlib.PurePath) and held != value:
            raise UsageError(f"{value!r} is not a {type_}")
        return unwidened(to_json(type_, held), value)


def _plain(value: Any) -> Any:
    """Return a value with the names of enum members in their place: so they travel."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _by_name(type_: Type) -> Type:
    """Return the type with enums of the notebook as their members' names: the driver can't import the notebook."""
    match type_:
        case EnumType():
            return LiteralType(values=type_.allowed())
        case UnionType(options=options):
            return UnionType(options=tuple(map(_by_name, options)))
        case ListType(item=item):
            return type_.model_copy(update={"item": _by_name(item)})
    return type_


def _comment(source: str, statement: ast.stmt) -> str:
    """Return the comment at the end of a statement's last line."""
    lines = source.split("\n")
    line = lines[(statement.end_lineno or 1) - 1].encode()[statement.end_col_offset or 0 :].decode()
    _, mark, comment = line.partition("#")
    return comment.strip() if mark else ""
