"""What every runner does alike: the contract that `Runner` stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flowc.engine.events import Event, TaskStarted
from flowc.engine.outcome import RunResult
from flowc.engine.recorder import RunLabel
from flowc.engine.run import RunOptions, run_plan
from flowc.engine.scheduler import BackOff
from flowc.plan import Plan
from flowc.runner import Runner
from flowc.store.metadata import Store
from flowc.testing import RecordingRunner
from flowc.types.model import AnyType
from flowc_runners.inline import InlineRunner
from flowc_runners.local import LocalRunner

PlanMaker = Callable[..., Plan]
AT_ONCE = RunOptions(back_off=BackOff(first=0.0))


@pytest.fixture(scope="module", params=[InlineRunner, LocalRunner, RecordingRunner])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    runner = request.param()
    yield runner
    runner.close()


def run(plan: Plan, runner: Runner, store: Store, events: list[Event] | None = None) -> RunResult:
    listener = (lambda _: None) if events is None else events.append
    label = RunLabel("test", "test")
    return run_plan(plan, runner=runner, store=store, label=label, on_event=listener, options=AT_ONCE)


def value(result: RunResult, store: Store, task: str, output: str = "output") -> Any:
    return store.artifact_store.load(result.tasks[task].outputs[output], AnyType())


def log(events: list[Event], task: str, attempt: int = 1) -> str:
    started = [event for event in events if isinstance(event, TaskStarted)]
    path = next(event.log for event in started if (event.task, event.attempt) == (task, attempt))
    return path.read_text(encoding="utf-8")


def test_values_pass_from_task_to_task(runner: Runner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        from typing import NamedTuple

        class Halves(NamedTuple):
            low: int
            high: float

        @component
        def split(number: int) -> Halves:
            return Halves(number // 2, number - number // 2)

        @component
        def join(low: int, high: float, text: str = "=") -> str:
            return f"{low}{text}{high}"

        @pipeline
        def halves(number: int = 7):
            parts = split(number)
            join(parts.low, parts.high)
        """
    )
    result = run(plan, runner, store)
    assert result.state == "COMPLETE"
    assert value(result, store, "split", "low") == 3
    assert value(result, store, "join") == "3=4.0"


def test_a_failure_stops_what_needs_it_and_nothing_else(
    runner: Runner, store: Store, plan_of: PlanMaker
) -> None:
    plan = plan_of(
        """
        @component
        def broken() -> int:
            return 1 // 0

        @component
        def sound() -> int:
            return 1

        @component
        def after(number: int) -> int:
            return number

        @pipeline
        def both():
            after.options(name="below")(after.options(name="next")(broken()))
            after.options(name="other")(sound())
        """
    )
    result = run(plan, runner, store)
    assert result.state == "FAILED"
    states = {name: outcome.state for name, outcome in result.tasks.items()}
    assert states == {
        "broken": "FAILED",
        "next": "SKIPPED",
        "below": "SKIPPED",
        "sound": "COMPLETE",
        "other": "COMPLETE",
    }
    assert result.tasks["below"].reason == "needs 'broken', which failed"
    assert {task.name: task.state for task in store.tasks(result.run)} == states
    assert store.run(result.run).state == "FAILED"


def test_a_traceback_begins_with_the_users_own_frame(
    runner: Runner, store: Store, plan_of: PlanMaker
) -> None:
    plan = plan_of(
        """
        def helper(text):
            return int(text)

        @component
        def parse() -> int:
            return helper("sieben")

        @pipeline
        def p():
            parse()
        """
    )
    events: list[Event] = []
    error = run(plan, runner, store, events).tasks["parse"].error
    assert error is not None
    assert (error.kind, error.message) == ("ValueError", "invalid literal for int() with base 10: 'sieben'")
    lines = error.traceback.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith('.py", line 8, in parse')
    assert lines[2].strip() == 'return helper("sieben")'
    assert "flowc/engine" not in error.traceback
    assert error.traceback in log(events, "parse")


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("raise ComponentError('no data', hint='get some')", "ComponentError", "no data"),
        ("raise SystemExit(3)", "SystemExit", "the task called sys.exit(3)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "interrupted"),
        ("raise RuntimeError('\\udcff\\0')", "RuntimeError", "\\udcff\\x00"),
        (
            "return 'seven'",
            "WrongValueError",
            "output 'output': expected int, got str",
        ),
        (
            "return None",
            "WrongValueError",
            "output 'output': expected int, got None",
        ),
        ("import nowhere", "ModuleNotFoundError", "No module named 'nowhere'"),
    ],
)
def test_whatever_a_task_does_is_a_result(
    runner: Runner, store: Store, plan_of: PlanMaker, body: str, kind: str, message: str
) -> None:
    plan = plan_of(
        f"""
        @component
        def task() -> int:
            {body}

        @pipeline
        def p():
            task()
        """
    )
    error = run(plan, runner, store).tasks["task"].error
    assert error is not None
    assert (error.kind, error.message) == (kind, message)
    assert error.expected == (kind == "ComponentError")
    assert bool(error.traceback) == (kind not in ("ComponentError", "WrongValueError"))


def test_a_missing_output_is_named(runner: Runner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        from typing import NamedTuple

        class Two(NamedTuple):
            one: int
            other: int

        @component
        def task() -> Two:
            return 1, 2

        @pipeline
        def p():
            task()
        """
    )
    error = run(plan, runner, store).tasks["task"].error
    assert error is not None
    assert error.message == "output 'one' is missing from the tuple that was returned"


def test_an_output_that_cannot_be_stored_is_named(runner: Runner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        import threading

        @component
        def task():
            return threading.Lock()

        @pipeline
        def p():
            task()
        """
    )
    error = run(plan, runner, store).tasks["task"].error
    assert error is not None
    assert error.kind == "CodecError"
    assert error.message.startswith("output 'output': ")


def test_a_log_holds_what_its_attempt_printed(runner: Runner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        import sys
        from pathlib import Path

        @component(retries=2)
        def task(folder: Path) -> int:
            attempt = len(list(folder.glob("mark*"))) + 1
            (folder / f"mark{attempt}").touch()
            print(f"attempt {attempt}: Größe 寸法 🌊 \\udc80")
            print("to stderr", file=sys.stderr)
            if attempt < 3:
                raise OSError("busy")
            return attempt

        @pipeline
        def p(folder: Path):
            task(folder)
        """,
        folder=store.artifact_store.root.parent,
    )
    events: list[Event] = []
    result = run(plan, runner, store, events)
    assert result.tasks["task"].state == "COMPLETE"
    assert result.tasks["task"].attempts == 3
    assert log(events, "task", 1).startswith("attempt 1: Größe 寸法 🌊 \\udc80\nto stderr\nTraceback")
    assert log(events, "task", 3) == "attempt 3: Größe 寸法 🌊 \\udc80\nto stderr\n"
    executions = store.tasks(result.run)[0].executions
    assert [execution.state for execution in executions] == ["FAILED", "FAILED", "COMPLETE"]


def test_a_considered_failure_is_not_tried_again(runner: Runner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        @component(retries=3)
        def gate() -> int:
            raise ComponentError("the data is bad")

        @pipeline
        def p():
            gate()
        """
    )
    assert run(plan, runner, store).tasks["gate"].attempts == 1


def test_big_values_pass(runner: Runner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        @component
        def make(size: int) -> bytes:
            return b"x" * size

        @component
        def measure(data: bytes, text: str) -> int:
            return len(data) + len(text)

        @pipeline
        def p(text: str):
            measure(make(20_000_000), text)
        """,
        text="y" * 1_000_000,
    )
    result = run(plan, runner, store)
    assert value(result, store, "measure") == 21_000_000


def test_a_task_leaves_no_trace_in_its_process(runner: Runner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        import os

        @component
        def change() -> str:
            before = os.getcwd()
            os.environ["LEFT_BEHIND"] = "1"
            os.chdir("/")
            return before

        @component
        def look(folder: str) -> bool:
            return "LEFT_BEHIND" in os.environ or os.getcwd() != folder

        @pipeline
        def p():
            look(change())
        """
    )
    assert value(run(plan, runner, store), store, "look") is False


def test_functions_are_inputs(runner: Runner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        from collections.abc import Callable

        def double(number: int) -> int:
            return 2 * number

        @component
        def apply(function: Callable, number: int) -> int:
            return function(number)

        @pipeline
        def p():
            apply(double, 21)
        """
    )
    assert value(run(plan, runner, store), store, "apply") == 42


def test_arguments_of_the_projects_own_classes_pass(runner: Runner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        from enum import Enum

        class Size(Enum):
            SMALL = 1
            LARGE = 10

        @component
        def weigh(size: Size) -> int:
            return size.value if size is Size.LARGE else 0

        @pipeline
        def p(size: Size = Size.LARGE):
            weigh(size)
        """
    )
    assert value(run(plan, runner, store), store, "weigh") == 10
