"""What the effects table says of a call, done: what changes, what is noted, and what the call gives."""

from __future__ import annotations

import ast
from dataclasses import replace

from flowc.notebook.effects import Effect
from flowc.notebook.heap import IMMUTABLE, NO_CODE, Code, Value, joined
from flowc.notebook.host import CONSUMED, ITEMS, Arguments
from flowc.notebook.lines import SCRIPT, SHELL, SHELL_OUTPUT
from flowc.notebook.specials import FILLED, ITEM_TAKEN, Specials
from flowc.notebook.syntax import constant_text, is_constant

_WRITING_IN_PLACE = frozenset(
    ("fillna", "replace", "clip", "where", "mask", "interpolate", "ffill", "bfill", "update")
)
# Methods of tables that take `inplace`, which may be in what is spread by `**`.
_IN_PLACE = _WRITING_IN_PLACE.union(
    ("drop", "dropna", "drop_duplicates", "rename", "rename_axis", "reset_index", "set_index", "set_axis"),
    ("sort_values", "sort_index", "query", "eval"),
)
# Keywords by which a call is given an object to write into.
_WRITTEN = frozenset(("out", "file", "stream", "buf"))
_WRITTEN_KEYWORDS = _WRITTEN | {"ax", "axes", "fig", "figure"}
_STATEFUL = frozenset(("rng", "file"))
_PLOTTING = ("matplotlib.", "seaborn.", "plotly.", "pandas.plotting.")
# Methods of tables that draw, and of axes, which they change.
_DRAWING = frozenset(("plot", "hist", "boxplot"))
# Functions of these modules, and the method, ask a mapping for items.
_ASKING = ("operator.", "string.", "__getitem__")
# Keywords that say whether data is copied before it is worked on or given back.
_COPYING = frozenset(("copy", "copy_X", "copy_x", "copy_y", "deep"))
_OVERWRITING = frozenset(("overwrite_a", "overwrite_b", "overwrite_x", "overwrite_data", "overwrite_input"))


class Consequences(Specials):
    """Does what the effects table says of calls."""

    def _affect(
        self,
        effect: Effect,
        name: str,
        receiver: Value | None,
        arguments: Arguments,
        node: ast.Call,
        returned: Value = IMMUTABLE,
    ) -> Value:
        """Do what the effects table says of a call; `returned` is what functions among its arguments gave."""
        self._change_by(effect, name, receiver, arguments, node)
        for word, happens in (
            ("once", effect.once),
            ("process", effect.process),
            ("output", effect.output),
            ("waits", effect.waits),
        ):
            if happens:
                self.note(word, node, name)  # type: ignore[arg-type]
        runs_command = name.endswith((SHELL, SHELL_OUTPUT, SCRIPT))
        if effect.files:
            where = node.args[0] if node.args and receiver is None and not runs_command else None
            if receiver is not None and receiver.top and node.args:
                where = node.args[0]
            self.note("writes" if effect.files == "writes" else "reads", node, constant_text(where))
        if name == "builtins.open":
            self._note_open(node)
        if runs_command:
            self.note("reads", node)
        for generator in effect.draws:
            if not any(keyword.arg in ("random_state", "seed", "generator") for keyword in node.keywords):
                self.note("draws", node, generator)
        for generator in effect.seeds:
            self.note("seeds", node, generator)
        if self._shares(effect, name, receiver, arguments, node):
            effect = replace(effect, result="view")
        if effect.applies and effect.kind != "iterator":
            return self._applied(effect, receiver, arguments, returned)
        result = self._result(effect, receiver, arguments)
        self._mark(result, effect, name, receiver, node)
        if effect.result in ("any", "sum", "element", "holds", "view"):
            result = replace(result, top=result.top | returned.top, code=result.code | returned.code)
        if effect.definition:
            code = self._codes.setdefault(node, Code(node))
            return replace(result, kind="factory", code=result.code | {code}, path=None)
        inside = self.heap.codes(joined((*arguments.values(), *((receiver,) if receiver else ()))))
        return replace(result, code=result.code | inside) if inside and effect.result != "value" else result

    def _mark(self, result: Value, effect: Effect, name: str, receiver: Value | None, node: ast.Call) -> None:
        """Mark what a call gives where it is peculiar."""
        if effect.mark is not None:
            self.heap.mark(
                self.heap.reach(result.top) if effect.result == "fresh" else result.top, effect.mark
            )
        if receiver is not None and name == "copy" and self.heap.marked(receiver.top, FILLED, inside=False):
            self.heap.mark(result.top, FILLED)
        makes = effect.kind == "estimator" and receiver is None
        if (makes or name == "set_params") and self._may_be_given(node, _COPYING, usual=True):
            self.heap.mark(result.top, "overwriting")

    def _may_be_given(self, node: ast.Call, names: frozenset[str], *, usual: bool) -> bool:
        """Say whether a call may have another than the usual value for a keyword with one of these names."""
        return any(
            not is_constant(keyword.value, usual) if keyword.arg in names else keyword.arg is None and spread
            for spread in (bool(names & self.table.keywords),)
            for keyword in node.keywords
        )

    def _shares(
        self, effect: Effect, name: str, receiver: Value | None, arguments: Arguments, node: ast.Call
    ) -> bool:
        """Say whether what would be a copy may be in the same memory, because the call says so."""
        positional = receiver is not None and name == "copy" and bool(arguments.positional)
        return effect.result == "fresh" and (positional or self._may_be_given(node, _COPYING, usual=True))

    def disturb(self, name: str, receiver: Value, arguments: Arguments, node: ast.AST) -> None:
        """Do what a method of a library does to objects that are peculiar, whatever else it does."""
        if not receiver.top:
            return
        effect = self.table.method(receiver.kind, name)
        if name in _DRAWING:
            self.change(self.heap.marked(receiver.top, "figure"), node, f"is changed by '{name}'")
        if not effect.output and receiver.kind not in ITEMS and effect.result != "view":
            self.change(self.heap.marked(receiver.top, "rng"), node, f"may be drawn from by '{name}'")
        if self.heap.marked(receiver.top, "overwriting"):
            given = joined(arguments.values())
            self.change(self.heap.deep(given.top), node, f"may be overwritten by '{name}'")

    def _applied(
        self, effect: Effect, receiver: Value | None, arguments: Arguments, returned: Value
    ) -> Value:
        """Return what a call gives that runs functions and does not keep them: it holds what they gave."""
        rest = Arguments(
            tuple(
                value
                for value in arguments.values()
                if value.callee is None or value.callee.is_class or value.instance is not None
            )
        )
        result = self._result(effect, receiver, rest)
        if effect.result not in ("fresh", "holds"):
            return joined((result, returned))
        self.heap.link(result.top, returned)
        inside = receiver.code if receiver is not None else NO_CODE
        return replace(result, code=result.code | inside)

    def _change_by(
        self, effect: Effect, name: str, receiver: Value | None, arguments: Arguments, node: ast.Call
    ) -> None:
        short = name.rpartition(".")[2]
        if receiver is not None:
            self.disturb(name, receiver, arguments, node)
        if name.startswith(_ASKING):
            asked = joined((*arguments.values(), *((receiver,) if receiver else ())))
            self.implied((ITEM_TAKEN,), [asked], [], node)
        if receiver is not None and receiver.top and effect.keeps:
            for value in arguments.values():
                self.heap.link(
                    receiver.top, value if effect.known else joined((value, self.heap.element(value)))
                )
                if name in ("extend", "update", "extendleft"):
                    self.heap.link(receiver.top, self._next(value))
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        inplace = "inplace" in keywords and not is_constant(keywords["inplace"], False)
        inplace = inplace or (None in keywords and short in _IN_PLACE)
        if receiver is not None and receiver.top and (effect.changes or inplace):
            regions = self.heap.deep(receiver.top) if effect.deep else receiver.top
            known = "is changed by" if effect.known or inplace else "may be changed by"
            buffers = not inplace or short in _WRITING_IN_PLACE
            self.change(regions, node, f"{known} '{short}'", buffers=buffers)
        self._change_arguments(effect, name, receiver, arguments, node)
        for value in arguments.positional:
            goes_through = name.startswith(("builtins.", "itertools.", "collections."))
            if effect.consumes or (value.kind in CONSUMED and (value.kind != "opaque" or goes_through)):
                self._consume(value, node)

    def _change_arguments(
        self, effect: Effect, name: str, receiver: Value | None, arguments: Arguments, node: ast.Call
    ) -> None:
        """Change what a call changes of what it is given, and what it writes into or draws from."""
        short = name.rpartition(".")[2]
        at = (*effect.changed_arguments, *effect.out)
        by_name = any(position >= len(arguments.positional) for position in effect.changed_arguments)
        given = [
            (value, position in at or (arguments.loose and bool(at)))
            for position, value in enumerate(arguments.positional)
        ]
        given += [(value, key in _WRITTEN_KEYWORDS or by_name) for key, value in arguments.named]
        works_on_data = receiver is None and name.startswith(("sklearn.", "numpy.nan_to_num"))
        overwrites = self._may_be_given(node, _OVERWRITING, usual=False) or (
            works_on_data and self._may_be_given(node, _COPYING, usual=True)
        )
        uses = not effect.output and (receiver is None or receiver.kind not in ITEMS)
        for value, changed in given:
            if not value.top:
                continue
            if name.startswith(_PLOTTING):
                self.change(self.heap.marked(value.top, "figure"), node, f"may be changed by '{short}'")
            if changed or overwrites or (uses and value.kind in _STATEFUL):
                self.change(self.heap.deep(value.top), node, f"is changed by '{short}'")
                if effect.keeps and receiver is None:
                    others = joined(other for other, _ in given if other is not value)
                    self.heap.link(value.top, joined((others, self.heap.element(others))))
            elif not effect.known and receiver is None:
                why = f"may be changed by '{short}', which is not known"
                self.change(self.heap.deep(value.top), node, why)

    def _note_open(self, node: ast.Call) -> None:
        mode = node.args[1] if len(node.args) > 1 else None
        mode = next((keyword.value for keyword in node.keywords if keyword.arg == "mode"), mode)
        text = "r" if mode is None else constant_text(mode)
        path = constant_text(node.args[0]) if node.args else None
        if text is None or set(text) & set("wax+"):
            self.note("writes", node, path)
        if text is None or set(text) & set("r+"):
            self.note("reads", node, path)

    def _result(self, effect: Effect, receiver: Value | None, arguments: Arguments) -> Value:
        values = (*((receiver,) if receiver is not None else ()), *arguments.values())
        match effect.result:
            case "value":
                return replace(IMMUTABLE, kind=effect.kind, stuck=effect.stuck)
            case "fresh" if not any(code.is_class for code in self.heap.codes(joined(values))):
                return self.heap.foreign(kind=effect.kind, stuck=effect.stuck)
            # A copy of an instance shares what belongs to its class.
            case "fresh" | "holds":
                used_up = CONSUMED - {"opaque"} if effect.consumes else frozenset()
                parts = [
                    self._next(value) if value.kind in used_up else joined((value, self._next(value)))
                    for value in values
                ]
                return self.heap.foreign(*parts, kind=effect.kind, stuck=effect.stuck)
            case "view":
                if receiver is not None and not receiver.top:
                    return self.heap.view(joined(arguments.values()), effect.kind)
                seen = self.heap.view(values[0], effect.kind) if values else IMMUTABLE
                if receiver is not None and receiver.kind == "array":
                    self.heap.sure_views |= seen.top
                return seen if seen.top else self.heap.foreign(*values, kind=effect.kind)
            case "self" if receiver is not None:
                return receiver
            case "chain" if receiver is not None:
                return joined((receiver, self.heap.foreign(receiver)))
            case "sum" if len(values) == 1:
                return self._operated(self._next(values[0]), IMMUTABLE)
            case "element":
                return joined([self.heap.element(value) for value in values] + list(arguments.values()))
        result = self._anything(values, known=effect.known)
        return replace(result, kind=effect.kind or result.kind, stuck=effect.stuck or result.stuck)
