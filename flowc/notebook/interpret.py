"""What statements and expressions do to names and objects, without running them.

`Walker` goes through code in the order in which Python would, with every branch and no or several rounds of every
loop. It knows nothing of where names live: `summaries` walks the bodies of functions, `dataflow` those of cells.
"""

from __future__ import annotations

import ast
import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from flowc.notebook.effects import Effect, EffectsTable
from flowc.notebook.heap import IMMUTABLE, Code, Heap, Regions, Value, joined
from flowc.notebook.lines import SCRIPT, SHELL, SHELL_OUTPUT, WRITE_FILE

Event = Literal[
    "once",
    "process",
    "output",
    "waits",
    "reads",
    "writes",
    "draws",
    "seeds",
    "state",
    "star",
    "dynamic",
    "identity",
]
_BUILTINS = frozenset(dir(builtins)) | {"display"}
_LINES = frozenset((SHELL, SHELL_OUTPUT, SCRIPT, WRITE_FILE))
_DYNAMIC = frozenset(
    ("builtins.exec", "builtins.eval", "builtins.globals", "builtins.locals", "builtins.vars")
)
_PLAIN_ATTRIBUTES = frozenset(
    (
        "shape",
        "size",
        "ndim",
        "dtype",
        "dtypes",
        "name",
        "__name__",
        "__doc__",
        "empty",
        "stem",
        "suffix",
        "parent",
    )
)
_CONSUMED = frozenset(("iterator", "generator", "file", "opaque"))
_WRITING_IN_PLACE = frozenset(
    ("fillna", "replace", "clip", "where", "mask", "interpolate", "ffill", "bfill", "update")
)
_ITEMS = frozenset(("list", "dict", "set", "tuple"))


@dataclass(slots=True)
class _Scope:
    """A scope inside the walked one that is entered at once: a class body or a comprehension."""

    kind: Literal["class", "comprehension"]
    names: dict[str, Value]
    globals: set[str]


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments. `loose`: some are spread by `*` or `**`, so any may be any parameter's."""

    positional: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()
    loose: bool = False

    def values(self) -> tuple[Value, ...]:
        return (*self.positional, *(value for _, value in self.named))


class Walker(ABC):
    """Goes through code; subclasses say where its names live and what becomes of what it finds."""

    def __init__(self, heap: Heap, table: EffectsTable, codes: dict[ast.AST, Code]) -> None:
        self.heap = heap
        self.table = table
        self._codes = codes
        self._scopes: list[_Scope] = []
        self._exits: list[list[Any]] = []
        self._raises: list[list[Any]] = []

    # -- where names live

    @abstractmethod
    def load(self, name: str, node: ast.AST) -> Value:
        """Return a name's value, which is read at `node`."""

    @abstractmethod
    def store(self, name: str, value: Value, node: ast.AST) -> None:
        """Bind a name."""

    @abstractmethod
    def store_global(self, name: str, value: Value, node: ast.AST) -> None:
        """Let a global be bound by a function that is called here."""

    @abstractmethod
    def unbind(self, name: str, node: ast.AST) -> None:
        """Delete a name."""

    @abstractmethod
    def change(self, regions: Regions, node: ast.AST, why: str, *, buffers: bool = True) -> None:
        """Change the objects of these regions in place; without `buffers`, not the memory that views share."""

    @abstractmethod
    def note(self, event: Event, node: ast.AST, detail: str | None = None) -> None:
        """Take note of something that is neither a name's nor an object's."""

    @abstractmethod
    def snapshot(self) -> Any:
        """Return the state of all names."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Go back to a state of all names."""

    @abstractmethod
    def join(self, states: Sequence[Any]) -> None:
        """Let the state be any of these."""

    @abstractmethod
    def run(self, code: Code, function: Value, arguments: Arguments, node: ast.AST) -> Value:
        """Call a function of the notebook; return what it may return."""

    @abstractmethod
    def captured(self, node: ast.AST) -> frozenset[str]:
        """Return the names that a function made here takes from functions around it."""

    nested = False

    def capture(self, function: Value, code: Code) -> None:
        """Let a function hold what it takes from the functions around it."""

    # -- statements

    def walk(self, statements: Iterable[ast.stmt]) -> None:
        """Go through statements in order."""
        for statement in statements:
            getattr(self, f"_do_{type(statement).__name__}")(statement)
            for states in self._raises:
                states.append(self.snapshot())

    def _do_Expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._assign(target, value, node.value)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._annotation(node.annotation)
        if node.value is not None:
            self._assign(node.target, self.value(node.value), node.value)

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        old = self._load_target(target)
        new = self.value(node.value)
        if old.top:
            self.change(old.top, node, "is changed by an augmented assignment")
            self.heap.link(old.top, self.heap.element(new))
        result = joined((old, self._operated(old, new))) if old.top else self._operated(old, new)
        self._assign(target, result, node.value)

    def _load_target(self, target: ast.expr) -> Value:
        if isinstance(target, ast.Name):
            return self._name(target.id, target)
        if isinstance(target, ast.Attribute):
            return self._attribute(self.value(target.value), target)
        assert isinstance(target, ast.Subscript)
        return self._item(self.value(target.value), target)

    def _do_For(self, node: ast.For | ast.AsyncFor) -> None:
        source = self.value(node.iter)
        self._consume(source, node.iter)

        def once() -> None:
            self._assign(node.target, self._next(source), None)
            self.walk(node.body)

        self._loop(once, node.orelse)

    _do_AsyncFor = _do_For

    def _do_While(self, node: ast.While) -> None:
        self.value(node.test)

        def once() -> None:
            self.walk(node.body)
            self.value(node.test)

        self._loop(once, node.orelse)

    def _loop(self, once: Any, orelse: list[ast.stmt]) -> None:
        before = self.snapshot()
        self._exits.append([before])
        for _ in range(2):
            once()
            self._exits[-1].append(self.snapshot())
            self.join(self._exits[-1])
        exits = self._exits.pop()
        if orelse:
            self.walk(orelse)
            self.join([*exits, self.snapshot()])

    def _do_Break(self, node: ast.Break | ast.Continue) -> None:
        if self._exits:
            self._exits[-1].append(self.snapshot())

    _do_Continue = _do_Break

    def _do_If(self, node: ast.If) -> None:
        self.value(node.test)
        self._branches([node.body, node.orelse])

    def _branches(self, bodies: Sequence[Sequence[ast.stmt]]) -> None:
        before, after = self.snapshot(), []
        for body in bodies:
            self.restore(before)
            self.walk(body)
            after.append(self.snapshot())
        self.join(after)

    def _do_With(self, node: ast.With | ast.AsyncWith) -> None:
        swallows = False
        for item in node.items:
            context = self.value(item.context_expr)
            function = (
                item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
            )
            swallows = swallows or self._may_swallow(function, context)
            if context.top and context.kind not in ("file",):
                self.change(context.top, item.context_expr, "is entered by 'with'")
            if item.optional_vars is not None:
                entered = self._anything((context,), known=True)
                self._assign(
                    item.optional_vars, replace(entered, stuck=context.stuck, kind=context.kind), None
                )
        if not swallows:
            self.walk(node.body)
            return
        self._raises.append([self.snapshot()])
        self.walk(node.body)
        self.join(self._raises.pop())

    _do_AsyncWith = _do_With

    def _may_swallow(self, function: ast.expr, context: Value) -> bool:
        if self.heap.codes(context):
            return True
        path = _dotted(function)
        return path is None or path.split(".")[-1] in ("suppress", "raises", "assertRaises", "ExitStack")

    def _do_Try(self, node: ast.Try) -> None:
        self._raises.append([self.snapshot()])
        self.walk(node.body)
        raised = self._raises.pop()
        self.walk(node.orelse)
        after = [self.snapshot()]
        for handler in node.handlers:
            self.join(raised)
            self._handle(handler)
            after.append(self.snapshot())
        if node.finalbody:
            self.join([*after, *raised])
            self.walk(node.finalbody)
            # What the last block does follows each way in; only the ways that go on matter afterwards.
            after = [self.snapshot()] if not node.handlers else self._finished(after, node.finalbody)
        self.join(after)

    _do_TryStar = _do_Try

    def _finished(self, ways: list[Any], finalbody: list[ast.stmt]) -> list[Any]:
        done = []
        for way in ways:
            self.restore(way)
            self.walk(finalbody)
            done.append(self.snapshot())
        return done

    def _handle(self, handler: ast.ExceptHandler) -> None:
        if handler.type is not None:
            self.value(handler.type)
        if handler.name:
            self.bind(handler.name, self.heap.fresh(), handler)
        self.walk(handler.body)
        if handler.name:
            self.unbind(handler.name, handler)

    def _do_Match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        before = self.snapshot()
        after = [before]
        for case in node.cases:
            self.restore(before)
            self._pattern(case.pattern, subject)
            if case.guard is not None:
                self.value(case.guard)
            after.append(self.snapshot())
            self.walk(case.body)
            after.append(self.snapshot())
        self.join(after)

    def _pattern(self, pattern: ast.pattern, subject: Value) -> None:
        part = joined((subject, self.heap.view(subject)))
        for node in ast.walk(pattern):
            if isinstance(node, ast.expr) and not isinstance(node, ast.expr_context):
                self.value(node)
            name = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(name, str):
                self.bind(name, part, node)

    def _do_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorators = [self.value(decorator) for decorator in node.decorator_list]
        function = self._function(node, node.args)
        for annotation in _annotations(node):
            self._annotation(annotation)
        for decorator, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
            function = self._decorated(decorator, function, written)
        self.bind(node.name, function, node)

    _do_AsyncFunctionDef = _do_FunctionDef

    def _decorated(self, decorator: Value, thing: Value, node: ast.expr) -> Value:
        if decorator.callee is not None:
            result = self.run(decorator.callee, decorator, Arguments((thing,)), node)
            return replace(result, code=result.code | thing.code | decorator.code)
        # A library's decorator gives something that runs the function; plain ones give the function itself.
        if decorator.path and self.table.function(decorator.path).process:
            self.note("process", node, decorator.path)
        return replace(thing, code=thing.code | decorator.code)

    def _do_ClassDef(self, node: ast.ClassDef) -> None:
        decorators = [self.value(decorator) for decorator in node.decorator_list]
        bases = [self.value(base) for base in node.bases]
        keywords = [self.value(keyword.value) for keyword in node.keywords]
        scope = _Scope("class", {}, set())
        self._scopes.append(scope)
        self.walk(node.body)
        self._scopes.pop()
        code = self._class_code(node, bases, scope)
        held = [value for value in scope.names.values() if value.top and value.callee is None]
        value = self.heap.fresh(*held, *bases, *keywords)
        self.heap.functions |= value.top
        value = replace(value, code=value.code | {code}, callee=code)
        for decorator, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
            value = self._decorated(decorator, value, written)
        self.bind(node.name, value, node)

    def _class_code(self, node: ast.ClassDef, bases: list[Value], scope: _Scope) -> Code:
        if node not in self._codes:
            methods = {
                name: value.callee
                for name, value in scope.names.items()
                if value.callee is not None and not value.callee.is_class
            }
            own = tuple(base.callee for base in bases if base.callee is not None)
            paths = [base.path or "" for base in bases]
            is_enum = any(path.startswith("enum.") for path in paths) or any(base.is_enum for base in own)
            foreign = any(base.callee is None for base in bases) or bool(node.keywords)
            self._codes[node] = Code(node, frozenset(), self.nested, methods, own, foreign, is_enum)
        return self._codes[node]

    def _do_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.value(node.value)

    def _do_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._delete(target)

    def _delete(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            scope = self._store_scope(target.id)
            if scope is None:
                self.unbind(target.id, target)
        elif isinstance(target, ast.Tuple | ast.List):
            for item in target.elts:
                self._delete(item)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            self._change_part(target, IMMUTABLE)

    def _do_Raise(self, node: ast.Raise) -> None:
        for part in (node.exc, node.cause):
            if part is not None:
                self.value(part)

    def _do_Assert(self, node: ast.Assert) -> None:
        self.value(node.test)
        if node.msg is not None:
            self.value(node.msg)

    def _do_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.bind(alias.asname, Value(path=alias.name), node)
            else:
                root = alias.name.partition(".")[0]
                self.bind(root, Value(path=root), node)

    def _do_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.note("star", node, module)
            elif module != "__future__":
                self.bind(alias.asname or alias.name, Value(path=f"{module}.{alias.name}"), node)

    def _do_Global(self, node: ast.Global) -> None:
        if self._scopes:
            self._scopes[-1].globals.update(node.names)

    def _do_Nonlocal(self, node: ast.Nonlocal) -> None:
        pass

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_TypeAlias(self, node: Any) -> None:
        self.bind(node.name.id, self.heap.fresh(), node)

    # -- names and targets

    def bind(self, name: str, value: Value, node: ast.AST) -> None:
        """Bind a name in the innermost scope that takes bindings."""
        scope = self._store_scope(name)
        if scope is None:
            self.store(name, value, node)
        else:
            scope.names[name] = joined((scope.names[name], value)) if name in scope.names else value

    def _store_scope(self, name: str) -> _Scope | None:
        for scope in reversed(self._scopes):
            if scope.kind == "class":
                return None if name in scope.globals else scope
        return None

    def _name(self, name: str, node: ast.AST) -> Value:
        inside = False
        for scope in reversed(self._scopes):
            if scope.kind == "class" and inside:
                continue
            if name in scope.names:
                return scope.names[name]
            inside = inside or scope.kind == "comprehension"
        return self.load(name, node)

    def _assign(self, target: ast.expr, value: Value, written: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, value, target)
            case ast.Starred(value=inner):
                self._assign(inner, self.heap.fresh(value, kind="list"), None)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                self._unpack(elts, value, written)
            case ast.Attribute() | ast.Subscript():
                self._change_part(target, value)

    def _unpack(self, targets: list[ast.expr], value: Value, written: ast.expr | None) -> None:
        parts = written.elts if isinstance(written, ast.Tuple | ast.List) else None
        starred = any(isinstance(part, ast.Starred) for part in [*targets, *(parts or [])])
        if parts is not None and len(parts) == len(targets) and not starred:
            # `a, b = b, a`: the parts were walked before; only what they may be is wanted here.
            for target, part, one in zip(targets, parts, [self._quiet(part) for part in parts], strict=True):
                self._assign(target, one if one is not None else self._next(value), part)
            return
        starred = any(isinstance(target, ast.Starred) for target in targets)
        if value.parts is not None and len(value.parts) == len(targets) and not starred:
            for target, one in zip(targets, value.parts, strict=True):
                self._assign(target, one, None)
            return
        self._consume(value, targets[0] if targets else None)
        # What a library's call has just made and nobody else has are objects of their own, one for each name.
        apart = value.kind == "parts" and isinstance(written, ast.Call)
        for target in targets:
            self._assign(target, self.heap.foreign() if apart else self._next(value), None)

    def _quiet(self, node: ast.expr) -> Value | None:
        """Return the value of a plain name or constant once more, without walking it as a read of its own."""
        if isinstance(node, ast.Constant):
            return IMMUTABLE
        return self._name(node.id, node) if isinstance(node, ast.Name) else None

    def _change_part(self, target: ast.Attribute | ast.Subscript, value: Value) -> None:
        whole = self.value(target.value)
        if isinstance(target, ast.Subscript):
            self.value(target.slice)
        if whole.path is not None:
            self.note("state", target, whole.path)
        if whole.top:
            what = "an item" if isinstance(target, ast.Subscript) else f"attribute '{target.attr}'"
            self.heap.link(whole.top, value)
            # A column that is set takes the place of the old one, whose views keep what they show.
            buffers = isinstance(target, ast.Subscript) and (
                whole.kind == "array" or not _is_key(target.slice)
            )
            self.change(whole.top, target, f"has {what} set", buffers=buffers)

    # -- expressions

    def value(self, node: ast.expr) -> Value:
        """Go through an expression and return what it may give."""
        visit = getattr(self, f"_of_{type(node).__name__}", None)
        if visit is not None:
            result: Value = visit(node)
            return result
        return joined(
            [self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        )

    def _of_Constant(self, node: ast.Constant) -> Value:
        return IMMUTABLE

    def _of_Name(self, node: ast.Name) -> Value:
        return self._name(node.id, node)

    def _of_JoinedStr(self, node: ast.JoinedStr) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.value(part.value)
                if part.format_spec is not None:
                    self.value(part.format_spec)
        return IMMUTABLE

    def _of_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        before = self.snapshot()
        self.bind(node.target.id, value, node.target)
        if self._scopes and self._scopes[-1].kind == "comprehension":
            self.join([before, self.snapshot()])
        return value

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        return self._either([node.body, node.orelse])

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        first = self.value(node.values[0])
        rest = node.values[1:]
        if not any(isinstance(part, ast.NamedExpr) for value in rest for part in ast.walk(value)):
            return joined([first, *map(self.value, rest)])
        states, values = [self.snapshot()], [first]
        for part in rest:
            values.append(self.value(part))
            states.append(self.snapshot())
        self.join(states)
        return joined(values)

    def _either(self, nodes: list[ast.expr]) -> Value:
        before, states, values = self.snapshot(), [], []
        for node in nodes:
            self.restore(before)
            values.append(self.value(node))
            states.append(self.snapshot())
        self.join(states)
        return joined(values)

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        return self._operated(self.value(node.left), self.value(node.right))

    def _operated(self, left: Value, right: Value) -> Value:
        if not left.top and not right.top:
            return replace(IMMUTABLE, code=left.code | right.code)
        if left.instance or right.instance:
            return self._anything((left, right), known=True)
        kind = next((kind for kind in ("frame", "array") if kind in (left.kind, right.kind)), left.kind)
        if kind in ("frame", "array"):
            return self.heap.fresh(kind=kind)
        return self.heap.fresh(self.heap.element(left), self.heap.element(right), kind=kind)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        operand = self.value(node.operand)
        return IMMUTABLE if isinstance(node.op, ast.Not) else self._operated(operand, IMMUTABLE)

    def _of_Compare(self, node: ast.Compare) -> Value:
        values = [self.value(node.left), *map(self.value, node.comparators)]
        for operator, value, written in zip(node.ops, values[1:], node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                self._consume(value, written)
        if any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops):
            if not any(isinstance(each, ast.Constant) for each in (node.left, *node.comparators)):
                self.note("identity", node)
        self._note_equality(values, node)
        if all(isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn) for operator in node.ops):
            return IMMUTABLE
        return self.heap.fresh() if any(value.top for value in values) else IMMUTABLE

    def _note_equality(self, values: Iterable[Value], node: ast.AST) -> None:
        """Take note where objects of the notebook's classes are compared or looked up: by identity, by default."""
        if any(code.is_class and not code.is_enum for value in values for code in self.heap.codes(value)):
            self.note("identity", node)

    def _of_Tuple(self, node: ast.Tuple) -> Value:
        parts = [self.value(part) for part in node.elts]
        if not any(part.top or part.code for part in parts):
            return replace(IMMUTABLE, kind="tuple", stuck=next((p.stuck for p in parts if p.stuck), None))
        made = self.heap.fresh(*parts, kind="tuple")
        starred = any(isinstance(part, ast.Starred) for part in node.elts)
        return made if starred else replace(made, parts=tuple(parts))

    def _of_List(self, node: ast.List) -> Value:
        return self.heap.fresh(*map(self.value, node.elts), kind="list")

    def _of_Set(self, node: ast.Set) -> Value:
        return self.heap.fresh(*map(self.value, node.elts), kind="set")

    def _of_Dict(self, node: ast.Dict) -> Value:
        keys = [self.value(key) for key in node.keys if key is not None]
        return self.heap.fresh(*keys, *map(self.value, node.values), kind="dict")

    def _of_Starred(self, node: ast.Starred) -> Value:
        value = self.value(node.value)
        self._consume(value, node.value)
        return joined((value, self._next(value)))

    def _of_Lambda(self, node: ast.Lambda) -> Value:
        return self._function(node, node.args)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, args: ast.arguments
    ) -> Value:
        defaults = [
            self.value(default) for default in (*args.defaults, *args.kw_defaults) if default is not None
        ]
        return self._made(node, defaults)

    def _made(self, node: Any, held: list[Value]) -> Value:
        if node not in self._codes:
            self._codes[node] = Code(node, self.captured(node), self.nested)
        code = self._codes[node]
        value = self.heap.fresh(*held)
        self.heap.functions |= value.top
        value = replace(value, code=value.code | {code}, callee=code, stuck=None)
        self.capture(value, code)
        return value

    def _of_Await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def _of_Yield(self, node: ast.Yield) -> Value:
        if node.value is not None:
            self.value(node.value)
        return self.heap.fresh()

    def _of_YieldFrom(self, node: ast.YieldFrom) -> Value:
        return self._anything((self.value(node.value),), known=True)

    def _of_ListComp(self, node: ast.ListComp) -> Value:
        return self.heap.fresh(*self._comprehended(node, [node.elt]), kind="list")

    def _of_SetComp(self, node: ast.SetComp) -> Value:
        return self.heap.fresh(*self._comprehended(node, [node.elt]), kind="set")

    def _of_DictComp(self, node: ast.DictComp) -> Value:
        return self.heap.fresh(*self._comprehended(node, [node.key, node.value]), kind="dict")

    def _of_GeneratorExp(self, node: ast.GeneratorExp) -> Value:
        source = self.value(node.generators[0].iter)
        made = self._made(node, [source])
        held = self._comprehended(node, [node.elt])
        self.heap.link(made.top, joined(held))
        return replace(made, callee=None, kind="generator", stuck="a generator")

    def _comprehended(self, node: Any, results: list[ast.expr]) -> list[Value]:
        first = self.value(node.generators[0].iter)
        scope = _Scope("comprehension", {}, set())
        self._scopes.append(scope)
        for position, generator in enumerate(node.generators):
            source = first if position == 0 else self.value(generator.iter)
            self._consume(source, generator.iter)
            self._comprehension_target(generator.target, self._next(source), scope)
            for condition in generator.ifs:
                self.value(condition)
        values = [self.value(result) for result in results]
        self._scopes.pop()
        return values

    def _comprehension_target(self, target: ast.expr, value: Value, scope: _Scope) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                scope.names[node.id] = joined((value, self._next(value))) if node is not target else value
            elif isinstance(node, ast.Attribute | ast.Subscript):
                self._change_part(node, value)

    def _of_Attribute(self, node: ast.Attribute) -> Value:
        return self._attribute(self.value(node.value), node)

    def _attribute(self, whole: Value, node: ast.Attribute) -> Value:
        if whole.path is not None:
            return Value(whole.top, whole.code, path=f"{whole.path}.{node.attr}")
        if whole.callee is not None and whole.callee.is_class:
            method = whole.callee.method(node.attr)
            if method is not None:
                return replace(whole, callee=method)
            if whole.callee.is_enum:
                return Value(code=whole.code)
        if node.attr in _PLAIN_ATTRIBUTES and whole.instance is None:
            return replace(IMMUTABLE, code=whole.code)
        if whole.instance is not None:
            return self.heap.element(whole)
        return self.heap.view(whole)

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        return self._item(self.value(node.value), node)

    def _item(self, whole: Value, node: ast.Subscript) -> Value:
        key = self.value(node.slice)
        if key.top:
            self._note_equality([key], node)
        if whole.path is not None:
            return replace(whole, path=f"{whole.path}.__getitem__")
        if whole.callee is not None and whole.callee.is_enum:
            return Value(code=whole.code)
        if isinstance(node.slice, ast.Slice) and whole.kind in ("list", "tuple"):
            return self.heap.fresh(self.heap.element(whole), kind=whole.kind)
        if whole.kind in _ITEMS or whole.instance is not None:
            return self.heap.element(whole)
        if _is_selection(node.slice):
            return self.heap.fresh(self.heap.element(whole), kind=whole.kind)
        return self.heap.view(whole, whole.kind if whole.kind in ("frame", "array") else None)

    def _of_Slice(self, node: ast.Slice) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.value(part)
        return IMMUTABLE

    # -- calls

    def _of_Call(self, node: ast.Call) -> Value:
        receiver: Value | None = None
        if isinstance(node.func, ast.Attribute):
            receiver = self.value(node.func.value)
            callee = self._attribute(receiver, node.func)
        else:
            callee = self.value(node.func)
        arguments = self._arguments(node)
        if callee.kind == "factory":
            return self._call_unknown(callee, arguments, node, known=True)
        if callee.path is not None:
            return self._call_path(callee.path, receiver, arguments, node)
        if callee.callee is not None:
            return self._call_code(callee, receiver, arguments, node)
        if isinstance(node.func, ast.Attribute) and receiver is not None:
            return self._call_method(receiver, node.func.attr, arguments, node)
        return self._call_unknown(callee, arguments, node)

    def _arguments(self, node: ast.Call) -> Arguments:
        positional = tuple(map(self.value, node.args))
        named = tuple((keyword.arg or "**", self.value(keyword.value)) for keyword in node.keywords)
        loose = any(isinstance(argument, ast.Starred) for argument in node.args) or any(
            keyword.arg is None for keyword in node.keywords
        )
        return Arguments(positional, named, loose)

    def _call_path(self, path: str, receiver: Value | None, arguments: Arguments, node: ast.Call) -> Value:
        if path in _DYNAMIC and not (path == "builtins.vars" and arguments.positional):
            self.note("dynamic", node, path.removeprefix("builtins."))
        if path == "builtins.id":
            self.note("identity", node)
        if path == "builtins.super":
            return self.own_instance(node)
        if path == "builtins.type" and len(arguments.positional) == 1:
            return replace(IMMUTABLE, code=self.heap.codes(arguments.positional[0]))
        effect = self.table.function(path)
        if path.startswith("flowc.notebook.lines."):
            # A `$name` of a shell line may be the shell's own: as in a `try`, it need not be defined.
            self._raises.append([])
            self._run_callbacks(arguments, None, node)
            self._raises.pop()
        elif not effect.definition:
            self._run_callbacks(arguments, None, node)
        return self._affect(effect, path, None, arguments, node)

    def own_instance(self, node: ast.AST) -> Value:
        """Return what `super()` stands for: the method's own instance."""
        return IMMUTABLE

    def _call_code(
        self, callee: Value, receiver: Value | None, arguments: Arguments, node: ast.Call
    ) -> Value:
        code = callee.callee
        assert code is not None
        if code.is_class:
            return self._instantiate(callee, code, arguments, node)
        if (
            receiver is not None
            and receiver.callee is not None
            and receiver.callee.is_class
            and _is_class_method(code)
        ):
            arguments = replace(arguments, positional=(receiver, *arguments.positional))
        self._run_callbacks(arguments, None, node)
        return self.run(code, callee, arguments, node)

    def _instantiate(self, cls: Value, code: Code, arguments: Arguments, node: ast.Call) -> Value:
        if code.is_enum:
            return Value(code=cls.code)
        attributes = self.heap.element(cls)
        instance = self.heap.foreign(*arguments.values(), attributes)
        instance = replace(instance, code=cls.code | instance.code, instance=code)
        for name in ("__init__", "__post_init__", "__new__"):
            method = code.method(name)
            if method is not None:
                given = replace(arguments, positional=(instance, *arguments.positional))
                self.run(method, cls, given, node)
        if code.foreign_bases:
            self._run_callbacks(arguments, instance, node)
        return instance

    def _call_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        self._run_callbacks(arguments, receiver, node)
        results = []
        classes = [code for code in self.heap.codes(receiver) if code.is_class]
        found = False
        for code in [receiver.instance] if receiver.instance else classes:
            method = code.method(name)
            if method is not None:
                found = True
                own = () if _is_static(method) else (receiver,)
                given = replace(arguments, positional=(*own, *arguments.positional))
                results.append(self.run(method, receiver, given, node))
        if receiver.instance is not None and found:
            return joined(results)
        if not receiver.top and not self.heap.codes(receiver):
            # A method of something immutable (a string, a number) changes nothing; what it returns is as harmless.
            effect = self.table.method("str", name)
            harmless = effect if effect.files or effect.output or effect.once and effect.known else None
            if harmless:
                return self._affect(harmless, name, receiver, arguments, node)
            held = [value for value in arguments.values() if value.top]
            return (
                self.heap.fresh(*held, kind="list")
                if name in ("split", "join", "iterdir")
                else self.heap.fresh(*held)
            )
        if receiver.instance is not None and not receiver.instance.foreign_bases:
            return self._call_unknown(receiver, arguments, node)
        effect = self.table.method(receiver.kind, name)
        return joined([*results, self._affect(effect, name, receiver, arguments, node)])

    def _call_unknown(
        self, callee: Value, arguments: Arguments, node: ast.Call, *, known: bool = False
    ) -> Value:
        """Call something that may be any of the functions in a value, and if not `known` also a stranger."""
        self._run_callbacks(arguments, callee, node)
        everything = joined((*arguments.values(), callee))
        results = []
        for code in self.heap.codes(callee):
            targets = list(code.methods.values()) if code.is_class else [code]
            for target in targets:
                count = len(_parameters(target))
                results.append(self.run(target, callee, Arguments((everything,) * count, loose=True), node))
        values = (callee, *arguments.values())
        # Only functions of the notebook: what they do has been seen.
        if known or (callee.top and callee.top <= self.heap.functions):
            return joined([*results, self._anything(values, known=True)])
        self.note("once", node, "what is called here")
        self.change(self.heap.deep(everything.top), node, "goes to a function that is not known")
        return joined([*results, self._anything(values, known=False)])

    def _run_callbacks(self, arguments: Arguments, receiver: Value | None, node: ast.AST) -> None:
        """Run the functions in the arguments, with anything that is at hand as their arguments."""
        functions = {
            code: value
            for value in arguments.values()
            for code in (self.heap.codes(value) if value.top else value.code)
            if not code.is_class and not isinstance(code.node, ast.Call)
        }
        if not functions:
            return
        others = [value for value in arguments.values() if value.callee is None]
        everything = joined([*others, *([receiver] if receiver else [])])
        everything = joined((everything, self.heap.view(everything)))
        for code, value in functions.items():
            count = len(_parameters(code))
            self.run(code, value, Arguments((everything,) * count, loose=True), node)

    def _affect(
        self, effect: Effect, name: str, receiver: Value | None, arguments: Arguments, node: ast.Call
    ) -> Value:
        """Do what the effects table says of a call, and return its result."""
        self._change_by(effect, name, receiver, arguments, node)
        for word, happens in (
            ("once", effect.once),
            ("process", effect.process),
            ("output", effect.output),
            ("waits", effect.waits),
        ):
            if happens:
                self.note(word, node, name)  # type: ignore[arg-type]
        if effect.files:
            where = node.args[0] if node.args and receiver is None else None
            if receiver is not None and receiver.top and node.args:
                where = node.args[0]
            self.note("writes" if effect.files == "writes" else "reads", node, _constant_text(where))
        if name == "builtins.open":
            self._note_open(node)
        if name.startswith("flowc.notebook.lines.") and not name.endswith(WRITE_FILE):
            self.note("reads", node)
        for generator in effect.draws:
            if not any(keyword.arg in ("random_state", "seed", "generator") for keyword in node.keywords):
                self.note("draws", node, generator)
        for generator in effect.seeds:
            self.note("seeds", node, generator)
        result = self._result(effect, receiver, arguments)
        if effect.definition:
            code = self._codes.setdefault(node, Code(node))
            return replace(result, kind="factory", code=result.code | {code}, path=None)
        inside = self.heap.codes(joined((*arguments.values(), *((receiver,) if receiver else ()))))
        return replace(result, code=result.code | inside) if inside and effect.result != "value" else result

    def _change_by(
        self, effect: Effect, name: str, receiver: Value | None, arguments: Arguments, node: ast.Call
    ) -> None:
        short = name.rpartition(".")[2]
        if receiver is not None and receiver.top and effect.keeps:
            for value in arguments.values():
                self.heap.link(
                    receiver.top, value if effect.known else joined((value, self.heap.element(value)))
                )
                if name in ("extend", "update", "extendleft"):
                    self.heap.link(receiver.top, self._next(value))
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        inplace = "inplace" in keywords and not _is_constant(keywords["inplace"], False)
        if receiver is not None and receiver.top and (effect.changes or inplace):
            regions = self.heap.deep(receiver.top) if effect.deep else receiver.top
            known = "is changed by" if effect.known or inplace else "may be changed by"
            buffers = not inplace or short in _WRITING_IN_PLACE
            self.change(regions, node, f"{known} '{short}'", buffers=buffers)
        for position, value in enumerate(arguments.positional):
            if not value.top:
                continue
            if position in effect.changed_arguments or (arguments.loose and effect.changed_arguments):
                self.change(self.heap.deep(value.top), node, f"is changed by '{short}'")
            elif not effect.known:
                self.change(
                    self.heap.deep(value.top), node, f"may be changed by '{short}', which is not known"
                )
            elif value.kind in _CONSUMED and (
                value.kind != "opaque" or name.startswith(("builtins.", "itertools."))
            ):
                self._consume(value, node)
        for key, value in arguments.named:
            if value.top and (key == "out" or not effect.known):
                self.change(self.heap.deep(value.top), node, f"may be changed by '{short}'")

    def _note_open(self, node: ast.Call) -> None:
        mode = node.args[1] if len(node.args) > 1 else None
        mode = next((keyword.value for keyword in node.keywords if keyword.arg == "mode"), mode)
        text = "r" if mode is None else _constant_text(mode)
        path = _constant_text(node.args[0]) if node.args else None
        if text is None or set(text) & set("wax+"):
            self.note("writes", node, path)
        if text is None or set(text) & set("r+"):
            self.note("reads", node, path)

    def _result(self, effect: Effect, receiver: Value | None, arguments: Arguments) -> Value:
        values = (*((receiver,) if receiver is not None else ()), *arguments.values())
        match effect.result:
            case "value":
                return replace(IMMUTABLE, kind=effect.kind, stuck=effect.stuck)
            case "fresh":
                return self.heap.foreign(kind=effect.kind, stuck=effect.stuck)
            case "holds":
                parts = [joined((value, self._next(value))) for value in values]
                return self.heap.foreign(*parts, kind=effect.kind, stuck=effect.stuck)
            case "view":
                seen = self.heap.view(values[0], effect.kind) if values else IMMUTABLE
                return seen if seen.top else self.heap.foreign(*values, kind=effect.kind)
            case "self" if receiver is not None:
                return receiver
            case "element":
                return joined([self.heap.element(value) for value in values] + list(arguments.values()))
        result = self._anything(values, known=effect.known)
        return replace(result, kind=effect.kind or result.kind, stuck=effect.stuck or result.stuck)

    def _anything(self, values: Iterable[Value], *, known: bool) -> Value:
        """Return what may be new, or anything that can be got at from these values."""
        parts = list(values)
        everything = joined(parts)
        reach = self.heap.reach(everything.top)
        views = self.heap.view(everything)
        top = self.heap.foreign(*parts).top | views.top | reach
        return Value(top, self.heap.codes(everything), None if known else "opaque", exact=False)

    # -- iteration

    def _consume(self, source: Value, node: ast.AST | None) -> None:
        if source.kind in _CONSUMED and source.top and node is not None:
            regions = self.heap.deep(source.top) if source.kind == "generator" else source.top
            self.change(regions, node, "is consumed")

    def _next(self, source: Value) -> Value:
        """Return an item of what is iterated over."""
        if not source.top:
            return Value(code=source.code)
        return self.heap.element(source) if source.kind in _ITEMS else self.heap.view(source)

    def _annotation(self, node: ast.expr) -> None:
        self.value(node)


def builtin(name: str) -> Value | None:
    """Return the value of a builtin name, or None for a name that is none."""
    if name in _LINES:
        return Value(path=f"flowc.notebook.lines.{name}")
    return Value(path=f"builtins.{name}") if name in _BUILTINS else None


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    arguments = node.args
    for argument in (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ):
        if argument is not None and argument.annotation is not None:
            yield argument.annotation
    if node.returns is not None:
        yield node.returns


def _parameters(code: Code) -> list[str]:
    args = getattr(code.node, "args", None)
    if not isinstance(args, ast.arguments):
        return []
    return [argument.arg for argument in (*args.posonlyargs, *args.args)]


def _decorator_names(code: Code) -> set[str]:
    written = getattr(code.node, "decorator_list", [])
    return {path.rpartition(".")[2] for node in written if (path := _dotted(node))}


def _is_class_method(code: Code) -> bool:
    return "classmethod" in _decorator_names(code)


def _is_static(code: Code) -> bool:
    return "staticmethod" in _decorator_names(code)


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Call):
        return _dotted(node.func)
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value)
        return f"{head}.{node.attr}" if head else None
    return node.id if isinstance(node, ast.Name) else None


def _is_selection(node: ast.expr) -> bool:
    """Say whether an index picks by a mask or a list, which makes pandas and numpy copy."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor)
    return isinstance(node, ast.Compare | ast.List)


def _is_key(node: ast.expr) -> bool:
    """Say whether an index is a text or a list of texts: a column or a dict's key, not a position."""
    parts = node.elts if isinstance(node, ast.List) else [node]
    return all(isinstance(part, ast.JoinedStr) or _constant_text(part) is not None for part in parts)


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _constant_text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
