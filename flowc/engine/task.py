"""`python -m flowc.engine.task`: execute one task by itself, its inputs and outputs files, as a container does.

Other systems' pipelines call it (`flowc compile --to kfp`). The exit code is 0, 1 where the task failed, else that of
the error that kept it from starting.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from flowc.check import CheckedPipeline
from flowc.engine.parcel import pack, unpack
from flowc.engine.worker import execute
from flowc.errors import FlowcError, UsageError
from flowc.ir import FromTask, Pipeline
from flowc.ir.json import parse_pipeline
from flowc.plan import Plan, make_plan
from flowc.python.load import prepare_modules
from flowc.runner import CodeBase, Input, TaskCall
from flowc.store.artifacts import ArtifactStore
from flowc.types.paths import anchored
from flowc.types.validate import validated_text


def main(words: Sequence[str] | None = None) -> int:
    """Execute the task that the command line names; return the exit code."""
    arguments = _parser().parse_args(words)
    try:
        pipeline = parse_pipeline(json.loads(arguments.ir), Path("the argument of --ir"))
        return execute_alone(
            pipeline,
            arguments.root.resolve(),
            parameters=dict(arguments.parameter),
            inputs={name: Path(path) for name, path in arguments.input},
            outputs={name: Path(path) for name, path in arguments.output},
        )
    except FlowcError as error:
        _say("\n  ".join(filter(None, (str(error), error.hint))))
        return error.exit_code


def execute_alone(
    pipeline: Pipeline,
    root: Path,
    *,
    parameters: Mapping[str, str],
    inputs: Mapping[str, Path],
    outputs: Mapping[str, Path],
) -> int:
    """Execute a pipeline's only task; return its exit code.

    `root` is the folder that the project's files lie in. Parameters are texts as on the command line; relative paths
    in them start from the pipeline's file. Inputs and outputs are parcels, by port. Raises FlowcError for what is
    missing or wrong before the task starts.
    """
    plan = _plan(pipeline, root, parameters)
    (task,) = pipeline.tasks
    missing = {name for name, binding in task.inputs.items() if isinstance(binding, FromTask)} - inputs.keys()
    if missing:
        hint = "give --input PORT=PATH"
        raise UsageError(f"task '{task.name}' has no value for input '{min(missing)}'", hint=hint)
    with tempfile.TemporaryDirectory(prefix="flowc-task-", ignore_cleanup_errors=True) as folder:
        store = ArtifactStore(Path(folder) / "artifacts")
        given = {name: unpack(store, path) for name, path in inputs.items()}
        # Its default action ends the process, whatever code is running.
        signal.setitimer(signal.ITIMER_REAL, task.policy.timeout or 0)
        result = execute(_call(plan, given, Path(folder), store))
        signal.setitimer(signal.ITIMER_REAL, 0)
        if result.error:
            _say(result.error.traceback or f"{result.error.kind}: {result.error.message}")
            return 1
        for name, path in outputs.items():
            pack(store, result.outputs[name], path)
    return 0


def _call(plan: Plan, given: Mapping[str, Input], folder: Path, store: ArtifactStore) -> TaskCall:
    (planned,) = plan.tasks
    known = {name: each for name, each in planned.inputs.items() if not isinstance(each, FromTask)}
    return TaskCall(
        run="alone",
        task=planned.name,
        attempt=1,
        component=planned.component,
        code_base=plan.code_base,
        inputs={**given, **known},
        resources=planned.task.resources,
        store=store.root,
        log=folder / "log",
    )


def _plan(pipeline: Pipeline, root: Path, parameters: Mapping[str, str]) -> Plan:
    """Return the plan of one task by itself: it was checked with all others when its pipeline was compiled."""
    (task,) = pipeline.tasks
    alone = task.model_copy(
        update={
            "inputs": {n: each for n, each in task.inputs.items() if not isinstance(each, FromTask)},
            "after": (),
        }
    )
    prepare_modules(CodeBase(root, pipeline.modules))
    known = {parameter.name: parameter for parameter in pipeline.parameters}
    arguments = {}
    for name, text in parameters.items():
        if name not in known:
            raise UsageError(f"task '{task.name}' takes no parameter '{name}'")
        source = known[name].source
        folder = (root / source.file).parent if source else root
        arguments[name] = anchored(known[name].type, validated_text(known[name].type, text), folder)
    return make_plan(CheckedPipeline(pipeline, (alone,), ()), arguments, root)


def _say(text: str) -> None:
    sys.stderr.write(text.rstrip() + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m flowc.engine.task", description="Execute one task by itself.")
    parser.add_argument("--ir", required=True, help="The compiled pipeline with this task alone, as JSON.")
    parser.add_argument("--root", type=Path, default=Path(), help="The folder of the project's files.")
    for option, value in (("--parameter", "NAME=TEXT"), ("--input", "PORT=PATH"), ("--output", "PORT=PATH")):
        parser.add_argument(option, metavar=value, type=_pair, action="append", default=[])
    return parser


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} has no '='")
    return name, value


if __name__ == "__main__":
    sys.exit(main())
