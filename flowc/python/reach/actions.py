"""Which statements of a module do more than bind names: they count for all who import the module.

A definition, an import and an assignment matter to those alone who reach the names that they bind. A call of the
project's own code, a registering decorator, a changed object that something else may hold: what these do can't be
told from the names, so they are actions. A change of an object that no other name can stand for is a part of that
name's definition.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, Literal

from flowc.python.reach.changes import MUTATORS, Change, decorators_of, executed, own_expressions
from flowc.python.reach.classes import is_record, registers_itself
from flowc.python.reach.decorators import is_ours, only_wraps
from flowc.python.reach.module import Module, Statement
from flowc.python.reach.normal import Function
from flowc.python.reach.project import Project
from flowc.python.reach.uses import Use, Uses

Nature = Literal["library", "data", "code"]
Freshness = Literal["whole", "outside", "no"]

# Functions of libraries that change the state of the library or the process, by their names.
_EFFECT: Final = re.compile(
    r"^(set|put|reset|seed|use$|use_|enable|disable|patch|install|init|config|add|append|insert|load_dotenv|simplefilter"
    r"|filterwarnings|import|basicConfig|dictConfig|fileConfig|option|update|exec|run|start|switch|activate|chdir)"
    r"|register|seed|environ|monkey|write|setattr|delattr|globals|eval",
)
_NO_EFFECT: Final = frozenset(("set", "startswith"))
_STARTERS: Final = frozenset(
    ("dict", "list", "set", "tuple", "frozenset", "bytearray", "defaultdict", "deque")
)
_LITERALS: Final = (
    *(ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp),
    *(ast.ListComp, ast.SetComp, ast.DictComp),
)


class Actions:
    """Finds the actions of a project's modules, each module's once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._found: dict[str, frozenset[int]] = {}

    def of(self, module: Module) -> frozenset[int]:
        """Return the positions of a module's actions among its statements."""
        if module.name not in self._found:
            self._found[module.name] = frozenset(_Pass(self._project, module).actions())
        return self._found[module.name]


class _Pass:
    """Goes through a module in its order, keeping what each name may stand for so far."""

    def __init__(self, project: Project, module: Module) -> None:
        self._project = project
        self._module = module
        self._natures: dict[str, Nature] = {}
        self._fresh: dict[str, Freshness] = {}

    def actions(self) -> Iterator[int]:
        for index, statement in enumerate(self._module.statements):
            if statement.executed and self._acts(statement):
                yield index
            self._take(statement)

    def _acts(self, statement: Statement) -> bool:
        if isinstance(statement.node, ast.Import | ast.ImportFrom):
            return not self._unread.isdisjoint(statement.bound.imports)  # it is there for its effect
        parts: list[ast.AST] = []
        for node in executed(statement.node):
            if self._is_action(node):
                return True
            parts.extend(own_expressions(node))
            parts.extend(
                ast.Call(func=decorator, args=[], keywords=[])
                for decorator in decorators_of(node)
                if not self._is_harmless(decorator)
            )
        uses = statement.eager_uses(parts)
        return any(self._calls(use) for use in uses.uses) or any(map(self._escapes, statement.changes))

    @cached_property
    def _unread(self) -> frozenset[str]:
        """The names that libraries' modules are imported by and that nothing reads."""
        imported: set[str] = set()
        for statement in self._module.statements:
            if isinstance(statement.node, ast.Import | ast.ImportFrom):
                for name, origins in statement.bound.imports.items():
                    if any(self._project.may_do_anything(origin.module) for origin in origins):
                        imported.add(name)
        return self._module.unread(imported - _exported(self._module))

    def _is_action(self, node: ast.stmt) -> bool:
        match node:
            case ast.Expr(value=ast.Constant()):
                return False
            case ast.Expr(value=ast.Call(func=ast.Attribute())):
                return False  # what it changes is looked at with the other changes
            case ast.Expr() | ast.With() | ast.AsyncWith() | ast.Raise() | ast.Assert():
                return True
            case ast.ClassDef():
                return registers_itself(self._project, self._module, node)
        return False

    def _is_harmless(self, decorator: ast.expr) -> bool:
        return is_ours(self._project, self._module, decorator) or only_wraps(
            self._project, self._module, decorator
        )

    def _calls(self, use: Use) -> bool:
        """Say whether this use is a part of a call that may do more than give a value."""
        if not use.in_call or use.annotation:
            return False
        if self._nature(use) == "code":
            return True
        if use.call is None:
            return False
        if use.name not in self._natures and not hasattr(builtins, use.name):
            return False  # a name of a class body
        dotted = [target.name for target in self._project.targets_of(self._module, use)]
        names = {name.rpartition(".")[2] for name in dotted} | set(use.path[-1:])
        return any(_EFFECT.search(name) for name in names - _NO_EFFECT)

    def _nature(self, use: Use) -> Nature:
        if use.origins:
            ours = any(self._project.is_ours(origin.module) for origin in use.origins)
            return "code" if ours else "library"
        if use.name in self._natures:
            return self._natures[use.name]
        bound = bool(self._project.bindings(self._module, use.name))
        return "code" if bound else "library"

    def _escapes(self, change: Change) -> bool:
        """Say whether something else than the name may hold what is changed."""
        if not change.plain and self._natures.get(change.name or "", "library") == "library":
            return False
        if change.name is None:
            return True
        fresh = self._fresh.get(change.name, "no")
        if fresh == "no" or (change.deep and fresh != "whole"):
            return True
        return change.call is not None and change.method not in MUTATORS and _mentions_names(change.call)

    # -- what names stand for

    def _take(self, statement: Statement) -> None:
        bound = statement.bound
        imported = {name for name in bound.names if name in bound.imports}
        for name in imported:
            outside = not any(self._project.is_ours(origin.module) for origin in bound.imports[name])
            record = not outside and self._is_imported_record(name)
            self._join(name, "library" if outside else "data" if record else "code", "no")
        for name in bound.names - imported:
            self._join(name, self._made(statement), self._freshness(statement, name))
        for change in statement.changes:
            mentioned = {use.name for use in statement.eager.uses} - {change.name}
            if change.name and mentioned and self._fresh.get(change.name) == "whole":
                self._fresh[change.name] = "outside"

    def _made(self, statement: Statement) -> Nature:
        node = statement.node
        if isinstance(node, ast.ClassDef):
            return "data" if is_record(self._project, self._module, node) else "code"
        if any(isinstance(each, Function | ast.ClassDef) for each in executed(node)):
            return "code"
        return "code" if self._holds_code(statement.eager) else "data"

    def _holds_code(self, uses: Uses) -> bool:
        return uses.has_lambda or any(not use.annotation and self._nature(use) == "code" for use in uses.uses)

    def _is_imported_record(self, name: str) -> bool:
        for target in self._project.named(self._module, name, ()):
            if target.kind == "definition":
                module = self._project.module(target.module)
                assert module is not None
                nodes = [module.statements[each.index].node for each in module.bindings[target.name]]
                return all(
                    isinstance(node, ast.ClassDef) and is_record(self._project, module, node)
                    for node in nodes
                )
        return False

    def _freshness(self, statement: Statement, name: str) -> Freshness:
        """Say how far the object that a name is bound to is this name's alone: all of it, or but for what it holds."""
        if statement.bound.names != {name}:
            return "no"  # `A = [B := []]`: each holds the other's
        match statement.node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return "no" if statement.node.decorator_list else "outside"
            case (
                ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=value)
            ):
                pass
            case ast.AugAssign():
                return "whole" if all(use.name == name for use in statement.eager.uses) else "outside"
            case _:
                return "no"
        if isinstance(value, _LITERALS):
            return "outside" if statement.eager.uses else "whole"
        if isinstance(value, ast.Call):
            called = getattr(value.func, "attr", "") or getattr(value.func, "id", "")
            owner = next((use for use in statement.eager.uses if use.call is value), None)
            own = owner is None or self._nature(owner) == "code"  # whose instances may be shared
            if not own and (called in _STARTERS or called[:1].isupper()):
                return "outside" if len(statement.eager.uses) > 1 else "whole"
        return "no"

    def _join(self, name: str, nature: Nature, fresh: Freshness) -> None:
        order: tuple[Nature, ...] = ("library", "data", "code")
        self._natures[name] = max(self._natures.get(name, nature), nature, key=order.index)
        places: tuple[Freshness, ...] = ("whole", "outside", "no")
        self._fresh[name] = max(self._fresh.get(name, fresh), fresh, key=places.index)


def _mentions_names(call: ast.Call) -> bool:
    parts = (*call.args, *(keyword.value for keyword in call.keywords))
    return any(isinstance(node, ast.Name) for part in parts for node in ast.walk(part))


def _exported(module: Module) -> frozenset[str]:
    """Return the names that a module's `__all__` lists."""
    nodes = [module.statements[binding.index].node for binding in module.bindings.get("__all__", ())]
    texts = [node.value for each in nodes for node in ast.walk(each) if isinstance(node, ast.Constant)]
    return frozenset(text for text in texts if isinstance(text, str))
