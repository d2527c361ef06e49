"""What the command line and the UI call: each stage of a pipeline's way, and `run`, which goes all of it.

Notebooks, the engine and the store are imported by what needs them: `flowc check` of a Python file does without
nbformat, SQLAlchemy and Arrow.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowc.check import CheckedPipeline, check_pipeline
from flowc.check.compiled import in_file, unfound_code
from flowc.check.edges import edge_notes
from flowc.check.settle import CheckOptions, settle
from flowc.check.sources import Sources
from flowc.diagnostics import Diagnostic
from flowc.errors import CompileError, FlowcError, NotFoundError, RunnerError, UsageError, did_you_mean
from flowc.ir import Parameter, Pipeline
from flowc.ir.json import load_pipeline
from flowc.project import find_root, relative_to_root
from flowc.python.compile import compile_file, compile_module
from flowc.python.load import prepare_modules
from flowc.runner import CodeBase, Runner
from flowc.settings import Settings
from flowc.target import IrFile, NotebookFile, PythonFile, PythonModule, Target, load_target
from flowc.types.paths import anchored
from flowc.types.secret import holds_secret
from flowc.types.validate import validated_json, validated_text

if TYPE_CHECKING:
    from flowc.engine.events import Listener
    from flowc.engine.interrupts import Interrupts
    from flowc.engine.outcome import RunResult
    from flowc.plan import Plan
    from flowc.plan.reuse import Wish
    from flowc.plan.why import PlanStep, Reasons
    from flowc.store.metadata import Store
    from flowc.store.records import RunRecord

__all__ = [
    "Compiled",
    "check",
    "check_against_past",
    "compile",
    "explain",
    "load_target",
    "open_runner",
    "parse_arguments",
    "plan",
    "run",
    "why",
]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A pipeline as its front end made it, with the root that its paths start from. `diagnostics` is what the
    front end had to say; `check` raises where some of it are errors."""

    target: Target
    pipeline: Pipeline
    root: Path
    diagnostics: tuple[Diagnostic, ...] = ()


DEFAULTS = CheckOptions()


def compile(target: Target, options: CheckOptions = DEFAULTS) -> Compiled:  # noqa: A001  # the stage's name
    """Return the target's pipeline. Python files and modules are imported for it; notebooks are only read.

    Raises CompileError or NotFoundError where there is no pipeline to return.
    """
    try:
        return _compile(target)
    except CompileError as error:
        raise CompileError(settle(error.diagnostics, options, Sources(target.root))) from error


def _compile(target: Target) -> Compiled:
    match target:
        case PythonFile(path=path, name=name, root=root):
            from flowc.notebook.reader import is_percent_notebook

            if name is None and is_percent_notebook(path):
                return _compile(NotebookFile(path, root))
            pipeline, diagnostics = compile_file(path, name, root)
            return Compiled(target, pipeline, root, diagnostics)
        case PythonModule(module=module, name=name, root=root):
            # As `python -m` does. The console script's path begins with its own folder instead.
            sys.path.insert(0, str(Path.cwd()))
            pipeline, diagnostics = compile_module(module, name, root)
            return Compiled(target, pipeline, root, diagnostics)
        case NotebookFile(path=path, root=root):
            from flowc.notebook.lower import compile_notebook

            pipeline, warnings = compile_notebook(path, root)
            return Compiled(target, pipeline, root, tuple(warnings))
        case IrFile(path=path):
            pipeline = load_pipeline(path)
            return Compiled(target, pipeline, _root_of_code(pipeline, path))


def check(compiled: Compiled, options: CheckOptions = DEFAULTS) -> CheckedPipeline:
    """Hold the pipeline to every rule. Raises CompileError with all that is wrong."""
    sources = Sources(compiled.root)
    try:
        checked = _checked(compiled, options)
    except CompileError as error:
        raise CompileError(settle(error.diagnostics, options, sources)) from error
    # Of what is ignored in the code that IR came from, only the front end could tell whether it is there.
    whole = None if isinstance(compiled.target, IrFile) else compiled.pipeline
    said = settle(checked.diagnostics, options, sources, whole)
    if any(diagnostic.severity == "error" for diagnostic in said):
        raise CompileError(said)
    return replace(checked, diagnostics=said)


def _checked(compiled: Compiled, options: CheckOptions) -> CheckedPipeline:
    pipeline, found = compiled.pipeline, compiled.diagnostics
    if not isinstance(compiled.target, IrFile):
        return check_pipeline(pipeline, found, strict=options.strict)
    here = in_file(pipeline, relative_to_root(compiled.target.path, compiled.root))
    try:
        checked = check_pipeline(here.pipeline, found, strict=options.strict)
    except CompileError as error:
        raise CompileError(map(here.with_origin, error.diagnostics)) from error
    tasks = tuple(pipeline.task(task.name) for task in checked.ordered)
    return CheckedPipeline(pipeline, tasks, tuple(map(here.with_origin, checked.diagnostics)))


def check_against_past(checked: CheckedPipeline, root: Path, store: Path) -> list[Diagnostic]:
    """Return what is wrong with a notebook in the light of what its steps made in earlier runs, if there are any."""
    if not (checked.pipeline.cells and store.exists()):
        return []
    from flowc.plan.evidence import check_against_past
    from flowc.store.metadata import has_store, open_store

    if not has_store(store):
        return []
    with open_store(store, create=False) as opened:
        return check_against_past(checked.pipeline, checked.ordered, root, opened)


def explain(compiled: Compiled) -> tuple[Diagnostic, ...]:
    """Return a note for each edge of a pipeline without errors: why it is there, and the lines that make it so."""
    if isinstance(compiled.target, NotebookFile):
        from flowc.notebook import explain as notebook

        return tuple(notebook.edge_notes(compiled.target.path, compiled.root))
    return tuple(edge_notes(compiled.pipeline))


def run(
    target: Target | Compiled,
    arguments: Mapping[str, Any],
    settings: Settings,
    listener: Listener,
    interrupts: Interrupts,
    wish: Wish | None = None,
) -> RunResult:
    """Compile, check and plan the pipeline, run the plan, and return what came of it.

    `arguments` are Python values by parameter; `wish` says what of earlier runs is used again. Events
    reach the listener as they happen, in this thread; requests to stop the run come through `interrupts`.
    """
    from flowc.engine.recorder import RunLabel
    from flowc.engine.run import RunOptions, run_plan
    from flowc.plan.reuse import Wish
    from flowc.store.metadata import open_store

    compiled = target if isinstance(target, Compiled) else compile(target, settings.check)
    wish = wish or Wish()
    label = RunLabel(str(compiled.target), settings.runner)
    with open_store(settings.store, create=True) as store:
        planned, wish = _planned(compiled, settings.check, arguments, store, wish)
        options = RunOptions(wish=wish, interrupts=interrupts)
        with closing(open_runner(settings.runner, settings.workers)) as runner:
            return run_plan(
                planned, runner=runner, store=store, label=label, on_event=listener, options=options
            )


def plan(compiled: Compiled, arguments: Mapping[str, Any], settings: Settings, wish: Wish) -> list[PlanStep]:
    """Return for each task what would become of it in a run, as far as that is known before."""
    from flowc.plan.reuse import Reuser
    from flowc.plan.why import plan_steps
    from flowc.store.metadata import open_store

    with open_store(settings.store, create=True) as store:
        planned, wish = _planned(compiled, settings.check, arguments, store, wish)
        return plan_steps(Reuser(planned, store, wish), store)


def why(run: str, task: str, settings: Settings) -> Reasons:
    """Return why a task ran in a run. Raises NotFoundError where there is no such run or task."""
    from flowc.plan.why import reasons_of
    from flowc.store.metadata import open_store

    with open_store(settings.store, create=False) as store:
        return reasons_of(store, run, task)


def _planned(
    compiled: Compiled, options: CheckOptions, arguments: Mapping[str, Any], store: Store, wish: Wish
) -> tuple[Plan, Wish]:
    """Return the plan. A run that another one resumes has the other's arguments where none are given."""
    from flowc.plan import make_plan

    checked = check(compiled, options)
    _import_code(compiled)
    if wish.resume is not None:
        earlier = store.run(wish.resume)
        if earlier.pipeline != compiled.pipeline.name:
            raise UsageError(
                f"run {earlier.id} is of pipeline '{earlier.pipeline}', not of '{compiled.pipeline.name}'",
                hint=f"'flowc runs --pipeline {compiled.pipeline.name}' lists those that can be resumed",
            )
        wish = replace(wish, resume=earlier.id)
        arguments = {**_arguments_of(compiled, earlier), **arguments}
    return make_plan(checked, arguments, compiled.root), wish


def _arguments_of(compiled: Compiled, run: RunRecord) -> dict[str, Any]:
    """Return a run's arguments; of the parameters that the pipeline still has, and without secrets."""
    return {
        parameter.name: validated_json(parameter.type, run.parameters[parameter.name])
        for parameter in compiled.pipeline.parameters
        if parameter.name in run.parameters and not holds_secret(parameter.type)
    }


def parse_arguments(compiled: Compiled, texts: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """Return the arguments that a command line or a form gives as texts. Paths in them start from `folder`.

    Raises UsageError with everything that is wrong: unknown parameters, values that don't fit. No secret is in
    it. Parameters that are missing are the plan's business.
    """
    _import_code(compiled)
    known = {parameter.name: parameter for parameter in compiled.pipeline.parameters}
    arguments, problems = {}, []
    for name, text in texts.items():
        if name not in known:
            problems.append(f"no parameter '{name}'; " + (did_you_mean(name, known) or _names(known)))
            continue
        try:
            arguments[name] = _argument(known[name], text, folder)
        except UsageError as error:
            problems.append(f"parameter '{name}': {error.message}")
    if problems:
        title = f"pipeline '{compiled.pipeline.name}' can't run like this:"
        raise UsageError("\n  ".join((title, *problems)))
    return arguments


def _names(known: Mapping[str, Parameter]) -> str:
    return f"its parameters are: {', '.join(known)}" if known else "it has none"


def _argument(parameter: Parameter, text: str, folder: Path) -> Any:
    try:
        return anchored(parameter.type, validated_text(parameter.type, text), folder)
    except UsageError:
        if holds_secret(parameter.type):
            # The reasons would quote the value.
            raise UsageError(f"expected {parameter.type}, and the value given is none") from None
        raise


def _import_code(compiled: Compiled) -> None:
    """Import the pipeline's modules, since classes of its parameters may be theirs; Python targets have it done.

    Raises NotFoundError where compiled IR is not in the project that it was made in, CompileError where an import
    fails or a compiled pipeline names code that is not there.
    """
    pipeline, root = compiled.pipeline, compiled.root
    # A notebook's cells are in the IR, but they run in its folder.
    needed = [*map(Path, pipeline.modules.values()), *(path.parent for path in _notebook(pipeline))]
    missing = [str(path) for path in needed if not (root / path).exists()]
    if missing:
        hint = "run it in the project that it was compiled in"
        raise NotFoundError(f"{compiled.target} needs {', '.join(missing)} in {root}", hint=hint)
    try:
        prepare_modules(CodeBase(root, pipeline.modules))
    except FlowcError:
        raise
    except Exception as error:
        message = f"importing the pipeline's modules failed: {type(error).__name__}: {error}"
        raise CompileError([Diagnostic(code="FC031", message=message, source=pipeline.source)]) from error
    if isinstance(compiled.target, IrFile):
        here = in_file(pipeline, relative_to_root(compiled.target.path, root))
        if problems := [here.with_origin(each) for each in unfound_code(here.pipeline)]:
            raise CompileError(settle(problems, DEFAULTS, Sources(root)))


def _root_of_code(pipeline: Pipeline, ir: Path) -> Path:
    """Return the root that compiled IR starts its paths from: its own, or the current one if more of it is there."""
    files = [*map(Path, pipeline.modules.values()), *_notebook(pipeline)]
    candidates = (find_root(ir), find_root(Path()))
    return max(candidates, key=lambda root: sum((root / file).exists() for file in files))


def _notebook(pipeline: Pipeline) -> list[Path]:
    return [Path(pipeline.source.file)] if pipeline.cells and pipeline.source else []


def open_runner(name: str, workers: int | None) -> Runner:
    """Return a runner by its name; `workers` reaches those that have them.

    Raises RunnerError where there is none of this name, or it can't be loaded.
    """
    found = {entry.name: entry for entry in entry_points(group="flowc.runners")}
    if name not in found:
        names = ", ".join(sorted(found)) or "none; is flowc installed?"
        raise RunnerError(f"no runner '{name}'", hint=did_you_mean(name, found) or f"there are: {names}")
    try:
        kind = found[name].load()
    except ImportError as error:
        raise RunnerError(f"the runner '{name}' can't be loaded: {error}") from error
    options = {"workers": workers} if workers and "workers" in inspect.signature(kind).parameters else {}
    runner: Runner = kind(**options)
    return runner
