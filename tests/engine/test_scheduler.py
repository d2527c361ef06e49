"""Laws of the scheduler: an order that fits the graph, each task once, nothing lost when something fails."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowc.engine.events import Event, RunEnded, RunStarted, TaskEnded, TaskSkipped, TaskStarted
from flowc.engine.frontier import Frontier
from flowc.engine.recorder import RunLabel
from flowc.engine.run import RunOptions, run_plan
from flowc.engine.scheduler import BackOff
from flowc.errors import CompileError, StoreError
from flowc.ir import Component, Pipeline, PythonCode, Resources, Task
from flowc.plan.model import Plan, PlannedTask
from flowc.plan.reuse import Wish
from flowc.runner import CodeBase, Runner
from flowc.store.metadata import Store
from flowc.testing import RecordingRunner, plan_file, temporary_store
from flowc_runners.local import LocalRunner

LABEL = RunLabel("test", "test")
ANEW = RunOptions(wish=Wish(again=True))
# A component that needs no module of ours: `dict()` returns {}.
EMPTY = Component(name="empty", code=PythonCode(module="builtins", qualname="dict"))


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with temporary_store() as store:
        yield store


def planned(name: str, after: tuple[str, ...] = (), priority: int = 1, **asked: Any) -> PlannedTask:
    task = Task(name=name, component="empty", after=after, resources=Resources(**asked))
    return PlannedTask(task, EMPTY, {}, after, priority)


def plan_of(*tasks: PlannedTask) -> Plan:
    pipeline = Pipeline(name="p", components={"empty": EMPTY}, tasks=tuple(each.task for each in tasks))
    return Plan(pipeline, tasks, {}, {}, CodeBase(Path("/"), {}))


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """For each task, those of the tasks before it that it waits for."""
    size = draw(st.integers(1, 12))
    return [
        tuple(sorted(draw(st.sets(st.integers(0, index - 1), max_size=3)))) if index else ()
        for index in range(size)
    ]


@given(graph=graphs(), priorities=st.lists(st.integers(1, 5), min_size=12, max_size=12))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_graph_runs_in_a_topological_order_each_task_once(
    graph: list[tuple[int, ...]], priorities: list[int], store: Store
) -> None:
    plan = plan_of(
        *(
            planned(f"t{index}", tuple(f"t{each}" for each in above), priorities[index])
            for index, above in enumerate(graph)
        )
    )
    runner = RecordingRunner()
    events: list[Event] = []
    result = run_plan(plan, runner=runner, store=store, label=LABEL, on_event=events.append, options=ANEW)
    order = [call.task for call in runner.calls]
    assert sorted(order) == sorted(task.name for task in plan.tasks)
    for each in plan.tasks:
        assert all(order.index(above) < order.index(each.name) for above in each.upstream)
    assert result.state == "COMPLETE"
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    ended = {event.task for event in events if isinstance(event, TaskEnded)}
    assert ended == set(result.tasks) == set(order)


def names(frontier: Frontier) -> list[str]:
    return [each.name for each in frontier.startable()]


def test_the_longest_path_starts_first_then_the_plans_order() -> None:
    tasks = [planned("a", priority=1), planned("b", priority=3), planned("c", priority=3)]
    assert names(Frontier(tasks, Resources(cpus=8, processes=8))) == ["b", "c", "a"]


def test_running_tasks_hold_no_more_than_there_is() -> None:
    tasks = [
        planned("big", priority=9, cpus=2),
        planned("bigger", priority=8, cpus=3),
        planned("small", cpus=0.1),
        planned("smaller", cpus=0.2),
        planned("heavy", cpus=0, memory=3),
        planned("light", cpus=0, memory=1),
    ]
    frontier = Frontier(tasks, Resources(cpus=2.3, memory=3, processes=6).model_copy(update={"cpus": 3.0}))
    assert names(frontier) == ["big", "small", "smaller", "heavy"]
    frontier.release("big")
    assert names(frontier) == []
    frontier.release("heavy")
    assert names(frontier) == ["light"]
    frontier.release("small")
    frontier.release("smaller")
    assert names(frontier) == ["bigger"]


def test_processes_bound_what_runs_at_one_time() -> None:
    frontier = Frontier([planned(name, cpus=0) for name in "abc"], Resources(cpus=1, processes=2))
    assert names(frontier) == ["a", "b"]


def test_a_task_that_can_never_fit_is_refused_before_anything_runs(store: Store) -> None:
    runner = RecordingRunner(Resources(cpus=2, memory=2**30))
    plan = plan_of(
        planned("fine"), planned("wide", cpus=4), planned("heavy", memory=2**32), planned("g", gpus=1)
    )
    runs = len(store.runs())
    with pytest.raises(CompileError) as refused:
        run_plan(plan, runner=runner, store=store, label=LABEL)
    assert [(d.code, d.message) for d in refused.value.diagnostics] == [
        ("FC401", "task 'wide' asks for 4 cpus, and there are 2"),
        ("FC401", "task 'heavy' asks for 4 GiB of memory, and there are 1 GiB"),
        ("FC401", "task 'g' asks for 1 gpus, and there are 0"),
    ]
    assert runner.calls == []
    assert len(store.runs()) == runs


def test_a_long_chain_is_walked_and_dropped_without_recursion() -> None:
    length = 20_000
    chain = [planned(f"t{i}", (f"t{i - 1}",) if i else (), length - i) for i in range(length)]
    frontier = Frontier(chain, Resources())
    walked = []
    for _ in range(length // 2):
        (each,) = frontier.startable()
        walked.append(each.name)
        frontier.release(each.name)
        frontier.completed(each.name)
    assert walked == [f"t{i}" for i in range(length // 2)]
    (failed,) = frontier.startable()
    assert frontier.drop_below(failed.name) == [f"t{i}" for i in range(length // 2 + 1, length)]


def test_pauses_double_up_to_a_limit() -> None:
    assert [BackOff(0.5, 3.0).after(attempt) for attempt in (1, 2, 3, 4, 5000)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_listener_finds_in_the_store_what_it_hears(store: Store) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, RunStarted | RunEnded):
            states = {record.id: record.state for record in store.runs()}
            assert states[event.run] == ("COMPLETE" if isinstance(event, RunEnded) else "RUNNING")
        else:
            (execution,) = next(task for task in store.tasks(event.run) if task.name == event.task).executions
            assert execution.state == ("RUNNING" if isinstance(event, TaskStarted) else "COMPLETE")

    plan = plan_of(planned("a"), planned("b", ("a",)))
    run_plan(plan, runner=RecordingRunner(), store=store, label=LABEL, on_event=listen)


class Unheard(Exception):
    pass


WAITS = """
from flowc import *
from pathlib import Path
import os, time

@component
def waits(mark: Path) -> int:
    mark.with_suffix(".part").write_text(str(os.getpid()))
    mark.with_suffix(".part").rename(mark)
    time.sleep(600)

@component
def after(number: int) -> int:
    return number

@component
def quick(mark: Path) -> int:
    while not mark.exists():
        time.sleep(0.001)
    return 1

@pipeline
def p(mark: Path):
    after(waits(mark))
    quick(mark)
"""


@pytest.fixture
def waits(tmp_path: Path) -> Plan:
    path = tmp_path / f"waits_{tmp_path.name}.py"
    path.write_text(WAITS)
    return plan_file(path, mark=tmp_path / "mark")


@pytest.fixture
def workers() -> Iterator[Runner]:
    runner = LocalRunner(workers=2)
    yield runner
    runner.close()


def test_a_listener_that_fails_ends_the_run_in_good_order(
    store: Store, waits: Plan, workers: Runner, tmp_path: Path
) -> None:
    events: list[Event] = []

    def listen(event: Event) -> None:
        events.append(event)
        if isinstance(event, TaskEnded):
            raise Unheard

    with pytest.raises(Unheard):
        run_plan(waits, runner=workers, store=store, label=LABEL, on_event=listen)
    run = events[0].run
    assert store.run(run).state == "FAILED"
    states = {task.name: task.state for task in store.tasks(run)}
    assert states == {"waits": "CANCELED", "quick": "COMPLETE", "after": "SKIPPED"}
    assert not psutil.pid_exists(int((tmp_path / "mark").read_text()))


def test_a_full_disk_ends_the_run_and_leaves_nothing_half_recorded(
    waits: Plan, workers: Runner, tmp_path: Path
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    events: list[Event] = []

    def fill_disk(event: Event) -> None:
        events.append(event)
        if isinstance(event, TaskStarted) and event.task == "quick":
            # From now on this process can't write to any file beyond its first page.
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))

    with temporary_store() as store:
        try:
            with pytest.raises(StoreError):
                run_plan(waits, runner=workers, store=store, label=LABEL, on_event=fill_disk)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        run = events[0].run
        assert not any(isinstance(event, TaskEnded | TaskSkipped | RunEnded) for event in events)
        assert {task.name: task.state for task in store.tasks(run)} == {
            "waits": "RUNNING",
            "quick": "RUNNING",
            "after": "NEW",
        }
        assert store.run(run).state == "RUNNING"
        assert store.artifacts(run) == []
    assert not psutil.pid_exists(int((tmp_path / "mark").read_text()))
