"""What `%timeit` and `%prun` become: what they measure, as a function to call again and again, or as it stands.

As in IPython, what `%timeit` runs has names of its own, and `%prun` runs its statement among those of the notebook.
"""

from __future__ import annotations

import ast
import re

TIMEIT, _TIMED = "__flowc_timeit__", "__flowc_timed__"
_TIMEIT_OPTION = re.compile(r"-(?:(?P<name>[nrp])\s*(?P<count>\d+)|(?P<flags>[tcqo]+))(?:\s+|$)")
_PRUN_OPTION = re.compile(r"-(?:[ls]\s*\S+|q)(?:\s+|$)")
_COUNTS = {"n": "number", "r": "repeat", "p": "precision"}
_AS_A_CELL = "write it as a cell of its own below %%timeit"


class NotMeasuredError(Exception):
    """A measuring magic that can't be kept; the message says of what, the hint what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def timeit_line(arguments: str) -> str:
    """Return the expression that a `%timeit` line stands for. Raises NotMeasuredError."""
    options, statement = _timeit_options(arguments)
    if not statement:
        return "None"
    return f"{TIMEIT}(lambda: {_as_expression(statement)}{options})"


def timeit_cell(arguments: str, body: str) -> str:
    """Return what a `%%timeit` cell stands for, in as many lines and one. Raises NotMeasuredError."""
    options, setup = _timeit_options(arguments)
    if setup:
        message = f"'{setup}' behind %%timeit is run before each measurement"
        raise NotMeasuredError(message, "do that in a cell above")
    tree = _parsed(body)
    if not tree.body:
        raise NotMeasuredError("%%timeit has nothing to measure", "remove it")
    return f"def {_TIMED}():\n{_indented(body, tree)}\n{TIMEIT}({_TIMED}{options})"


def prun_line(arguments: str) -> str:
    """Return what a `%prun` line stands for; the profile is shown in a pager, which is no part of a cell's output."""
    statement = _prun_statement(arguments)
    tree = _parsed(statement)
    match tree.body:
        case []:
            return "None"
        case [ast.Expr(value=value)]:
            return f"({ast.get_source_segment(statement, value)}, None)[1]"
    return statement


def prun_cell(arguments: str, body: str) -> str:
    """Return what a `%%prun` cell stands for, without the magic's own line; its last value is not shown."""
    if _prun_statement(arguments):
        message = f"'{arguments.strip()}' behind %%prun is run with the cell"
        raise NotMeasuredError(message, "write it on the next line")
    _parsed(body)
    return f"{body}\nNone"


def _timeit_options(arguments: str) -> tuple[str, str]:
    """Return a call's keywords, each behind a comma, and the statement that follows the options."""
    rest, words = arguments.strip(), {}
    while found := _TIMEIT_OPTION.match(rest):
        rest = rest[found.end() :]
        if found["name"]:
            words[_COUNTS[found["name"]]] = str(int(found["count"]))
        words |= {
            name: "True" for flag, name in (("q", "quiet"), ("o", "result")) if flag in (found["flags"] or "")
        }
    _no_more_options("timeit", rest)
    if words.get("number") == "0":
        del words["number"]
    return "".join(f", {name}={value}" for name, value in words.items()), rest.strip()


def _prun_statement(arguments: str) -> str:
    rest = arguments.strip()
    while found := _PRUN_OPTION.match(rest):
        rest = rest[found.end() :]
    _no_more_options("prun", rest)
    return rest.strip()


def _no_more_options(name: str, rest: str) -> None:
    if rest.startswith("-"):
        message = f"'%{name} {rest}' has an option that can't be kept in a step"
        raise NotMeasuredError(message, "leave the option out, or tag the cell 'skip'")


def _parsed(text: str) -> ast.Module:
    try:
        tree = ast.parse(text)
        # Outside of a function, where 'return' and 'yield' are errors.
        compile(text, "<measured>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        message = f"what is to be measured is not plain Python: {error}"
        raise NotMeasuredError(message, "write it in Python, or tag its cell 'skip'") from error
    return tree


def _as_expression(statement: str) -> str:
    """Return an expression that does what a statement does in a function of its own."""

    def text(node: ast.expr) -> str:
        # IPython takes comments and brackets as they come; here more follows on the same line.
        return f"({ast.unparse(node)})"

    match _parsed(statement).body:
        case [ast.Expr(value=value)]:
            return text(value)
        case [ast.Assign(targets=[target], value=value)] if not _stored(target) & _names(value):
            return f"[None for {ast.unparse(target)} in [{text(value)}]]"
        case [ast.For(target=target, iter=source, body=[ast.Pass()], orelse=[])] if not (
            _stored(target) & _names(source)
        ):
            return f"[None for {ast.unparse(target)} in {text(source)}]"
    message = f"'%timeit {statement}' measures more than an expression or an assignment"
    raise NotMeasuredError(message, _AS_A_CELL)


def _stored(target: ast.expr) -> set[str]:
    return {
        each.id for each in ast.walk(target) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def _names(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _indented(body: str, tree: ast.Module) -> str:
    """Return a cell's lines one column to the right, but for those that go on inside of a text."""
    inside = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and _is_text(node.value))
        for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    }
    return "\n".join(
        line if number in inside else f" {line}" for number, line in enumerate(body.split("\n"), start=1)
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str | bytes)
