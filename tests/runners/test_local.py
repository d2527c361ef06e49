"""What worker processes are for: running side by side, being killed, and never being left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from flowc.engine.events import Event, TaskEnded, TaskStarted
from flowc.engine.interrupts import Interrupts
from flowc.engine.outcome import RunResult
from flowc.engine.recorder import RunLabel
from flowc.engine.run import RunOptions, run_plan
from flowc.engine.scheduler import BackOff
from flowc.errors import RunnerError
from flowc.plan import Plan
from flowc.plan.reuse import Wish
from flowc.store.metadata import Store
from flowc.types.model import AnyType
from flowc_runners.local import LocalRunner

PlanMaker = Callable[..., Plan]
LABEL = RunLabel("test", "local")
AT_ONCE = RunOptions(back_off=BackOff(first=0.0))


@pytest.fixture(scope="module")
def runner() -> Iterator[LocalRunner]:
    runner = LocalRunner(workers=2)
    yield runner
    runner.close()


def run(plan: Plan, runner: LocalRunner, store: Store, **options: Any) -> RunResult:
    return run_plan(plan, runner=runner, store=store, label=LABEL, **{"options": AT_ONCE, **options})


def value(result: RunResult, store: Store, task: str) -> Any:
    return store.artifact_store.load(result.tasks[task].outputs["output"], AnyType())


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that is sure to come; give up after a minute, so that a fault ends the test."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come")


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


MEETING = """
    import time
    from pathlib import Path

    @component
    def meet(folder: Path, me: str, other: str) -> bool:
        (folder / me).touch()
        while not (folder / other).exists():
            time.sleep(0.001)
        return True

    @pipeline
    def p(folder: Path):
        meet.options(name="one")(folder, "a", "b")
        meet.options(name="two")(folder, "b", "a")
"""


def test_tasks_run_side_by_side(
    runner: LocalRunner, store: Store, plan_of: PlanMaker, tmp_path: Path
) -> None:
    result = run(plan_of(MEETING, folder=tmp_path), runner, store)
    assert [outcome.state for outcome in result.tasks.values()] == ["COMPLETE", "COMPLETE"]


def test_a_chain_stays_in_one_process(runner: LocalRunner, store: Store, plan_of: PlanMaker) -> None:
    plan = plan_of(
        """
        import os

        @component
        def pid(before: int) -> int:
            return os.getpid() if before in (0, os.getpid()) else -1

        @pipeline
        def p():
            pid.options(name="last")(pid(pid(pid(0))))
        """
    )
    result = run(plan, runner, store)
    assert value(result, store, "last") == value(result, store, "pid") > 0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL"),
        ("os.abort()", "was killed by SIGABRT"),
        ("os._exit(3)", "ended with exit code 3"),
        ("os.closerange(3, 1000); time.sleep(60)", "was killed by SIGKILL"),
    ],
)
def test_a_worker_that_dies_fails_its_task_alone(
    runner: LocalRunner, store: Store, plan_of: PlanMaker, body: str, reason: str
) -> None:
    plan = plan_of(
        f"""
        import os, signal, time

        @component
        def dies() -> int:
            {body}

        @component
        def lives() -> int:
            return 1

        @pipeline
        def p():
            dies()
            lives()
        """
    )
    result = run(plan, runner, store)
    assert result.tasks["lives"].state == "COMPLETE"
    error = result.tasks["dies"].error
    assert error is not None
    assert error.kind == "WorkerLostError"
    assert error.message == f"the worker process {reason} before the task was done"


def test_a_lost_worker_is_an_attempt_that_may_be_repeated(
    runner: LocalRunner, store: Store, plan_of: PlanMaker, tmp_path: Path
) -> None:
    plan = plan_of(
        """
        import os
        from pathlib import Path

        @component(retries=1)
        def dies_once(mark: Path) -> int:
            if not mark.exists():
                mark.touch()
                os._exit(1)
            return 7

        @pipeline
        def p(mark: Path):
            dies_once(mark)
        """,
        mark=tmp_path / "mark",
    )
    result = run(plan, runner, store)
    assert value(result, store, "dies_once") == 7
    states = [execution.state for execution in store.tasks(result.run)[0].executions]
    assert states == ["FAILED", "COMPLETE"]


FAMILY = """
    import os, subprocess, sys, time
    from pathlib import Path

    @component(timeout=TIMEOUT)
    def family(folder: Path) -> int:
        child = subprocess.Popen(["sleep", "600"])
        daemon = subprocess.Popen(["sleep", "600"], start_new_session=True)
        adopted = subprocess.run(
            ["sh", "-c", "setsid sleep 600 > /dev/null 2>&1 & echo $!"], capture_output=True, text=True
        ).stdout
        text = f"{os.getpid()} {child.pid} {daemon.pid} {adopted}"
        (folder / "pids.part").write_text(text)
        (folder / "pids.part").rename(folder / "pids")
        time.sleep(600)

    @pipeline
    def p(folder: Path):
        family(folder)
"""


SLOW = """
    import os, time
    from pathlib import Path

    @component
    def slow(folder: Path) -> int:
        (folder / "pids.part").write_text(str(os.getpid()))
        (folder / "pids.part").rename(folder / "pids")
        time.sleep(600)

    @component
    def after(number: int) -> int:
        return number

    @pipeline
    def p(folder: Path):
        after(slow(folder))
"""


def pids(folder: Path) -> list[int]:
    wait_until((folder / "pids").exists)
    return [int(pid) for pid in (folder / "pids").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are followed on Linux only")
def test_a_timeout_kills_all_that_the_task_started(
    runner: LocalRunner, store: Store, plan_of: PlanMaker, tmp_path: Path
) -> None:
    result = run(plan_of(FAMILY.replace("TIMEOUT", "1.5"), folder=tmp_path), runner, store)
    error = result.tasks["family"].error
    assert error is not None
    assert error.message == "took longer than its timeout of 1.5 s, and was killed"
    assert len(pids(tmp_path)) == 4
    assert [pid for pid in pids(tmp_path) if alive(pid)] == []


def test_a_request_to_stop_lets_running_tasks_end(
    runner: LocalRunner, store: Store, plan_of: PlanMaker, tmp_path: Path
) -> None:
    plan = plan_of(
        """
        import time
        from pathlib import Path

        @component
        def wait(gate: Path) -> int:
            while not gate.exists():
                time.sleep(0.001)
            return 1

        @component
        def after(number: int) -> int:
            return number

        @pipeline
        def p(gate: Path):
            after(wait(gate))
        """,
        gate=tmp_path / "gate",
    )
    interrupts = Interrupts()

    def stop(event: Event) -> None:
        if isinstance(event, TaskStarted):
            interrupts.request()
            (tmp_path / "gate").touch()

    result = run(plan, runner, store, on_event=stop, options=RunOptions(interrupts=interrupts))
    assert result.state == "CANCELED"
    assert result.tasks["wait"].state == "COMPLETE"
    assert result.tasks["after"].state == "SKIPPED"
    assert store.run(result.run).state == "CANCELED"


def test_a_second_request_kills_them(
    runner: LocalRunner, store: Store, plan_of: PlanMaker, tmp_path: Path
) -> None:
    interrupts = Interrupts()

    def stop() -> None:
        pids(tmp_path)
        interrupts.request()
        interrupts.request()

    threading.Thread(target=stop).start()
    plan = plan_of(FAMILY.replace("TIMEOUT", "600"), folder=tmp_path)
    result = run(plan, runner, store, options=RunOptions(interrupts=interrupts))
    assert result.state == "CANCELED"
    assert result.tasks["family"].state == "CANCELED"
    assert store.tasks(result.run)[0].executions[0].state == "CANCELED"
    assert [pid for pid in pids(tmp_path) if alive(pid)] == []


def test_output_of_compiled_code_and_of_children_is_in_the_log(
    runner: LocalRunner, store: Store, plan_of: PlanMaker
) -> None:
    plan = plan_of(
        """
        import ctypes, os, subprocess

        @component
        def speak() -> int:
            ctypes.CDLL(None).puts(b"from C")
            subprocess.run(["echo", "from a child"])
            os.write(2, b"raw \\xff\\n")
            return 1

        @pipeline
        def p():
            speak()
        """
    )
    events: list[Event] = []
    run(plan, runner, store, on_event=events.append)
    log = next(event.log for event in events if isinstance(event, TaskStarted)).read_bytes()
    assert sorted(log.splitlines()) == [b"from C", b"from a child", b"raw \xff"]


def test_a_child_that_comes_out_of_the_task_as_well_is_dropped(
    runner: LocalRunner, store: Store, plan_of: PlanMaker
) -> None:
    plan = plan_of(
        """
        import os

        @component
        def fork() -> int:
            return 1 if os.fork() == 0 else 2

        @component
        def after(number: int) -> int:
            return number

        @pipeline
        def p():
            after(fork())
        """
    )
    events: list[Event] = []
    result = run(plan, runner, store, on_event=events.append)
    assert value(result, store, "after") == 2
    assert [event.task for event in events if isinstance(event, TaskEnded)] == ["fork", "after"]


def test_libraries_get_the_threads_and_gpus_that_the_task_asked_for(
    store: Store, plan_of: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    plan = plan_of(
        """
        import os

        def share():
            return f"{os.environ['OMP_NUM_THREADS']} {os.environ['CUDA_VISIBLE_DEVICES']}"

        @component
        def plain() -> str:
            return share()

        @component(gpus=1)
        def one() -> str:
            return share()

        @component(gpus=2, cpus=2)
        def two() -> str:
            return share()

        @pipeline
        def p():
            first = one()
            second = two(after=first)
            third = one.options(name="again")(after=second)
            plain(after=third)
        """
    )
    runner = LocalRunner(workers=2)
    try:
        result = run(plan, runner, store)
    finally:
        runner.close()
    shares = {name: value(result, store, name) for name in result.tasks}
    assert shares == {"one": "1 4", "two": "2 4,5", "again": "1 4", "plain": "1 "}


def test_close_leaves_no_process(store: Store, plan_of: PlanMaker, tmp_path: Path) -> None:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    runner = LocalRunner(workers=2)
    run(plan_of(MEETING, folder=tmp_path), runner, store)
    started = {process.pid for process in psutil.Process().children(recursive=True)} - before
    assert len(started) == 3  # two workers, and the server that forked them
    runner.close()
    assert [pid for pid in started if psutil.pid_exists(pid)] == []
    anew = RunOptions(wish=Wish(again=True))
    with pytest.raises(RunnerError, match="closed"):
        run(plan_of(MEETING, folder=tmp_path), runner, store, options=anew)


def test_a_killed_fork_server_is_an_error_and_leaves_no_process(
    store: Store, plan_of: PlanMaker, tmp_path: Path
) -> None:
    before = {process.pid for process in psutil.Process().children()}
    runner = LocalRunner(workers=2)

    def kill_server() -> None:
        pids(tmp_path)
        (server,) = {process.pid for process in psutil.Process().children()} - before
        os.kill(server, signal.SIGKILL)

    threading.Thread(target=kill_server).start()
    result = run(plan_of(FAMILY.replace("TIMEOUT", "600"), folder=tmp_path), runner, store)
    error = result.tasks["family"].error
    assert error is not None
    assert error.message == "the process that starts workers was killed, and its workers with it"
    wait_until(lambda: not alive(pids(tmp_path)[0]))
    runner.close()
    for pid in pids(tmp_path)[1:]:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


SCRIPT = """
from pathlib import Path

from flowc.engine.recorder import RunLabel
from flowc.engine.run import run_plan
from flowc.store.metadata import open_store
from flowc.testing import plan_file
from flowc_runners.inline import InlineRunner
from flowc_runners.local import LocalRunner

folder = Path({folder!r})
runner = {runner}()
with open_store(folder / ".flowc", create=True) as store:
    plan = plan_file(folder / "job.py", folder=folder)
    result = run_plan(plan, runner=runner, store=store, label=RunLabel("job.py", "local"))
    print(result.state)
runner.close()
"""


def script(folder: Path, job: str, runner: str = "LocalRunner") -> list[str]:
    (folder / "job.py").write_text("from flowc import *\n" + textwrap.dedent(job))
    # Without `if __name__ == "__main__"`: that must not be needed.
    (folder / "script.py").write_text(SCRIPT.format(folder=str(folder), runner=runner))
    return [sys.executable, str(folder / "script.py")]


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    done = subprocess.run(script(tmp_path, MEETING), capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("COMPLETE\n", "", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are followed on Linux only")
def test_no_orphan_outlives_a_killed_driver(tmp_path: Path) -> None:
    driver = subprocess.Popen(script(tmp_path, FAMILY.replace("TIMEOUT", "600")))
    started = pids(tmp_path)
    started += [child.pid for child in psutil.Process(driver.pid).children(recursive=True)]
    driver.kill()
    driver.wait()
    wait_until(lambda: not any(alive(pid) for pid in started))


@pytest.mark.parametrize(
    ("runner", "number", "times"),
    [
        ("LocalRunner", signal.SIGTERM, 1),
        ("LocalRunner", signal.SIGINT, 2),
        ("InlineRunner", signal.SIGINT, 2),
    ],
)
def test_signals_end_a_run_in_good_order(tmp_path: Path, runner: str, number: int, times: int) -> None:
    command = script(tmp_path, SLOW, runner)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as driver:
        (worker,) = pids(tmp_path)
        for _ in range(times):
            driver.send_signal(number)
            time.sleep(0.5)  # two at once would be one
        assert driver.communicate()[0] == "CANCELED\n"
    assert not alive(worker)


def test_a_run_in_a_thread(runner: LocalRunner, store: Store, plan_of: PlanMaker, tmp_path: Path) -> None:
    plan = plan_of(MEETING, folder=tmp_path)
    results: list[RunResult] = []

    def in_thread() -> None:
        from flowc.store.metadata import open_store

        with open_store(tmp_path / ".flowc", create=True) as own:
            results.append(run(plan, runner, own))

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    assert [result.state for result in results] == ["COMPLETE"]
