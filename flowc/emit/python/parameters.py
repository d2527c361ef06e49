"""The pipeline's parameters as arguments: annotation and default from the IR, and for enums from the notebook.

The IR knows the members of a notebook's enum by name only, since the driver can't import the notebook; the module
has the class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from flowc.emit.python.annotations import Annotations
from flowc.emit.python.refusal import refuse
from flowc.emit.python.statements import Statement
from flowc.ir import Binding, FromParameter, Parameter, Pipeline
from flowc.types.model import ListType, LiteralType, Type, UnionType
from flowc.types.secret import holds_secret


class ParameterText:
    """Writes parameters. `definitions` is what stands at the top of the module."""

    def __init__(
        self, pipeline: Pipeline, annotations: Annotations, definitions: Iterable[Statement]
    ) -> None:
        self._pipeline = pipeline
        self._annotations = annotations
        self._top = {name for each in definitions for name in each.names.binds}
        self._enums = {
            each.node.name
            for each in definitions
            if isinstance(each.node, ast.ClassDef)
            and any(ast.unparse(base).endswith(("Enum", "Flag")) for base in each.node.bases)
        }
        self._written = {each.name: self._parameter(each) for each in pipeline.parameters}

    def signature(self) -> dict[str, str]:
        """Return the parameters as they stand in a `def`, those without a default first, each with its comment."""
        texts = {}
        for parameter in sorted(self._pipeline.parameters, key=lambda each: not each.required):
            annotation, default = self._written[parameter.name]
            text = f"{parameter.name}: {annotation}" + (f" = {default}" if default else "")
            comment = " ".join(parameter.description.split())
            # A pipeline's function runs once, and hands its arguments on: nobody changes them.
            kept = "noqa: B006" if default.startswith(("[", "{")) else ""
            texts[text] = "  # ".join(filter(None, (comment, kept)))
        return texts

    def annotation(self, binding: Binding, type_: Type) -> str:
        """Return the annotation of an input that is bound so."""
        if isinstance(binding, FromParameter):
            return self._written[binding.parameter][0]
        return self._annotations.type(type_)

    def _parameter(self, parameter: Parameter) -> tuple[str, str]:
        if holds_secret(parameter.type) and not parameter.required:
            message = f"parameter '{parameter.name}' is secret, and its default is not known"
            refuse(message, parameter.source, f"give it no default: {parameter.name}: SecretStr")
        if _names_members(parameter.type):
            enum = self._of_enum(parameter)
            if enum is not None:
                return enum
        annotation = self._annotations.type(parameter.type)
        if parameter.required:
            return annotation, ""
        return annotation, self._annotations.value(parameter.type, parameter.default)

    def _of_enum(self, parameter: Parameter) -> tuple[str, str] | None:
        """Return annotation and default as the notebook has them, where they speak of an enum."""
        found = self._assignment(parameter)
        if found is None:
            return None
        annotation, value = found
        parts = [node for node in (annotation, value) if node is not None]
        names = {each.id for part in parts for each in ast.walk(part) if isinstance(each, ast.Name)}
        classes = sorted(names & self._enums)
        if not classes:
            if value is not None and not isinstance(value, ast.Constant | ast.List) and annotation is None:
                hint = "define it in a cell tagged 'functions', from imports and constants"
                refuse(f"the enum of parameter '{parameter.name}' is not at the top", parameter.source, hint)
            return None
        if annotation is not None:
            written = ast.unparse(annotation)
        else:
            written = f"list[{classes[0]}]" if isinstance(value, ast.List) else classes[0]
        return written, ast.unparse(value) if value is not None else ""

    def _assignment(self, parameter: Parameter) -> tuple[ast.expr | None, ast.expr | None] | None:
        cell = next(
            (
                each
                for each in self._pipeline.cells
                if parameter.source and each.index == parameter.source.cell
            ),
            None,
        )
        body: Sequence[ast.stmt] = ast.parse(cell.source).body if cell else ()
        for node in body:
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    if name == parameter.name:
                        return annotation, value
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if name == parameter.name:
                        return None, value
        return None


def _names_members(type_: Type) -> bool:
    match type_:
        case LiteralType():
            return True
        case ListType(item=item):
            return _names_members(item)
        case UnionType(options=options):
            return any(map(_names_members, options))
    return False
