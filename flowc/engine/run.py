"""Run a plan: through a runner, with everything recorded."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from flowc.engine.events import Listener, RunStarted
from flowc.engine.frontier import Frontier, too_big
from flowc.engine.interrupts import Interrupts
from flowc.engine.outcome import RunResult, TaskOutcome
from flowc.engine.recorder import Recorder, RunLabel
from flowc.engine.reuse import Bases
from flowc.engine.scheduler import BackOff, Clock, Scheduler, Surroundings
from flowc.errors import CompileError, UsageError
from flowc.ir import FromTask
from flowc.plan.model import Plan, PlannedTask
from flowc.plan.reuse import Blocked, Decision, LeftOut, Reuse, Reuser, Wish
from flowc.runner import Guard, Input, Runner, TaskCall
from flowc.store.metadata import Store
from flowc.store.places import executed_notebook, logs_folder

_CLOCK = Clock(now=time.time, monotonic=time.monotonic)


_EVERYTHING = Wish()


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is to go on: what is to be reused, where its requests to stop come from, its clock, the pauses before
    retries."""

    wish: Wish = _EVERYTHING
    interrupts: Interrupts | None = None
    clock: Clock = _CLOCK
    back_off: BackOff = field(default_factory=BackOff)


def run_plan(
    plan: Plan,
    *,
    runner: Runner,
    store: Store,
    label: RunLabel,
    on_event: Listener = lambda _: None,
    options: RunOptions = RunOptions(),
) -> RunResult:
    """Run all tasks of the plan and return what came of each. A failed task is in the result, not raised.

    Tasks take over what earlier runs made of the same code and inputs. A task that fails stops what needs it and
    nothing else. `on_event` is called from this thread with each event
    once the store has it. Ctrl-C lets running tasks end; a second one kills them.

    Raises CompileError (FC401) before anything runs where a task asks for more than the runner has; UsageError where
    what `wish` asks for can't be; StoreError and RunnerError where these fail on the way: what runs is killed then.
    """
    if diagnostics := too_big(plan, runner.capacity):
        raise CompileError(diagnostics)
    reuser = Reuser(plan, store, options.wish, options.clock.now)
    decisions = decided(reuser)
    bases = Bases(reuser)
    recorder = Recorder(store, plan)
    started = options.clock.now()
    run = recorder.begin_run(label, started)
    home = store.artifact_store.root.parent
    logs = logs_folder(home, run)
    guards: Mapping[str, tuple[Guard, ...]] = {}
    if plan.code_base.notebook is not None:
        from flowc.engine.notebook import NotebookKeeper
        from flowc.notebook.guard import guards_of

        on_event = NotebookKeeper(plan, run, executed_notebook(home, run), on_event)
        guards = guards_of(plan.pipeline)

    def call(planned: PlannedTask, attempt: int, outcomes: Mapping[str, TaskOutcome]) -> TaskCall:
        return TaskCall(
            run=run,
            task=planned.name,
            attempt=attempt,
            component=planned.component,
            code_base=plan.code_base,
            inputs={name: _input(given, outcomes) for name, given in planned.inputs.items()},
            resources=planned.task.resources,
            store=store.artifact_store.root,
            log=logs / f"{_file_name(planned.name)}.{attempt}.log",
            guards=guards.get(planned.name, ()),
            given=tuple(str(path.absolute()) for path in planned.paths()),
            watched=reuser.fingerprints.watched(planned),
        )

    done = {name for name, decision in decisions.items() if isinstance(decision, Reuse | LeftOut)}
    scheduler = Scheduler(
        Frontier(plan.tasks, runner.capacity, done),
        Surroundings(
            run=run,
            runner=runner,
            commit=recorder.commit,
            call=call,
            listener=on_event,
            interrupts=options.interrupts or Interrupts(),
            clock=options.clock,
            back_off=options.back_off,
            bases=bases,
        ),
    )
    names = tuple(planned.name for planned in plan.tasks)
    state, outcomes = scheduler.run(RunStarted(run, plan.pipeline.name, names, started), decisions)
    return RunResult(run, state, outcomes)


def decided(reuser: Reuser) -> dict[str, Decision]:
    """Return what is known of each task before anything runs. Raises UsageError for one that can't run."""
    decisions = reuser.decide()
    for name, decision in decisions.items():
        if isinstance(decision, Blocked):
            raise UsageError(
                f"task '{reuser.wish.only}' can't run by itself: there is no result of '{name}' to give it: "
                f"{decision.reason}",
                hint=f"run it with --until {reuser.wish.only}, which makes what it needs",
            )
    return decisions


def _input(given: Input | FromTask, outcomes: Mapping[str, TaskOutcome]) -> Input:
    return outcomes[given.task].outputs[given.output] if isinstance(given, FromTask) else given


def _file_name(task: str) -> str:
    """Return a task's name as a file may have it: "outer/inner" is one file."""
    return re.sub(r'[%/\\:*?"<>|\x00-\x1f]', lambda found: f"%{ord(found[0]):02X}", task)
