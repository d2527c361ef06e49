"""What statements do to names and objects, without running them.

`Walker` goes through code in the order in which Python would, with every branch and no or several rounds of every
loop. It knows nothing of where names live: `summaries` walks the bodies of functions, `dataflow` those of cells.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from flowc.notebook.expressions import Expressions
from flowc.notebook.heap import IMMUTABLE, Code, Value, joined
from flowc.notebook.host import Arguments, Scope
from flowc.notebook.specials import ENTERED, operator_names
from flowc.notebook.syntax import annotations_of, dotted


class Walker(Expressions):
    """Goes through statements."""

    def walk(self, statements: Iterable[ast.stmt]) -> None:
        """Go through statements in order."""
        for statement in statements:
            self.heap.budget.spend(10)
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
            self.value(node.annotation)
        if node.value is not None:
            self._assign(node.target, self.value(node.value), node.value)

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        old = self._load_target(target)
        new = self.value(node.value)
        if old.top:
            self.change(old.top, node, "is changed by an augmented assignment")
            self.heap.link(old.top, self.heap.element(new))
        found = self.implied(operator_names(node.op, in_place=True), [old, new], [], node)
        if old.top:
            found.append(old)
        self._assign(target, joined([self._operated(old, new), *found]), node.value)

    def _load_target(self, target: ast.expr) -> Value:
        if isinstance(target, ast.Name):
            return self._name(target.id, target)
        if isinstance(target, ast.Attribute):
            whole = self.value(target.value)
            found = self.read_attribute(whole, target.attr, target)
            return joined([self.attribute(whole, target), *found])
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
        self.test(node.test)

        def once() -> None:
            self.walk(node.body)
            self.test(node.test)

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

    def _do_Break(self, _node: ast.Break | ast.Continue) -> None:
        if self._exits:
            self._exits[-1].append(self.snapshot())

    _do_Continue = _do_Break

    def _do_If(self, node: ast.If) -> None:
        self.test(node.test)
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
            entering = self.implied(ENTERED, [context], [], item.context_expr)
            if context.top and context.kind != "file":
                self.change(context.top, item.context_expr, "is entered by 'with'")
            if item.optional_vars is not None:
                entered = self._anything((context,), known=True)
                if context.kind == "context":
                    entered = replace(self._next(context), stuck=None)
                else:
                    entered = replace(entered, stuck=context.stuck, kind=context.kind)
                self._assign(item.optional_vars, joined([entered, *entering]), None)
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
        path = dotted(function)
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
                self.test(case.guard)
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
        for annotation in annotations_of(node):
            self.value(annotation)
        for decorator, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
            function = self._decorated(decorator, function, written)
        name = node.name
        if self._scopes and self._scopes[-1].kind == "class" and name in self._scopes[-1].names:
            # A property's setter stands beside its getter; what is called by that name is either.
            kinds = [each.attr for each in node.decorator_list if isinstance(each, ast.Attribute)]
            name = f"{name}.{kinds[0]}" if kinds and kinds[0] in ("setter", "deleter") else name
        self.bind(name, function, node)

    _do_AsyncFunctionDef = _do_FunctionDef

    def _decorated(self, decorator: Value, thing: Value, node: ast.expr) -> Value:
        if decorator.callee is not None:
            # What it does with the function is seen where it does it, so nothing else is called here.
            given = Arguments((thing,))
            if decorator.callee.is_class:
                result = self._instantiate(decorator, decorator.callee, given, node)
            else:
                result = self.run(decorator.callee, decorator, given, node)
            return replace(result, code=result.code | thing.code | decorator.code)
        if decorator.instance is not None:
            return joined((thing, self._call_unknown(decorator, Arguments((thing,)), node)))
        written = node.func if isinstance(node, ast.Call) else node
        if decorator.path is None and isinstance(written, ast.Attribute):
            # `@show.register`: what it belongs to keeps the function.
            owner = self.value(written.value)
            self.change(owner.top, node, f"is given a function by '{written.attr}'")
            self.heap.link(owner.top, thing)
        # A library's decorator gives something that runs the function; plain ones give the function itself.
        if decorator.path and self.table.function(decorator.path).process:
            self.note("process", node, decorator.path)
        return replace(thing, code=thing.code | decorator.code)

    def _do_ClassDef(self, node: ast.ClassDef) -> None:
        decorators = [self.value(decorator) for decorator in node.decorator_list]
        bases = [self.value(base) for base in node.bases]
        keywords = [self.value(keyword.value) for keyword in node.keywords]
        scope = Scope("class", {}, set())
        self._scopes.append(scope)
        self.walk(node.body)
        self._scopes.pop()
        code = self._class_code(node, bases, scope)
        held = [value for value in scope.names.values() if value.top and value.callee is None]
        value = self.heap.fresh(*held, *bases, *keywords)
        self.define_class(joined(bases), joined(keywords), joined(held), keywords, node)
        self.heap.functions |= value.top
        value = replace(value, code=value.code | {code}, callee=code)
        for decorator, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
            value = self._decorated(decorator, value, written)
        self.bind(node.name, value, node)

    def _class_code(self, node: ast.ClassDef, bases: list[Value], scope: Scope) -> Code:
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
        self.test(node.test)
        if node.msg is not None:
            self.value(node.msg)

    def _do_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name == "__main__":
                self.note("dynamic", node, alias.name)
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
