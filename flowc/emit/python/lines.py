"""What is said otherwise in a module than in a notebook: shell lines, files, `await` at the top, what is shown.

The cells in the IR are plain Python already; where a line was IPython's, it calls one of the functions named here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Set

from flowc.emit.python.refusal import refuse
from flowc.emit.python.statements import Edit, Statement, place
from flowc.emit.python.text import quoted, triple_quoted

# flowc.notebook.lines gives them these names; a test holds the two together.
SHELL, SHELL_OUTPUT, SCRIPT, WRITE_FILE = (
    "__flowc_shell__",
    "__flowc_shell_output__",
    "__flowc_script__",
    "__flowc_write_file__",
)
CAPTURE, CAPTURED, CAPTURED_UNNAMED = (
    "__flowc_capture__",
    "__flowc_captured__",
    "__flowc_captured_unnamed__",
)
ENVIRONMENT, DISPLAY, TIMEIT = "__flowc_environment__", "__flowc_display__", "__flowc_timeit__"
LINE_FUNCTIONS = frozenset(
    (
        SHELL,
        SHELL_OUTPUT,
        SCRIPT,
        WRITE_FILE,
        CAPTURE,
        CAPTURED,
        CAPTURED_UNNAMED,
        ENVIRONMENT,
        DISPLAY,
        TIMEIT,
    )
)
_DYNAMIC = frozenset(("exec", "eval", "globals", "locals", "vars", "get_ipython"))
_FOR_EFFECT = re.compile(
    r"fit|show|plot|hist|bar|barh|scatter|line|set_\w+|savefig|save|append|extend|update|add|insert|sort|pop|remove"
    r"|compile|train|write\w*|to_\w+|close|seed|title|[xy]label|legend|imshow|axis|figure|subplots?|grid|filterwarnings"
)
Use = Callable[[str], str]


class Lines:
    """Rewrites one statement. `use` returns what a standard library's module is called in the generated one;
    `bound` are the names that have values where the statement stands, `coroutines` the async functions among them."""

    def __init__(self, statement: Statement, use: Use, bound: Set[str], coroutines: Set[str]) -> None:
        self._statement = statement
        self._use = use
        self._bound = bound
        self._coroutines = coroutines

    def edits(self, inside: Set[str] | None = None) -> list[Edit]:
        """Return what to write otherwise; `inside` are the variables of the function that the statement goes into."""
        found = list(self._visit(self._statement.node, top=True, inside=inside))
        for node in ast.walk(self._statement.node):
            if isinstance(node, ast.JoinedStr) and any(edit.node in ast.walk(node) for edit in found):
                self._refuse(
                    node,
                    "what stands in this f-string is written otherwise in a module",
                    "give it a name first, and write the name into the f-string",
                )
        return found

    def _visit(self, node: ast.AST, *, top: bool, inside: Set[str] | None) -> Iterator[Edit]:
        """Yield the edits of a node and of what is in it, the outermost only."""
        edit = self._edit(node, top, inside)
        if edit is not None:
            yield edit
            return
        within = top and not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        )
        for child in ast.iter_child_nodes(node):
            yield from self._visit(child, top=within, inside=inside)

    def _edit(self, node: ast.AST, top: bool, inside: Set[str] | None) -> Edit | None:
        match node:
            case ast.Name(id="__name__", ctx=ast.Load()):
                return Edit(node, '"__main__"')
            case ast.Name(id=name) if name in _DYNAMIC and name not in self._bound:
                self._refuse(
                    node,
                    f"'{name}' does not do in a function what it does in a cell",
                    "write out the code that it runs"
                    if name in ("exec", "eval")
                    else "use the names themselves",
                )
            case ast.Name(id="display", ctx=ast.Load()) if "display" not in self._bound:
                return Edit(node, "print")
            case ast.Call(func=ast.Name(id=name)) if name in LINE_FUNCTIONS:
                return Edit(node, self._line(name, node))
            case ast.Global(names=names):
                return self._global(node, names, top, inside)
            case ast.Await(value=value) if top:
                return self._awaited(node, value)
            case ast.AsyncFor() | ast.AsyncWith() | ast.comprehension(is_async=1) if top:
                self._refuse(
                    self._statement.node,
                    "'async' at the top of a cell has no plain form in a function",
                    "put it in an 'async def' that returns what it makes, and await a call of that",
                )
        return None

    def _global(self, node: ast.Global, names: list[str], top: bool, inside: Set[str] | None) -> Edit | None:
        if top:
            self._refuse(
                node,
                "'global' at the top of a cell means another thing in a function",
                "take it out: a cell's names are global anyway",
            )
        if inside is None:
            return None
        return Edit(node, f"nonlocal {', '.join(names)}")

    def _awaited(self, node: ast.Await, value: ast.expr) -> Edit:
        function = value.func if isinstance(value, ast.Call) else None
        if not (isinstance(function, ast.Name) and function.id in self._coroutines):
            self._refuse(
                node, "only a call of a function of the notebook can be awaited", "put it in an 'async def'"
            )
        return Edit(node, f"{self._use('asyncio')}.run({self._segment(value)})")

    def _line(self, name: str, node: ast.Call) -> str:
        if name in (CAPTURE, DISPLAY):
            return "None"
        if name == CAPTURED:
            self._refuse(
                node,
                "what a '%%capture' cell shows can't be kept in a function",
                "keep it with contextlib.redirect_stdout(io.StringIO())",
            )
        if name == TIMEIT:
            self._refuse(node, "what '%timeit' does has no place in a module", "tag its cell 'skip'")
        if name == SCRIPT and len(node.args) > 2:
            self._refuse(
                node, "a script that keeps its output has no plain form", "write it with subprocess.run"
            )
        if name == CAPTURED_UNNAMED:
            return self._segment(node.args[0]) if node.args else "None"
        if name == ENVIRONMENT:
            setting = f"{self._command(node)}.partition('=')[::2]"
            return f"{self._use('os')}.environ.update([{setting}])"
        arguments = [ast.literal_eval(each) for each in node.args if isinstance(each, ast.Constant)]
        subprocess = self._use("subprocess") if name != WRITE_FILE else ""
        if name == SHELL:
            return f"{subprocess}.run({self._command(node)}, shell=True, check=False)"
        if name == SHELL_OUTPUT:
            how = f"shell=True, text=True, stdout={subprocess}.PIPE, check=False"
            return f"{subprocess}.run({self._command(node)}, {how}).stdout.splitlines()"
        if name == SCRIPT:
            program = "[" + ", ".join(map(quoted, arguments[0].split())) + "]"
            return f"{subprocess}.run({program}, input={triple_quoted(arguments[1])}, text=True, check=True)"
        file, text, append = arguments
        path = f"{self._use('pathlib')}.Path({quoted(file)})" + (
            ".expanduser()" if file.startswith("~") else ""
        )
        if append:
            self._refuse(node, "'%%writefile -a' has no plain form", "write the file as a whole")
        return f'{path}.write_text({triple_quoted(text)}, encoding="utf-8")'

    def _command(self, node: ast.Call) -> str:
        """Return a shell line as a literal, an f-string where it names values of the notebook."""
        command = str(ast.literal_eval(node.args[0]))
        if len(node.args) == 1:
            return quoted(command.replace("$$", "$"))
        lookups = node.args[1]
        assert isinstance(lookups, ast.Dict)
        fields: dict[str, str] = {}
        for key, look_up in zip(lookups.keys, lookups.values, strict=True):
            assert key is not None
            assert isinstance(look_up, ast.Lambda)
            names = {each.id for each in ast.walk(look_up.body) if isinstance(each, ast.Name)}
            written = str(ast.literal_eval(key))
            if names <= self._bound:
                fields[written] = ast.unparse(look_up.body)
            elif not written.startswith("$"):
                self._refuse(
                    node,
                    f"'{written}' names nothing of the notebook",
                    "write the command without these braces",
                )
        if any("'" in code or '"' in code or "\\" in code for code in fields.values()):
            self._refuse(
                node, "a shell line with quotes inside of braces has no plain form", "use a variable"
            )
        return "f" + quoted(_with_fields(command, fields)) if fields else quoted(command.replace("$$", "$"))

    def _segment(self, node: ast.expr) -> str:
        return ast.get_source_segment(self._statement.cell.source, node) or ast.unparse(node)

    def _refuse(self, node: ast.AST, message: str, hint: str) -> None:
        assert isinstance(node, ast.expr | ast.stmt)
        refuse(message, place(self._statement.file, self._statement.cell, node), hint)


def _with_fields(command: str, fields: dict[str, str]) -> str:
    pattern = "|".join(re.escape(written) for written in sorted(fields, key=len, reverse=True))
    parts = re.split(f"({pattern})", command)
    plain = [part.replace("$$", "$").replace("{", "{{").replace("}", "}}") for part in parts]
    return "".join(
        "{" + fields[part] + "}" if number % 2 else plain[number] for number, part in enumerate(parts)
    )


def is_nothing(node: ast.stmt) -> bool:
    """Say whether a statement does nothing: what a magic without an effect became, `pass`, a text by itself."""
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def is_shown(node: ast.stmt) -> bool:
    """Say whether a cell's last statement is there to be looked at: a notebook shows its value, a module does not."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name())):
            return False
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method))):
            return _FOR_EFFECT.fullmatch(method) is None
        case ast.Expr(value=ast.Constant() | ast.Await() | ast.Yield()):
            return False
    return isinstance(node, ast.Expr)
