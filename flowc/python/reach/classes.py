"""Which classes do something when they are defined, and which only hold fields when they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from flowc.python.reach.module import Module
from flowc.python.reach.project import Project

# Bases that keep a list of what derives from them, when a class of the project stands between.
_REGISTRIES: Final = frozenset(
    ("sqlalchemy", "sqlmodel", "django", "peewee", "mongoengine", "luigi", "tortoise")
)
_FIELDS: Final = frozenset(
    (
        *(
            "pydantic.BaseModel",
            "pydantic.main.BaseModel",
            "typing.NamedTuple",
            "typing.TypedDict",
            "builtins.object",
        ),
        *(
            "typing_extensions.NamedTuple",
            "typing_extensions.TypedDict",
            "enum.Enum",
            "enum.IntEnum",
            "enum.StrEnum",
        ),
        "typing.Generic",
    )
)
_FIELD_MAKERS: Final = frozenset(("Field", "field", "auto", "ConfigDict"))
_OWN_WAYS: Final = frozenset(
    (
        "__init__",
        "__new__",
        "__post_init__",
        "__setattr__",
        "__getattribute__",
        "__init_subclass__",
        "__set_name__",
    )
) | frozenset(("model_post_init", "_missing_", "_generate_next_value_", "__set__", "__get__"))
_PLAIN_DECORATORS: Final = frozenset(
    ("property", "classmethod", "staticmethod", "cached_property", "override")
)


def registers_itself(project: Project, module: Module, node: ast.ClassDef) -> bool:
    """Say whether a class's bases may take note of it: by `__init_subclass__`, a metaclass, or a registry."""
    if any(keyword.arg == "metaclass" and not _is_abstract(keyword.value) for keyword in node.keywords):
        return True
    for owner, above in _ancestors(project, module, node):
        if above is None or isinstance(above, str):
            if above is None or above.partition(".")[0] in _REGISTRIES:
                return True
        elif owner is not None and above is not node:
            names = {each.name for each in above.body if isinstance(each, ast.FunctionDef)}
            special = any(each.arg == "metaclass" and not _is_abstract(each.value) for each in above.keywords)
            if special or "__init_subclass__" in names or (above.decorator_list and not _is_dataclass(above)):
                return True
    return False


def is_record(project: Project, module: Module, node: ast.ClassDef) -> bool:
    """Say whether calling a class only sets fields: nothing of the project's own is executed."""
    for _, above in _ancestors(project, module, node):
        if above is None:
            return False
        if isinstance(above, str):
            if above not in _FIELDS:
                return False
        elif not _has_plain_body(above):
            return False
    return True


def _ancestors(
    project: Project, module: Module, node: ast.ClassDef
) -> Iterator[tuple[Module | None, ast.ClassDef | str | None]]:
    """Yield a class and all above it: the project's as nodes, a library's by its name, None for one unknown.

    A class's direct bases in libraries count too.
    """
    seen = set()
    waiting = [(module, node)]
    while waiting:
        owner, current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield owner, current
        for base in current.bases:
            dotted = _dotted(base)
            if dotted is None:
                yield None, None
                continue
            for target in project.named(owner, dotted[0], tuple(dotted[1:])):
                if target.kind in ("library", "missing"):
                    yield None, target.name
                elif target.kind == "definition":
                    home = project.module(target.module)
                    assert home is not None
                    nodes = [home.statements[each.index].node for each in project.bindings(home, target.name)]
                    for each in nodes:
                        if isinstance(each, ast.ClassDef):
                            waiting.append((home, each))
                        else:
                            yield None, None
                elif target.kind == "whole":
                    yield None, None


def _has_plain_body(node: ast.ClassDef) -> bool:
    if node.decorator_list and not _is_dataclass(node):
        return False
    for statement in node.body:
        match statement:
            case (
                ast.FunctionDef(name=name, decorator_list=decorators)
                | ast.AsyncFunctionDef(name=name, decorator_list=decorators)
            ):
                if name in _OWN_WAYS or any(_last(each) not in _PLAIN_DECORATORS for each in decorators):
                    return False
            case ast.AnnAssign(annotation=annotation, value=value):
                if not (_is_plain_field(annotation) and _is_plain_field(value)):
                    return False
            case ast.Assign(value=value):
                if not _is_plain_field(value):
                    return False
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                return False
    return True


def _is_plain_field(value: ast.expr | None) -> bool:
    """Say whether a field's default executes nothing of the project when an instance is made."""
    if value is None:
        return True
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and _last(node.func) not in _FIELD_MAKERS:
            return False
        if isinstance(node, ast.keyword) and not _is_plain_option(node):
            return False
    return True


def _is_plain_option(option: ast.keyword) -> bool:
    made = _last(option.value) in ("list", "dict", "set", "tuple")
    return made or option.arg not in ("default_factory", "factory")


def _is_dataclass(node: ast.ClassDef) -> bool:
    return all(
        _last(each.func if isinstance(each, ast.Call) else each) == "dataclass"
        for each in node.decorator_list
    )


def _is_abstract(node: ast.expr) -> bool:
    return _last(node) in ("ABCMeta", "EnumMeta", "EnumType")


def _dotted(node: ast.expr) -> list[str] | None:
    if isinstance(node, ast.Subscript):  # Generic[T] and its like
        node = node.value
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    return [node.id, *reversed(path)] if isinstance(node, ast.Name) else None


def _last(node: ast.expr) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")
