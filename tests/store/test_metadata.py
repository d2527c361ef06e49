"""What is recorded of a run is read back: states, attempts, lineage, and what never ran."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from flowc.errors import NotFoundError, TaskError
from flowc.store.metadata import Store, open_store
from flowc.store.records import (
    Change,
    FromOutput,
    Made,
    NewRun,
    PlannedTask,
    RunEnded,
    TaskEnded,
    TaskSkipped,
    TaskStarted,
    Use,
)
from flowc.types.model import AnyType

NOON = 1_796_126_400.0  # 2026-12-01 12:00:00 UTC
TASKS = (
    PlannedTask("ingest", "read_csv"),
    PlannedTask("train", "train_model", ("ingest",)),
    PlannedTask("serve", "push", ("train",)),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / ".flowc", create=True) as opened:
        yield opened


def begin(
    store: Store, at: float = NOON, pipeline: str = "Taxi tips", tasks: tuple[PlannedTask, ...] = TASKS
) -> str:
    return store.begin_run(
        NewRun(pipeline, "taxi.py", "local", at, '{"ir_version": 1}', tasks, {"epochs": 3})
    )


def made(store: Store, value: object) -> Made:
    return Made(store.artifact_store.save(value, AnyType()), "Any")


def test_a_run_that_begins(store: Store) -> None:
    run_id = store.begin_run(
        NewRun(
            pipeline="Taxi tips",
            target="examples/taxi.py::taxi",
            runner="local",
            started=NOON,
            ir='{"ir_version": 1}',
            tasks=TASKS,
            parameters={"epochs": 3, "rate": math.inf},
            experiment="november",
            user="ann",
            commit="abc123",
        )
    )
    assert run_id.startswith("taxi-tips-20261201-120000-")
    assert len(run_id) == len("taxi-tips-20261201-120000-k3f9")
    run = store.run(run_id)
    assert (run.id, run.pipeline, run.experiment, run.target) == (
        run_id,
        "Taxi tips",
        "november",
        "examples/taxi.py::taxi",
    )
    assert (run.state, run.started, run.ended, run.user, run.commit) == (
        "RUNNING",
        NOON,
        None,
        "ann",
        "abc123",
    )
    assert run.parameters == {"epochs": 3, "rate": math.inf}
    assert run.alive is True
    assert run.counts == {"NEW": 3}
    assert store.ir(run_id) == '{"ir_version": 1}'
    assert [(task.name, task.component, task.upstream, task.state) for task in store.tasks(run_id)] == [
        ("ingest", "read_csv", (), "NEW"),
        ("train", "train_model", ("ingest",), "NEW"),
        ("serve", "push", ("train",), "NEW"),
    ]


def failed_run(store: Store) -> str:
    """Ingest ends well, training fails twice, serving is skipped."""
    run = begin(store)
    failure = TaskError("ValueError", "bad loss", "Traceback ...", hint="lower the rate")
    store.record([TaskStarted(run, "ingest", 1, NOON + 1, worker="w1", log=Path("logs/ingest.1.log"))])
    store.record(
        [
            TaskEnded(
                run, "ingest", 1, NOON + 2, "COMPLETE", {"rows": made(store, [1, 2]), "n": made(store, 2)}
            ),
            TaskStarted(run, "train", 1, NOON + 2, inputs={"data": FromOutput("ingest", "rows")}),
        ]
    )
    store.record([TaskEnded(run, "train", 1, NOON + 3, "FAILED", error=failure, worker="w2")])
    again = {"data": FromOutput("ingest", "rows")}
    store.record([TaskStarted(run, "train", 2, NOON + 4, inputs=again)])
    store.record(
        [
            TaskEnded(run, "train", 2, NOON + 5, "FAILED", error=failure),
            TaskSkipped(run, "serve", NOON + 5, "needs 'train', which failed"),
            RunEnded(run, NOON + 6, "FAILED", "1 of 3 tasks failed"),
        ]
    )
    return run


def test_states_and_attempts(store: Store) -> None:
    run = failed_run(store)
    record = store.run(run)
    assert (record.state, record.ended, record.error, record.alive) == (
        "FAILED",
        NOON + 6,
        "1 of 3 tasks failed",
        None,
    )
    assert record.counts == {"COMPLETE": 1, "FAILED": 1, "SKIPPED": 1}
    ingest, train, serve = store.tasks(run)
    assert [(each.state, each.reason) for each in (ingest, train, serve)] == [
        ("COMPLETE", None),
        ("FAILED", None),
        ("SKIPPED", "needs 'train', which failed"),
    ]
    assert (ingest.executions[0].worker, ingest.executions[0].log) == ("w1", Path("logs/ingest.1.log"))
    assert (ingest.executions[0].started, ingest.executions[0].ended) == (NOON + 1, NOON + 2)
    first, second = train.executions
    assert (first.attempt, first.state, first.worker) == (1, "FAILED", "w2")
    assert first.error == TaskError("ValueError", "bad loss", "Traceback ...", hint="lower the rate")
    assert (second.attempt, second.started, second.ended) == (2, NOON + 4, NOON + 5)
    assert serve.executions == ()


def test_the_log_of_states_is_in_order(store: Store) -> None:
    run = failed_run(store)
    assert [(each.at - NOON, each.task, each.attempt, each.state) for each in store.state_changes(run)] == [
        (0, None, None, "RUNNING"),
        (1, "ingest", 1, "RUNNING"),
        (2, "ingest", 1, "COMPLETE"),
        (2, "train", 1, "RUNNING"),
        (3, "train", 1, "FAILED"),
        (4, "train", 2, "RUNNING"),
        (5, "train", 2, "FAILED"),
        (5, "serve", None, "SKIPPED"),
        (6, None, None, "FAILED"),
    ]


def test_lineage(store: Store) -> None:
    run = failed_run(store)
    rows, number = store.artifacts(run)
    assert (rows.producer, rows.consumers) == (Use(run, "ingest", "rows"), (Use(run, "train", "data"),))
    assert (number.producer, number.consumers) == (Use(run, "ingest", "n"), ())
    assert rows.stored == store.artifact_store.save([1, 2], AnyType())
    assert rows.path is None
    assert rows.created == NOON + 2
    assert store.artifact(rows.id) == store.artifact(rows.stored.digest[:10]) == rows


def test_equal_outputs_of_two_tasks_are_two_artifacts(store: Store) -> None:
    run = begin(store)
    store.record(
        [
            TaskEnded(run, task, 1, NOON, "COMPLETE", {"output": made(store, 3)})
            for task in ("ingest", "train")
        ]
    )
    store.record([TaskStarted(run, "serve", 1, NOON, inputs={"model": FromOutput("train", "output")})])
    first, second = store.artifacts(run)
    assert first.stored.digest == second.stored.digest
    assert (first.consumers, second.consumers) == ((), (Use(run, "serve", "model"),))
    assert store.artifact(first.stored.digest).id == second.id


def test_an_artifact_of_another_run_as_input(store: Store) -> None:
    run, later = begin(store), begin(store, NOON + 60)
    store.record([TaskEnded(run, "ingest", 1, NOON, "COMPLETE", {"output": made(store, "x" * 5000)})])
    (artifact,) = store.artifacts(run)
    assert artifact.path == store.artifact_store.path(artifact.stored.digest)
    assert artifact.path.is_dir()
    store.record([TaskStarted(later, "train", 1, NOON, inputs={"data": artifact.id})])
    assert store.artifacts(run)[0].consumers == ()
    assert store.artifact(artifact.id).consumers == (Use(later, "train", "data"),)


def test_changes_of_a_run_that_another_process_began(store: Store, tmp_path: Path) -> None:
    run = begin(store)
    store.record([TaskStarted(run, "ingest", 1, NOON)])
    store.record([TaskEnded(run, "ingest", 1, NOON, "COMPLETE", {"rows": made(store, 1)})])
    with open_store(tmp_path / ".flowc", create=False) as other:
        other.record([TaskStarted(run, "train", 1, NOON, inputs={"data": FromOutput("ingest", "rows")})])
        other.record([TaskEnded(run, "train", 1, NOON + 1, "COMPLETE")])
    assert [task.state for task in store.tasks(run)] == ["COMPLETE", "COMPLETE", "NEW"]
    assert store.artifacts(run)[0].consumers == (Use(run, "train", "data"),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (TaskStarted("{run}", "trian", 1, NOON), "was not begun with a task 'trian'"),
        (TaskStarted("none", "train", 1, NOON), "no run 'none'"),
        (
            TaskStarted("{run}", "train", 1, NOON, inputs={"x": FromOutput("serve", "url")}),
            "has recorded no output 'url' of task 'serve'",
        ),
    ],
)
def test_a_change_that_makes_no_sense_records_nothing_of_its_call(
    store: Store, change: TaskStarted, message: str
) -> None:
    run = begin(store)
    wrong = TaskStarted(change.run.format(run=run), change.task, 1, NOON, inputs=change.inputs)
    with pytest.raises(NotFoundError, match=message):
        store.record([TaskStarted(run, "ingest", 1, NOON), wrong])
    assert [task.state for task in store.tasks(run)] == ["NEW", "NEW", "NEW"]
    store.record([TaskStarted(run, "ingest", 1, NOON)])
    assert [task.state for task in store.tasks(run)] == ["RUNNING", "NEW", "NEW"]


def test_runs_are_listed_newest_first_and_found_by_their_beginning(store: Store) -> None:
    first = begin(store, NOON)
    second = begin(store, NOON + 60, pipeline="penguins")
    third = begin(store, NOON + 120)
    assert [run.id for run in store.runs()] == [third, second, first]
    assert [run.id for run in store.runs(limit=2)] == [third, second]
    assert [run.id for run in store.runs(pipeline="penguins")] == [second]
    assert store.run("latest").id == third
    assert store.run("peng").id == second
    assert store.run(first).id == first
    with pytest.raises(NotFoundError, match="'taxi' is the beginning of several runs, such as taxi-tips-"):
        store.run("taxi")
    with pytest.raises(NotFoundError, match="no run 'pengiuns-20261201-120100'") as caught:
        store.run("pengiuns-20261201-120100")
    assert caught.value.hint == f"did you mean '{second}'?"
    with pytest.raises(NotFoundError, match="no run '%'"):
        store.run("%")


def test_nothing_to_find(store: Store) -> None:
    with pytest.raises(NotFoundError, match="there are no runs yet"):
        store.run("latest")
    for read in (store.tasks, store.artifacts, store.state_changes, store.ir):
        with pytest.raises(NotFoundError, match="no run 'none'"):
            read("none")
    with pytest.raises(NotFoundError, match="no artifact '7'"):
        store.artifact(7)
    with pytest.raises(NotFoundError, match="no artifact 'abc'"):
        store.artifact("abc")


def test_the_beginning_of_several_digests(store: Store) -> None:
    run = begin(store)
    outputs = {f"o{number}": made(store, number) for number in range(17)}  # more than a first digit can tell
    store.record([TaskEnded(run, "ingest", 1, NOON, "COMPLETE", outputs)])
    firsts = [each.stored.digest[0] for each in outputs.values()]
    shared = next(first for first in firsts if firsts.count(first) > 1)
    with pytest.raises(
        NotFoundError, match=f"'{shared}' is the beginning of several digests, such as {shared}"
    ):
        store.artifact(shared)


def test_reading_makes_as_many_queries_for_many_tasks_as_for_few(store: Store) -> None:
    def run_of(size: int) -> str:
        tasks = tuple(PlannedTask(f"t{number}", "noop") for number in range(size))
        run = begin(store, tasks=tasks)
        changes: list[Change] = []
        for number in range(size):
            inputs = {"x": FromOutput(f"t{number - 1}", "output")} if number else {}
            changes.append(TaskStarted(run, f"t{number}", 1, NOON, inputs=inputs))
            outputs = {"output": made(store, number)}
            changes.append(TaskEnded(run, f"t{number}", 1, NOON, "COMPLETE", outputs))
        store.record(changes)
        return run

    def queries_of(run: str) -> int:
        statements: list[str] = []

        def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
            statements.append(statement)

        event.listen(Engine, "before_cursor_execute", note)
        try:
            store.run(run), store.tasks(run), store.artifacts(run), store.state_changes(run), store.runs()
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        return len([statement for statement in statements if statement.startswith("SELECT")])

    few, many = run_of(2), run_of(200)
    assert queries_of(few) == queries_of(many) == 11
    assert len(store.artifacts(many)) == 200
    assert store.artifacts(many)[7].consumers == (Use(many, "t8", "x"),)
