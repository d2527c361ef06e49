"""What a piece of code uses: names that are not its own, modules that it imports, texts and attributes in it.

Where scopes make it hard to tell whose a name is, it counts as used.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from flowc.python.reach.bindings import Bound, Imported, bound_in, children, imported_by, parameters_of
from flowc.python.reach.normal import Function

_LONGEST_TEXT = 1000
# Called with names of types as texts.
_TYPE_MAKERS: Final = frozenset(("TypeVar", "ForwardRef", "NewType", "NamedTuple", "TypedDict", "cast"))


class Use(NamedTuple):
    """A name with the attributes that are read off it at once: `helpers.clean` is helpers, (clean,).

    `call` is the call whose function it is, `key` what it is subscripted with or asked to contain. `origins` are
    the imports that bind the name in a function; without them it is the module's, or a builtin. An `eager` use is
    evaluated when the module is imported, one `in_call` is a part of a call.
    """

    name: str
    path: tuple[str, ...]
    line: int
    call: ast.Call | None = None
    key: ast.expr | None = None
    origins: tuple[Imported, ...] = ()
    eager: bool = True
    in_call: bool = False
    annotation: bool = False


@dataclass(slots=True)
class Uses:
    """All that a piece of code uses. `attributes` are the names of all attributes, whatever they are read off."""

    uses: list[Use] = field(default_factory=list)
    imports: list[Imported] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    has_lambda: bool = False


@dataclass(frozen=True, slots=True)
class _Scope:
    """A function's, lambda's or comprehension's own names, inside another scope."""

    bound: Bound
    parent: _Scope | None


class _Context(NamedTuple):
    scope: _Scope | None = None
    eager: bool = True
    in_call: bool = False
    annotation: bool = False


def uses_of(nodes: Sequence[ast.AST], module: str, *, is_package: bool, eager_only: bool = False) -> Uses:
    """Return what code of a module uses; with `eager_only` without the bodies of its functions and lambdas."""
    walk = _Walk(module, is_package, eager_only)
    walk.go(nodes)
    return walk.found


class _Walk:
    """Goes through code without recursion: users' expressions may be nested deeper than Python's stack."""

    def __init__(self, module: str, is_package: bool, eager_only: bool) -> None:
        self.found = Uses()
        self._module = module
        self._is_package = is_package
        self._eager_only = eager_only
        self._waiting: list[tuple[ast.AST, _Context]] = []

    def go(self, nodes: Sequence[ast.AST]) -> None:
        self._push(nodes, _Context())
        while self._waiting:
            self._visit(*self._waiting.pop())

    def _push(self, nodes: Iterable[ast.AST | None], context: _Context) -> None:
        self._waiting.extend((node, context) for node in nodes if node is not None)

    def _visit(self, node: ast.AST, context: _Context) -> None:
        # By type and not by `match`: most nodes of a large module are of none of these kinds.
        visit = _VISITS.get(type(node))
        if visit is None:
            self._push(children(node), context)
        else:
            visit(self, node, context)

    def _compare(self, node: ast.Compare, context: _Context) -> None:
        self._push([node.left], context)
        for operator, other in zip(node.ops, node.comparators, strict=True):
            key = node.left if isinstance(operator, ast.In | ast.NotIn) else None
            self._chain(other, context, key=key)

    def _lambda(self, node: ast.Lambda, context: _Context) -> None:
        self.found.has_lambda = True
        self._push([*node.args.defaults, *node.args.kw_defaults], context)
        if not self._eager_only:
            bound = bound_in([node.body], self._module, is_package=self._is_package)
            self._inside(bound.with_names(parameters_of(node.args)), [node.body], context)

    def _annotated(self, node: ast.AnnAssign, context: _Context) -> None:
        self._push([node.target, node.value], context)
        self._push([node.annotation], context._replace(annotation=True))

    def _import(self, node: ast.Import | ast.ImportFrom, _: _Context) -> None:
        imported = imported_by(node, self._module, is_package=self._is_package)
        self.found.imports.extend(each for name, each in imported)

    def _global(self, node: ast.Global, context: _Context) -> None:
        if context.scope is not None:
            self.found.uses.extend(Use(name, (), node.lineno, eager=context.eager) for name in node.names)

    def _expression(self, node: ast.Expr, context: _Context) -> None:
        if not isinstance(node.value, ast.Constant):
            self._push([node.value], context)

    def _literal(self, node: ast.Constant, context: _Context) -> None:
        if isinstance(node.value, str):
            self._text(node, node.value, context)

    def _text(self, node: ast.Constant, text: str, context: _Context) -> None:
        if context.annotation:
            try:
                parsed = ast.parse(text.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                parsed = None  # a text in an annotation that names no type
            if parsed is not None:
                for each in ast.walk(parsed):
                    if isinstance(each, ast.expr):
                        each.lineno = node.lineno
                self._push([parsed], context._replace(annotation=not isinstance(parsed, ast.Constant)))
        if 0 < len(text) < _LONGEST_TEXT and "\n" not in text and ("." in text or "/" in text):
            self.found.texts.append(text)

    def _call(self, node: ast.Call, context: _Context) -> None:
        inside = context._replace(in_call=True)
        self._chain(node.func, inside, call=node)
        if _last_part(node.func) in _TYPE_MAKERS:
            inside = inside._replace(annotation=True)
        self._push(node.args, inside)
        self._push((keyword.value for keyword in node.keywords), inside)

    def _subscript(self, node: ast.Subscript, context: _Context) -> None:
        self._chain(node.value, context, key=node.slice)
        literal = _last_part(node.value) == "Literal"
        self._push([node.slice], context._replace(annotation=False) if literal else context)

    def _chain(
        self,
        node: ast.expr,
        context: _Context,
        *,
        call: ast.Call | None = None,
        key: ast.expr | None = None,
    ) -> None:
        """Take a dotted name as one use; go on inside anything else."""
        path: list[str] = []
        while isinstance(node, ast.Attribute):
            path.append(node.attr)
            node = node.value
        self.found.attributes.update(path)
        if not isinstance(node, ast.Name):
            self._waiting.append((node, context))
            return
        bound_here = not path and not isinstance(node.ctx, ast.Load)
        origins = _origins(node.id, context.scope)
        if origins is None or bound_here:
            return
        self.found.uses.append(
            Use(
                name=node.id,
                path=tuple(reversed(path)),
                line=node.lineno,
                call=call,
                key=key,
                origins=origins,
                eager=context.eager,
                in_call=context.in_call,
                annotation=context.annotation,
            )
        )

    def _function(self, node: Function, context: _Context) -> None:
        for decorator in node.decorator_list:
            self._decorator(decorator, context)
        arguments = node.args
        self._push([*arguments.defaults, *arguments.kw_defaults], context)
        types = context._replace(annotation=True)
        self._push([*_annotations(arguments), node.returns], types)
        self._push(getattr(node, "type_params", ()), types)
        if not self._eager_only:
            bound = bound_in(node.body, self._module, is_package=self._is_package)
            self._inside(bound.with_names(parameters_of(arguments)), node.body, context)

    def _class(self, node: ast.ClassDef, context: _Context) -> None:
        for decorator in node.decorator_list:
            self._decorator(decorator, context)
        self._push([*node.bases, *node.keywords, *node.body, *getattr(node, "type_params", ())], context)
        # What a class imports is its attributes, which anything may read.
        imports = bound_in(node.body, self._module, is_package=self._is_package).imports
        for name, origins in imports.items():
            self.found.uses.append(Use(name, (), node.lineno, origins=tuple(origins), eager=context.eager))

    def _decorator(self, node: ast.expr, context: _Context) -> None:
        if isinstance(node, ast.Call):
            self._waiting.append((node, context))
        else:  # it is called, without a call to see
            self._chain(node, context._replace(in_call=True), call=ast.Call(func=node, args=[], keywords=[]))

    def _inside(self, bound: Bound, body: Sequence[ast.AST], context: _Context) -> None:
        self._push(body, _Context(scope=_Scope(bound, context.scope), eager=False))

    def _comprehension(self, node: ast.AST, context: _Context) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        self._push([generators[0].iter], context)
        targets = bound_in(
            [generator.target for generator in generators], self._module, is_package=self._is_package
        )
        inner = context._replace(scope=_Scope(targets, context.scope))
        for position, generator in enumerate(generators):
            self._push([generator.target, *generator.ifs], inner)
            if position:
                self._push([generator.iter], inner)
        results = (getattr(node, name, None) for name in ("elt", "key", "value"))
        self._push(results, inner)


_VISITS: Final[Mapping[type[ast.AST], Callable[[_Walk, Any, _Context], None]]] = {
    ast.Name: _Walk._chain,
    ast.Attribute: _Walk._chain,
    ast.Constant: _Walk._literal,
    ast.Call: _Walk._call,
    ast.Subscript: _Walk._subscript,
    ast.Compare: _Walk._compare,
    ast.FunctionDef: _Walk._function,
    ast.AsyncFunctionDef: _Walk._function,
    ast.ClassDef: _Walk._class,
    ast.Lambda: _Walk._lambda,
    ast.ListComp: _Walk._comprehension,
    ast.SetComp: _Walk._comprehension,
    ast.DictComp: _Walk._comprehension,
    ast.GeneratorExp: _Walk._comprehension,
    ast.AnnAssign: _Walk._annotated,
    ast.Import: _Walk._import,
    ast.ImportFrom: _Walk._import,
    ast.Global: _Walk._global,
    ast.Expr: _Walk._expression,
}


def _origins(name: str, scope: _Scope | None) -> tuple[Imported, ...] | None:
    """Return the imports that bind a name in a function around its use; () for a global, None for a local."""
    while scope is not None:
        if name in scope.bound.declared:
            return ()
        if name in scope.bound.names:
            return tuple(scope.bound.imports.get(name, ())) or None
        scope = scope.parent
    return ()


def _annotations(arguments: ast.arguments) -> Iterator[ast.expr | None]:
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield argument.annotation
    for more in (arguments.vararg, arguments.kwarg):
        if more is not None:
            yield more.annotation


def _last_part(node: ast.expr) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")
