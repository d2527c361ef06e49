"""From a cell's source to plain Python: IPython's own lines are translated, or refused where they can't be kept.

IPython's transformer finds them; it is imported only for a cell that is not Python as it stands. Lines and columns
stay those of the user's cell.
"""

from __future__ import annotations

import ast
import io
import re
import shlex
import tokenize
import warnings
from dataclasses import dataclass

from flowc.diagnostics import Diagnostic
from flowc.notebook.magics import (
    COMMANDS,
    DISPLAY_CELLS,
    HINTS,
    LOOKS,
    NO_OPS,
    PYTHON_2,
    SCRIPTS,
    SHOWING,
)
from flowc.notebook.model import Notebook, NotebookCell, diagnose
from flowc.notebook.timed import (
    TIMEIT,
    NotMeasuredError,
    prun_cell,
    prun_line,
    timeit_cell,
    timeit_line,
)

# The names under which the worker puts what does a line's or a cell's work into a step's namespace.
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
ENVIRONMENT, DISPLAY = "__flowc_environment__", "__flowc_display__"
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

_INSTALL = re.compile(
    r"\s*(?:python3? -m )?(?P<tool>pip3?|uv pip|conda|mamba)\s+install\s+(?P<what>.*)", re.DOTALL
)
_SHELL_NAME = re.compile(r"\$\$|\$(?P<name>[A-Za-z_]\w*)|\{(?P<expression>[^{}]+)\}")
_CAPTURE_OPTIONS = frozenset(("--no-stdout", "--no-stderr", "--no-display"))
_MAGIC_METHODS = frozenset(("run_line_magic", "run_cell_magic", "system", "getoutput"))


@dataclass(frozen=True, slots=True)
class PlainCell:
    """A cell as Python: its tree, its text, and the requirements that its install lines name."""

    cell: NotebookCell
    source: str
    tree: ast.Module
    requirements: tuple[str, ...] = ()


def plain_cell(notebook: Notebook, cell: NotebookCell) -> tuple[PlainCell | None, list[Diagnostic]]:
    """Return the cell as plain Python, or None with what is wrong with it; warnings may come with either."""
    try:
        return PlainCell(cell, cell.source, _parse(cell.source)), []
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        failure = error
    translation = _Translation(notebook, cell)
    try:
        source = translation.translate()
        plain = PlainCell(cell, source, _parse(source), tuple(translation.requirements))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return None, translation.problems or [
            _syntax_problem(notebook, cell, failure if not isinstance(error, SyntaxError) else error)
        ]
    failed = any(problem.severity == "error" for problem in translation.problems)
    return (None if failed else plain), translation.problems


def _parse(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
        # Some errors (`return` at the top, a name both global and local) are only the compiler's to find.
        compile(source, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return tree


def _syntax_problem(notebook: Notebook, cell: NotebookCell, error: Exception) -> Diagnostic:
    line = getattr(error, "lineno", None)
    column = getattr(error, "offset", None)
    message = getattr(error, "msg", None) or str(error) or type(error).__name__
    place = cell.place(notebook.file, line, column)
    return diagnose("FC014", f"not valid Python: {message}", place, hint=_python_2(message))


def _python_2(message: str) -> str | None:
    """Return a hint where what Python does not understand is what Python 2 did."""
    for said, what in PYTHON_2.items():
        if message.startswith(said):
            return f"{what}: this is Python 2, which flowc can't run; rewrite it for Python 3"
    return None


@dataclass(frozen=True, slots=True)
class _Capture:
    """A `%%capture` line: where it stands, the name that it gives, its options."""

    line: int
    name: str | None
    options: frozenset[str]

    def around(self, source: str) -> str:
        """Return the cell with a call in place of the line, and one at its end that takes its last value."""
        tree = _parse(source)
        lines = [line.encode() for line in source.split("\n")]
        end = CAPTURED if self.name else CAPTURED_UNNAMED
        named = f"{self.name} = " if self.name else ""
        last = tree.body[-1] if tree.body else None
        # A cell that ends with a semicolon shows no last value, and then IPython gives no name to what it showed.
        quiet = is_quiet(source)
        if quiet and self.name:
            lines.append(f"{named}{end}(); del {self.name}".encode())
        elif quiet or not isinstance(last, ast.Expr):
            lines.append(f"{named}{end}()".encode())
        else:
            assert last.end_lineno is not None
            assert last.end_col_offset is not None
            closing = lines[last.end_lineno - 1]
            lines[last.end_lineno - 1] = (
                closing[: last.end_col_offset] + b")" + closing[last.end_col_offset :]
            )
            opening = lines[last.lineno - 1]
            head, tail = opening[: last.col_offset], opening[last.col_offset :]
            lines[last.lineno - 1] = head + f"{named}{end}(".encode() + tail
        kept = [f"--no-{what}" not in self.options for what in ("stdout", "stderr", "display")]
        lines[self.line] = f"{CAPTURE}({', '.join(map(str, kept))})".encode()
        return b"\n".join(lines).decode()


def is_quiet(source: str) -> bool:
    """Say whether a cell ends with a semicolon, which keeps its last value from being shown."""
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    last = [token.string for token in tokens if token.type not in blank][-1:]
    return last == [";"]


class _Translation:
    """The translation of one cell; collects its problems and requirements on the way."""

    def __init__(self, notebook: Notebook, cell: NotebookCell) -> None:
        self.notebook = notebook
        self.cell = cell
        self.problems: list[Diagnostic] = []
        self.requirements: list[str] = []
        self._capture: _Capture | None = None

    def translate(self) -> str:
        source = self._without_cell_magic(self.cell.source)
        try:
            _parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            source = self._without_lines(source)
        return self._capture.around(source) if self._capture else source

    def _without_cell_magic(self, source: str, above: int = 0) -> str:
        """Return the source with its `%%` line, if it has one, replaced by what it stands for."""
        lines = source.split("\n")
        start = next(
            (
                number
                for number, line in enumerate(lines)
                if line.strip() and not line.lstrip().startswith("#")
            ),
            0,
        )
        first = lines[start]
        if not first.startswith("%%"):
            return source
        name, _, arguments = first[2:].strip().partition(" ")
        body = "\n".join(lines[start + 1 :])
        blank = [""] * (start + 1)
        if name == "time" and arguments.strip():
            message = f"'%%time {arguments.strip()}' says something after %%time, which IPython refuses too"
            self._refuse("FC015", message, start + 1, "write it on the next line")
            return ""
        if name == "capture":
            self._note_capture(arguments, above + start)
        if name in ("time", "capture"):
            return "\n".join([*blank, self._without_cell_magic_again(body, above + start + 1)])
        if name in DISPLAY_CELLS:
            kind, mime = DISPLAY_CELLS[name]
            return "\n" * start + f"{DISPLAY}({kind!r}, {mime!r}, {_ended(body)!r})"
        if name in SCRIPTS:
            return "\n" * start + self._script(name, arguments, body, start + 1)
        if name in ("timeit", "prun"):
            return "\n" * start + self._measured_cell(name, arguments, body, start + 1)
        if name in ("writefile", "file"):
            return "\n" * start + self._write_file(arguments, body, start + 1)
        self._refuse(
            "FC015", f"the cell magic %%{name} can't be kept in a step", start + 1, self._magic_hint(name)
        )
        return ""

    def _script(self, name: str, arguments: str, body: str, line: int) -> str:
        """Return a call that runs a script; what `--out NAME` and `--err NAME` keep of it is what the call gives."""
        words = re.sub(r"(--(?:out|err))=", r"\1 ", arguments).split()
        kept: dict[str, str] = {}
        for option in ("--out", "--err"):
            if option in words[:-1]:
                position = words.index(option)
                kept[option.strip("-")] = words[position + 1]
                del words[position : position + 2]
        if any(word.startswith("--") for word in words) or not all(map(str.isidentifier, kept.values())):
            message = f"'%%{name} {arguments.strip()}' has an option that can't be kept in a step"
            self._refuse("FC015", message, line, "write it with subprocess.run")
        program = " ".join(words if name == "script" else [name, *words])
        targets = "".join(f"{target}, " for target in kept.values())
        call = f"{SCRIPT}({', '.join(map(repr, (program, body, *kept)))})"
        return f"{targets}= {call}" if kept else call

    def _measured_cell(self, name: str, arguments: str, body: str, line: int) -> str:
        try:
            if name == "timeit":
                return timeit_cell(arguments, body)
            return "\n" + prun_cell(arguments, body)
        except NotMeasuredError as error:
            self._refuse("FC015", str(error), line, error.hint)
        return ""

    def _note_capture(self, arguments: str, line: int) -> None:
        words = arguments.split()
        names = [word for word in words if not word.startswith("--")]
        options = {word for word in words if word.startswith("--")}
        wrong = len(names) > 1 or not all(name.isidentifier() for name in names)
        if wrong or not options <= _CAPTURE_OPTIONS:
            message = f"'%%capture {arguments.strip()}' is not understood"
            hint = "write '%%capture NAME', with " + ", ".join(sorted(_CAPTURE_OPTIONS)) + " if wanted"
            self._refuse("FC015", message, line + 1, hint)
        elif self._capture is not None:
            self._refuse("FC015", "%%capture stands inside of %%capture", line + 1, "leave one of them")
        else:
            self._capture = _Capture(line, next(iter(names), None), frozenset(options))

    def _without_cell_magic_again(self, body: str, above: int) -> str:
        return self._without_cell_magic(body, above) if body.lstrip("\n").startswith("%%") else body

    def _write_file(self, arguments: str, body: str, line: int) -> str:
        words = arguments.split()
        append = "-a" in words or "--append" in words
        names = [word for word in words if word not in ("-a", "--append")]
        if len(names) != 1 or "$" in arguments or "{" in arguments:
            self._refuse(
                "FC015", "%%writefile takes one plain file name", line, "write the name without $ or {}"
            )
            return ""
        name = names[0].strip(chr(34) + chr(39))
        return f"{WRITE_FILE}({name!r}, {_ended(body)!r}, {append})"

    def _without_lines(self, source: str) -> str:
        """Return the source with each IPython line replaced by Python of as many lines."""
        try:
            from IPython.core.inputtransformer2 import TransformerManager
        except ModuleNotFoundError as error:
            place = self.cell.place(self.notebook.file, getattr(error, "lineno", None))
            hint = "install flowc[notebook]"
            self.problems.append(
                diagnose(
                    "FC013",
                    "lines that are not Python need IPython, which is not installed",
                    place,
                    hint=hint,
                )
            )
            return source
        written = source.lstrip("\n")
        above = "\n" * (len(source) - len(written))  # which IPython would take off
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            transformed = above + TransformerManager().transform_cell(written)  # type: ignore[no-untyped-call]
        tree = ast.parse(transformed)
        return self._rewritten(transformed, tree, source)

    def _rewritten(self, text: str, tree: ast.Module, original: str) -> str:
        lines = [line.encode() for line in text.split("\n")]
        calls = [node for node in ast.walk(tree) if _is_ipython_call(node)]
        shown = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset), reverse=True):  # type: ignore[attr-defined]
            assert isinstance(call, ast.Call)
            assert call.end_lineno is not None
            assert call.end_col_offset is not None
            replacement = self._replacement(call, used=id(call) not in shown).encode()
            head, tail = (
                lines[call.lineno - 1][: call.col_offset],
                lines[call.end_lineno - 1][call.end_col_offset :],
            )
            # A line continued by a backslash became one: keep the count, so that places below stay right.
            lines[call.lineno - 1 : call.end_lineno] = [head + replacement + tail]
        result = "\n".join(line.decode() for line in lines)
        missing = original.count("\n") - result.rstrip("\n").count("\n")
        return result if missing <= 0 else self._realigned(result, original)

    def _realigned(self, result: str, original: str) -> str:
        """Put blank lines back where IPython joined continued lines, so that places stay the user's."""
        out: list[str] = []
        produced = result.split("\n")
        for line in original.split("\n"):
            continued = line.endswith("\\") and line.lstrip().startswith(("!", "%"))
            if produced:
                out.append(produced.pop(0))
            if continued:
                out.append("")
        return "\n".join(out + produced)

    def _replacement(self, call: ast.Call, *, used: bool) -> str:
        assert isinstance(call.func, ast.Attribute)
        arguments = [node.value if isinstance(node, ast.Constant) else "" for node in call.args]
        text = [str(argument) for argument in arguments]
        line = call.lineno
        match call.func.attr:
            case "run_line_magic":
                return self._line_magic(text[0], text[1] if len(text) > 1 else "", line, used)
            case "system":
                return "None" if self._install(text[0], line) else self._shell(SHELL, text[0])
            case "getoutput":
                return self._shell(SHELL_OUTPUT, text[0])
        self._refuse("FC015", f"the cell magic %%{text[0]} must be the first line of its cell", line, None)
        return "None"

    def _line_magic(self, name: str, arguments: str, line: int, used: bool) -> str:
        if name in ("pip", "conda", "mamba", "uv"):
            if not self._install(f"{name} {arguments}", line):
                self._refuse(
                    "FC015", f"'%{name} {arguments}' is not an installation", line, "remove the line"
                )
            return "None"
        if name in ("env", "set_env"):
            return self._environment(name, arguments, line)
        if name in COMMANDS:
            return self._shell(SHELL, f"{name} {arguments}".strip())
        if name == "pwd":
            return "__import__('os').getcwd()"
        if name in NO_OPS or (name == "time" and not arguments.strip()):
            return "None"
        if not used and self._is_for_looking(name, arguments, line):
            return "None"
        if name == "time":
            return self._timed(arguments.strip(), line)
        if name in ("timeit", "prun"):
            return self._measured_line(name, arguments, line, used)
        if name in ("pinfo", "pinfo2", "psearch"):
            self._refuse("FC016", "help on an object is for an interactive session", line, "remove the line")
        elif name in ("cd", "pushd", "popd"):
            hint = "write paths relative to the notebook's folder instead"
            self._refuse("FC015", f"%{name} would change the folder of later steps", line, hint)
        else:
            self._refuse("FC015", f"the magic %{name} can't be kept in a step", line, self._magic_hint(name))
        return "None"

    def _environment(self, name: str, arguments: str, line: int) -> str:
        setting, equals, value = arguments.strip().partition("=" if "=" in arguments else " ")
        if not (setting.strip().isidentifier() and (equals if "=" in arguments else value.strip())):
            hint = "write os.environ['NAME'] instead"
            self._refuse("FC015", f"'%{name} {arguments}' sets no variable", line, hint)
            return "None"
        return self._shell(ENVIRONMENT, f"{setting.strip()}={value.strip()}")

    def _is_for_looking(self, name: str, arguments: str, line: int) -> bool:
        """Say whether a magic changes nothing that a later cell can see; if so, take note that it is left out."""
        if name in SHOWING or (name == "debug" and not arguments.strip()):
            what = "only shows something to who sits before a kernel"
        elif name in LOOKS:
            what = "changes how later outputs look"
        else:
            return False
        place = self.cell.place(self.notebook.file, line)
        message = f"%{name} {what}: it is left out"
        self.problems.append(diagnose("FC015", message, place, severity="note"))
        return True

    def _timed(self, statement: str, line: int) -> str:
        try:
            body = ast.parse(statement).body
        except SyntaxError:
            self._refuse("FC015", f"%time with '{statement}', which is not Python", line, None)
            return "None"
        # A comment behind it would take the bracket along.
        expression = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
        quiet = ";" if expression and is_quiet(statement) else ""
        return f"({ast.get_source_segment(statement, expression)}){quiet}" if expression else statement

    def _measured_line(self, name: str, arguments: str, line: int, used: bool) -> str:
        try:
            if name == "timeit":
                return timeit_line(arguments)
            written = prun_line(arguments)
            if not used or _is_expression(written):
                return written
            raise NotMeasuredError("what '%prun' measures gives no value", "put it on a line of its own")
        except NotMeasuredError as error:
            self._refuse("FC015", str(error), line, error.hint)
        return "None"

    def _magic_hint(self, name: str) -> str:
        return HINTS.get(name, "write it in Python, or tag its cell 'skip'")

    def _install(self, command: str, line: int) -> bool:
        match = _INSTALL.fullmatch(command)
        if not match:
            return False
        try:
            words = shlex.split(match["what"], comments=True)
        except ValueError:
            return False
        found = [word for word in words if not word.startswith("-")]
        self.requirements += found
        place = self.cell.place(self.notebook.file, line)
        for requirement in found:
            if not re.search(r"[=@/]", requirement):
                message = (
                    f"'{requirement}' is not pinned to a version; it is not installed when the step runs"
                )
                hint = f"write {requirement}==VERSION, and install it in the environment"
                self.problems.append(diagnose("FC017", message, place, severity="warning", hint=hint))
        return True

    def _shell(self, runner: str, command: str) -> str:
        """Return a call that runs a command; what `$x` and `{x}` name is looked up when it runs."""
        names: dict[str, str] = {}
        for match in _SHELL_NAME.finditer(command):
            written = match["name"] or match["expression"]
            if written and _is_expression(written):
                names[match.group()] = f"lambda: {written}"
        lookups = "{" + ", ".join(f"{text!r}: {code}" for text, code in names.items()) + "}"
        return f"{runner}({command!r}, {lookups})" if names else f"{runner}({command!r})"

    def _refuse(self, code: str, message: str, line: int, hint: str | None) -> None:
        place = self.cell.place(self.notebook.file, line)
        self.problems.append(diagnose(code, message, place, hint=hint))


def _ended(body: str) -> str:
    """Return a cell's text with the end of its last line, as IPython has it."""
    return body if body.endswith("\n") or not body else body + "\n"


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def _is_ipython_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _MAGIC_METHODS
        and isinstance(node.func.value, ast.Call)
        and isinstance(node.func.value.func, ast.Name)
        and node.func.value.func.id == "get_ipython"
    )
