"""What calls do: of the notebook's own functions, of what the effects table knows, and of strangers."""

from __future__ import annotations

import ast
from dataclasses import replace

from flowc.notebook.consequences import Consequences
from flowc.notebook.heap import IMMUTABLE, Code, Regions, Value, joined
from flowc.notebook.host import ITEMS, Arguments
from flowc.notebook.queries import QUERYING, names_in_text
from flowc.notebook.specials import ITEM_TAKEN, any_arguments
from flowc.notebook.syntax import (
    constant_text,
    is_class_method,
    is_static,
)
from flowc.notebook.timed import TIMEIT

_DYNAMIC = frozenset(
    (
        *("builtins.exec", "builtins.eval", "builtins.globals", "builtins.locals", "builtins.vars"),
        *("sys._getframe", "inspect.currentframe", "inspect.stack"),
    )
)
# Methods of texts and templates that ask a mapping for items.
_ASKING_ITEMS = frozenset(("format_map", "substitute", "safe_substitute", "vformat"))
_CONSTRUCTORS = ("__init__", "__post_init__", "__new__")


class Calls(Consequences):
    """Walks calls."""

    def _of_Call(self, node: ast.Call) -> Value:
        receiver: Value | None = None
        found: list[Value] = []
        if isinstance(node.func, ast.Attribute):
            receiver = self.value(node.func.value)
            found = self.read_attribute(receiver, node.func.attr, node)
            # A method of an object is no part of it that anyone could keep.
            plain = receiver.path is None and receiver.callee is None
            callee = IMMUTABLE if plain else self.attribute(receiver, node.func)
        else:
            callee = self.value(node.func)
        arguments = self._arguments(node, self._consumes(callee, receiver, node))
        if found:
            self._call_unknown(joined(found), arguments, node, known=True)
        if callee.kind == "factory":
            return self._call_unknown(callee, arguments, node, known=True)
        if callee.path is not None:
            return self._call_path(callee.path, arguments, node)
        if callee.callee is not None:
            return self._call_code(callee, receiver, arguments, node)
        if isinstance(node.func, ast.Attribute) and receiver is not None:
            return self._call_method(receiver, node.func.attr, arguments, node)
        return self._call_unknown(callee, arguments, node)

    def _consumes(self, callee: Value, receiver: Value | None, node: ast.Call) -> bool:
        """Say whether a call goes through what it is given at once, so that no generator outlives it."""
        if callee.path is not None:
            return self.table.function(callee.path).consumes
        if receiver is None or not isinstance(node.func, ast.Attribute) or callee.callee or receiver.instance:
            return False
        own = any(code.is_class for code in self.heap.codes(receiver))
        return not own and self.table.method(receiver.kind, node.func.attr).consumes

    def _items(self, node: ast.expr) -> Value:
        """Go through an argument that is used up at once: a generator written there is as good as a list."""
        if isinstance(node, ast.GeneratorExp):
            return self.value(ast.copy_location(ast.ListComp(node.elt, node.generators), node))
        plain = (ast.Name, ast.Attribute, ast.expr_context)
        if not isinstance(node, ast.Call) or not all(isinstance(each, plain) for each in ast.walk(node.func)):
            return self.value(node)
        path = self.value(node.func).path
        effect = self.table.function(path) if path else None
        if path is None or effect is None or effect.kind != "iterator" or effect.stuck:
            return self.value(node)
        arguments = self._arguments(node, True)
        returned = self._run_callbacks(arguments, None, node)
        return self._affect(
            replace(effect, kind="list", consumes=True), path, None, arguments, node, returned
        )

    def _arguments(self, node: ast.Call, consumed: bool = False) -> Arguments:
        value = self._items if consumed else self.value
        positional = tuple(map(value, node.args))
        named = tuple((keyword.arg or "**", value(keyword.value)) for keyword in node.keywords)
        loose = any(isinstance(argument, ast.Starred) for argument in node.args) or any(
            keyword.arg is None for keyword in node.keywords
        )
        return Arguments(positional, named, loose)

    def _call_path(self, path: str, arguments: Arguments, node: ast.Call) -> Value:
        if path in _DYNAMIC and not (path == "builtins.vars" and arguments.positional):
            self.note("dynamic", node, path.removeprefix("builtins."))
        if path == "builtins.id":
            self.note("identity", node)
        if path == "builtins.super":
            return self.own_instance()
        special = self._call_special(path, arguments, node)
        if special is not None:
            return special
        effect = self.table.function(path)
        if path.startswith("flowc.notebook.lines."):
            # A `$name` of a shell line may be the shell's own: as in a `try`, it need not be defined.
            self._raises.append([])
            self._run_callbacks(arguments, None, node)
            self._raises.pop()
        elif not effect.definition:
            returned = IMMUTABLE if effect.quiet else self._run_callbacks(arguments, None, node, path)
            return self._affect(effect, path, None, arguments, node, returned)
        return self._affect(effect, path, None, arguments, node)

    def _call_special(self, path: str, arguments: Arguments, node: ast.Call) -> Value | None:
        """Call what is another way of writing something; return None for what is not."""
        first = arguments.positional[0] if arguments.positional else IMMUTABLE
        rest = arguments.positional[1:]
        name = constant_text(node.args[1]) if len(node.args) > 1 else None
        if path == "builtins.type" and len(arguments.positional) == 1:
            return self.type_of(first)
        if path == "builtins.getattr" and name is not None:
            attribute = ast.copy_location(ast.Attribute(node.args[0], name, ast.Load()), node)
            found = self.read_attribute(first, name, node)
            return joined((self.attribute_as_value(first, attribute, node), *rest[1:2], *found))
        if path == f"flowc.notebook.lines.{TIMEIT}":
            return self._timed(arguments, node)
        if path in ("builtins.setattr", "builtins.delattr") and arguments.positional:
            self._set_by_name(first, name, joined(rest[1:]), node)
        if path == "operator.call" and rest:
            return self._call_unknown(first, replace(arguments, positional=rest), node)
        if path == "operator.methodcaller" and node.args:
            return self.method_caller(constant_text(node.args[0]) or "", rest, node)
        if (method := self.unbound(path)) is not None and arguments.positional:
            given = replace(arguments, positional=arguments.positional if arguments.loose else rest)
            return self._call_method(first, method[1], given, node)
        return None

    def _timed(self, arguments: Arguments, node: ast.Call) -> Value:
        """Call a function again and again, as often as its time allows unless the number is given."""
        self.note("output", node)
        if not any(keyword.arg == "number" for keyword in node.keywords):
            self.note("repeats", node)
        for _ in range(2):
            self._run_callbacks(arguments, None, node)
        return self.heap.fresh()

    def _set_by_name(self, whole: Value, name: str | None, value: Value, node: ast.Call) -> None:
        """Set an attribute whose name may not be known: then any that runs something."""
        setters = (each.rpartition(".")[0] for each in self.table.own if each.endswith(".setter"))
        self.change(whole.top, node, "has an attribute set")
        for each in [name] if name is not None else sorted(setters) or [""]:
            self.set_attribute(whole, each, value, node)
        if whole.path is not None:
            self.note("state", node, whole.path)

    def type_of(self, value: Value) -> Value:
        """Return the class of a value."""
        if value.kind in ITEMS:
            return Value(code=self.heap.codes(value), path=f"builtins.{value.kind}")
        return Value(value.top, self.heap.codes(value), "type", callee=value.instance)

    def _call_code(self, callee: Value, receiver: Value | None, arguments: Arguments, node: ast.AST) -> Value:
        code = callee.callee
        assert code is not None
        if code.is_class:
            return self._instantiate(callee, code, arguments, node)
        if (
            receiver is not None
            and receiver.callee is not None
            and receiver.callee.is_class
            and is_class_method(code)
        ):
            arguments = replace(arguments, positional=(receiver, *arguments.positional))
        self._run_callbacks(arguments, None, node)
        # What was registered with a function may be called in its place.
        registered = frozenset().union(*map(self.heap.own_codes, callee.top)) - {code}
        others = [self.run(each, callee, arguments, node) for each in registered if not each.is_class]
        return joined((self.run(code, callee, arguments, node), *others))

    def _instantiate(self, cls: Value, code: Code, arguments: Arguments, node: ast.AST) -> Value:
        if code.is_enum:
            return Value(code=cls.code)
        if code.has_metaclass:
            self._call_metaclass(cls, code, arguments, node)
        attributes = self.heap.element(cls)
        instance = self.heap.foreign(*arguments.values(), attributes)
        instance = replace(instance, code=cls.code | instance.code, instance=code)
        self.heap.link(instance.top, Value(code=cls.code))
        for name in _CONSTRUCTORS:
            method = code.method(name)
            if method is not None:
                given = replace(arguments, positional=(instance, *arguments.positional))
                self.run(method, cls, given, node)
        if code.foreign_bases:
            self._run_callbacks(arguments, instance, node)
        return instance

    def _call_metaclass(self, cls: Value, code: Code, arguments: Arguments, node: ast.AST) -> None:
        """Run what takes the place of making an instance, where a metaclass is of the notebook's own."""
        for meta in cls.code - {code, *code.ancestors()}:
            method = meta.method("__call__") if meta.is_class else None
            if method is not None:
                self.run(method, cls, any_arguments(method, cls, arguments.values()), node)

    def _call_method(self, receiver: Value, name: str, arguments: Arguments, node: ast.Call) -> Value:
        if receiver.kind == "type" and arguments.positional:
            # A method got from a class: its receiver is the first that it is given.
            receiver = arguments.positional[0]
            arguments = replace(arguments, positional=arguments.positional[0 if arguments.loose else 1 :])
        if name in QUERYING:
            self._read_queried(node)
        returned = self._run_callbacks(arguments, receiver, node)
        self.call_later(name, receiver, arguments)
        results = []
        classes = [code for code in self.heap.codes(receiver) if code.is_class]
        found = False
        for code in [receiver.instance] if receiver.instance else classes:
            method = code.method(name)
            if method is not None:
                found = True
                own = () if is_static(method) else (receiver,)
                given = replace(arguments, positional=(*own, *arguments.positional))
                results.append(self.run(method, receiver, given, node))
        if receiver.instance is not None and found:
            return joined(results)
        if not receiver.top and not self.heap.codes(receiver):
            # A method of something immutable (a string, a number) changes nothing; what it returns is as harmless.
            effect = self.table.method("str", name)
            harmless = effect if effect.files or effect.output or (effect.once and effect.known) else None
            if harmless:
                return self._affect(harmless, name, receiver, arguments, node)
            if name == "join":
                return IMMUTABLE
            if name in _ASKING_ITEMS:
                self.implied((ITEM_TAKEN,), list(arguments.values()), [], node)
            held = [value for value in arguments.values() if value.top]
            if effect.known and effect.result == "view" and held:
                return self.heap.view(joined(held))
            return (
                self.heap.fresh(*held, kind="list")
                if name in ("split", "iterdir")
                else self.heap.fresh(*held)
            )
        if receiver.instance is not None and not receiver.instance.foreign_bases:
            return self._call_unknown(receiver, arguments, node)
        effect = self.table.method(receiver.kind, name)
        return joined([*results, self._affect(effect, name, receiver, arguments, node, returned)])

    def _read_queried(self, node: ast.Call) -> None:
        """Read the variables that the text of a query names, or that it may name where it is not known."""
        texts = [*node.args[:1], *(each.value for each in node.keywords if each.arg in ("expr", None))]
        known = [text for each in texts if (text := constant_text(each)) is not None]
        found = {name for text in known for name in names_in_text(text)}
        # What looks like a name may be part of a text in the text, so it need not be there.
        self._raises.append([])
        for name in sorted(found if len(known) == len(texts) else self.table.queried):
            self.value(ast.copy_location(ast.Name(name, ast.Load()), node))
        self._raises.pop()

    def _call_unknown(
        self, callee: Value, arguments: Arguments, node: ast.AST, *, known: bool = False
    ) -> Value:
        """Call something that may be any of the functions in a value, and if not `known` also a stranger."""
        put_off = self.call_later(None, callee, arguments)
        self._run_callbacks(arguments, callee, node)
        given = joined(arguments.values())
        if not known:
            self.implied((ITEM_TAKEN,), [given], [], node)
        results = []
        for code in self.heap.codes(callee):
            if not code.is_class:
                held = replace(callee, top=callee.top - self.heap.functions, callee=None)
                loose = Arguments((joined((given, held)),), loose=True)
                results.append(self.run(code, callee, loose, node))
                continue
            for name, method in code.methods.items():
                if name == "__call__" or not name.startswith("__"):
                    results.append(self.run(method, callee, any_arguments(method, callee, [given]), node))
        values = (callee, *arguments.values())
        # Only functions of the notebook: what they do has been seen.
        if known or (callee.top and callee.top <= self.heap.functions):
            return joined([*results, self._anything(values, known=True)])
        self.call_stranger(callee, put_off, arguments, node)
        return joined([*results, self._anything(values, known=False)])

    def call_stranger(self, callee: Value, put_off: Regions, arguments: Arguments, node: ast.AST) -> None:
        """Do what calling something may do that is no function of the notebook's, but for what was put off.

        As with a method that is not known, it may change what it belongs to, and keep what it is given, which is
        guarded at run time.
        """
        strange = callee.top - put_off
        if strange <= self.heap.functions:
            return
        self.note("once", node, "what is called here")
        self.change(self.heap.deep(strange), node, "may be changed by a call of it")
        self.heap.link(strange - self.heap.functions, joined(arguments.values()))

    def _run_callbacks(
        self, arguments: Arguments, receiver: Value | None, node: ast.AST, path: str = ""
    ) -> Value:
        """Run the functions in the arguments, with anything that is at hand; return what they may return.

        So are the methods that whoever is called, by its `path`, may run of instances.
        """
        functions = {
            code: value
            for value in arguments.values()
            for code in (self.heap.codes(value) if value.top else value.code)
            if not isinstance(code.node, ast.Call)
        }
        sets = not path.startswith("builtins.") or path.endswith("attr")
        implied = self.implied_by_library(receiver, arguments, node, sets=sets)
        if not functions:
            return joined(implied)
        others = [value for value in arguments.values() if value.callee is None]
        everything = joined([*others, *([receiver] if receiver else [])])
        everything = joined((everything, self.heap.view(everything)))
        called = [self._call_back(code, value, everything, node) for code, value in functions.items()]
        return joined([*called, *implied])

    def _call_back(self, code: Code, value: Value, given: Value, node: ast.AST) -> Value:
        """Run a function, a class or an object that can be called with something that may be any argument."""
        if not code.is_class:
            return self.run(code, value, Arguments((given,), loose=True), node)
        made = value.callee is code
        own = self.heap.fresh(given) if made else value
        methods = [code.method(name) for name in (_CONSTRUCTORS if made else ("__call__",))]
        returned = [
            self.run(method, value, any_arguments(method, own, [given]), node) for method in methods if method
        ]
        return joined([own, *returned] if made else returned)
