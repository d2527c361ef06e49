"""Find the pipeline in a file or module and compile it."""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path
from types import ModuleType

from flowc.diagnostics import Diagnostic, Source
from flowc.errors import CompileError, FlowcError, NotFoundError, did_you_mean
from flowc.ir import Pipeline
from flowc.project import relative_to_root
from flowc.python.load import load_file
from flowc.python.pipeline import PipelineFunction


def compile_file(path: Path, name: str | None, root: Path) -> Pipeline:
    """Compile the pipeline of this name in a Python file, or the only one there is.

    Raises NotFoundError where the file or the name is not there, CompileError for everything wrong in it.
    """
    file = relative_to_root(path, root)
    try:
        module = load_file(path)
    except FlowcError:
        raise
    except SyntaxError as error:
        raise CompileError([_syntax(error, file)]) from error
    except Exception as error:
        raise CompileError([_import_failed(error, path, file)]) from error
    return find_pipeline(module, name, file).compile(root)


def compile_module(module_name: str, name: str | None, root: Path) -> Pipeline:
    """Compile the pipeline of this name in an importable module, or the only one there is."""
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        hint = "the current folder is looked in too; a file is given as path/to/file.py"
        raise NotFoundError(f"no module named '{error.name}'", hint=hint) from error
    return find_pipeline(module, name, module_name).compile(root)


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


def _syntax(error: SyntaxError, file: str) -> Diagnostic:
    source = Source(file=file, line=error.lineno, column=error.offset)
    return Diagnostic(code="FC020", message=f"not valid Python: {error.msg}", source=source)


def _import_failed(error: Exception, path: Path, file: str) -> Diagnostic:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    source = Source(file=file, line=own[-1].lineno if own else None)
    text = "".join(traceback.format_exception_only(error)).strip()
    hint = None
    if isinstance(error, ModuleNotFoundError):
        hint = f"install '{error.name}', or run flowc in the environment that has it"
    return Diagnostic(code="FC021", message=f"importing the file failed: {text}", source=source, hint=hint)
