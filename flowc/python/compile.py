"""Find the pipeline in a file or module and compile it."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError, FlowcError, NotFoundError, did_you_mean
from flowc.ir import Pipeline
from flowc.project import relative_to_root
from flowc.python.load import load_file
from flowc.python.modules import is_own_file
from flowc.python.pipeline import PipelineFunction

Traced = tuple[Pipeline, tuple[Diagnostic, ...]]


def compile_file(path: Path, name: str | None, root: Path) -> Traced:
    """Compile the pipeline of this name in a Python file, or the only one there is.

    Returns it with what is wrong with the calls in it. Raises NotFoundError where the file or the name is not
    there, CompileError where the file can't be imported or tracing has to stop.
    """
    with _import_explained(root):
        module = load_file(path)
    return find_pipeline(module, name, relative_to_root(path, root)).traced(root)


def compile_module(module_name: str, name: str | None, root: Path) -> Traced:
    """Compile the pipeline of this name in an importable module, or the only one there is; see `compile_file`."""
    with _import_explained(root):
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if not f"{module_name}.".startswith(f"{error.name}."):
                raise
            hint = "the current folder is looked in too; a file is given as path/to/file.py"
            raise NotFoundError(f"no module named '{error.name}'", hint=hint) from error
    return find_pipeline(module, name, module_name).traced(root)


@contextmanager
def _import_explained(root: Path) -> Iterator[None]:
    """Make a diagnostic of whatever importing the user's code raises, `sys.exit()` included."""
    try:
        yield
    except FlowcError:
        raise
    except SyntaxError as error:
        raise CompileError([_syntax(error, root)]) from error
    except (Exception, SystemExit) as error:
        raise CompileError([_import_failed(error, root)]) from error


def find_pipeline(module: ModuleType, name: str | None, where: str) -> PipelineFunction[..., object]:
    """Return the module's pipeline of this name, or its only one; NotFoundError with what there is instead."""
    found = {key: value for key, value in vars(module).items() if isinstance(value, PipelineFunction)}
    own = {key: value for key, value in found.items() if value.__module__ == module.__name__} or found
    if name is not None:
        if name in found:
            return found[name]
        hint = did_you_mean(name, found) or ("it has: " + (", ".join(found) or "no pipeline at all"))
        raise NotFoundError(f"{where} has no pipeline '{name}'", hint=hint)
    if len(own) == 1:
        return next(iter(own.values()))
    if not own:
        hint = "decorate the function that calls the components with @pipeline"
        raise NotFoundError(f"{where} holds no pipeline", hint=hint)
    raise NotFoundError(
        f"{where} holds {len(own)} pipelines: {', '.join(own)}", hint=f"name one: {where}::{next(iter(own))}"
    )


def _syntax(error: SyntaxError, root: Path) -> Diagnostic:
    file = relative_to_root(Path(error.filename), root) if error.filename else "<unknown>"
    source = Source(file=file, line=error.lineno, column=error.offset)
    return Diagnostic(code="FC030", message=f"not valid Python: {error.msg}", source=source)


def _import_failed(error: BaseException, root: Path) -> Diagnostic:
    """Return the diagnostic of a failed import, at the project's own innermost line."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_own_file(Path(frame.filename), root)]
    source = Source(file=relative_to_root(Path(own[-1].filename), root), line=own[-1].lineno) if own else None
    text = "".join(traceback.format_exception_only(error)).strip()
    hint = "do the work inside a component, where it runs when the pipeline does, or mend what fails"
    if isinstance(error, ModuleNotFoundError):
        hint = f"install '{error.name}', or run flowc in the environment that has it"
    return Diagnostic(code="FC031", message=f"importing the file failed: {text}", source=source, hint=hint)
