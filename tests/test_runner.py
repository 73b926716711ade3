"""The runner: the same numbers wherever and however often a plan runs, and nothing lost."""

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.experiments.measure import METRICS
from marginbandits.experiments.plan import Plan
from marginbandits.experiments.results import bake_off
from marginbandits.experiments.runner import Spread, locally, run_plan, run_task
from marginbandits.experiments.sources import played_rows
from marginbandits.experiments.store import Experiment, Failure, Outcome, Store
from tests import doubles
from tests.marks import at_length
from tests.plans import contents, slow_plan, small_plan, special


@pytest.fixture(scope="module")
def reference() -> list[tuple[object, ...]]:
    with Store(":memory:") as store:
        assert run_plan(small_plan(), store, locally(1)) == 0
        return contents(store)


class TestRunner:
    def test_processes_give_the_same_numbers(self, reference: list[tuple[object, ...]]) -> None:
        with Store(":memory:") as store:
            assert run_plan(small_plan(), store, locally(2)) == 0
            assert contents(store) == reference

    @pytest.mark.soak
    def test_dask_with_two_workers_gives_the_same_numbers(self, reference: list[tuple[object, ...]]) -> None:
        from marginbandits.experiments.dask_runner import on_dask

        with Store(":memory:") as store:
            assert run_plan(small_plan(), store, on_dask("local", workers=2)) == 0
            assert contents(store) == reference

    @pytest.mark.soak
    def test_a_killed_dask_worker_changes_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from marginbandits.experiments.dask_runner import on_dask

        monkeypatch.setenv("DYING_ONCE", str(tmp_path / "mark"))
        plan = small_plan(special(doubles.DyingOnce))
        stores = []
        for spread in (on_dask("local", workers=2), locally(1)):
            with Store(":memory:") as store:
                assert run_plan(plan, store, spread) == 0
                stores.append(contents(store))
        assert (tmp_path / "mark").exists()
        assert stores[0] == stores[1]

    def test_an_unreachable_cluster_is_said(self) -> None:
        from marginbandits.experiments.dask_runner import on_dask

        with Store(":memory:") as store, pytest.raises(OSError, match=r"127\.0\.0\.1:9"):
            run_plan(small_plan(), store, on_dask("tcp://127.0.0.1:9", workers=1, timeout=1.0))

    def test_a_rerun_does_nothing_and_an_interrupted_run_resumes(self, reference: list[tuple[object, ...]]) -> None:
        half: Spread = lambda tasks: map(run_task, list(tasks)[:5])  # noqa: E731  # a name for its type

        with Store(":memory:") as store:
            run_plan(small_plan(), store, half)
            assert len(store.finished()) == 5
            ran: list[int] = []
            run_plan(small_plan(), store, locally(1), progress=lambda _: ran.append(1))
            assert len(ran) == len(reference) - 5
            assert contents(store) == reference
            run_plan(small_plan(), store, locally(1), progress=lambda _: ran.append(1))
            assert len(ran) == len(reference) - 5

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_failing_task_is_reported_and_the_others_go_on(self, workers: int) -> None:
        plan = small_plan(special(doubles.Raising), seeds=1)
        with Store(":memory:") as store:
            assert run_plan(plan, store, locally(workers)) == 2
            assert len(store.finished()) == 6
            what, why = bake_off(store).failures[0]
            assert what == "Raising on iris, seed 0"
            assert "RuntimeError: ten rounds are enough" in why
            assert "doubles.py" in why

    def test_a_task_that_needs_too_much_memory_says_so_in_a_sentence(self) -> None:
        plan = Plan.of(data=["iris"], learners=["HingeLMC(n_particles=100000000)"], rounds=20, seeds=1)
        record = run_task(next(iter(plan.tasks())))
        assert isinstance(record, Failure)
        assert record.reason.startswith("HingeLMC cannot be built for 3 actions")
        assert "Traceback" not in record.reason

    def test_an_allocation_that_fails_says_so_in_a_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def update(*_: object) -> None:
            np.empty(1 << 56)

        monkeypatch.setattr(mb.Banditron, "_update", update)
        plan = Plan.of(data=["iris"], learners=["Banditron"], rounds=20, seeds=1)
        record = run_task(next(iter(plan.tasks())))
        assert isinstance(record, Failure)
        assert record.reason.startswith("it needs more memory than there is: Unable to allocate")
        assert "Traceback" not in record.reason

    @pytest.mark.soak
    def test_a_task_that_kills_its_process_fails_alone(self, reference: list[tuple[object, ...]]) -> None:
        plan = small_plan(special(doubles.Dying), seeds=1)
        with Store(":memory:") as store:
            assert run_plan(plan, store, locally(2)) == 2
            assert contents(store) == [row for row in reference if row[3] == 0]
            assert [what for what, _ in bake_off(store).failures] == ["Dying on iris, seed 0", "Dying on wine, seed 0"]
            assert "died" in bake_off(store).failures[0][1]

    def test_the_last_task_may_be_the_one_that_kills_its_process(self) -> None:
        with Store(":memory:") as store:
            assert run_plan(Plan.of(data=["iris"], learners=[special(doubles.Dying)], seeds=1), store, locally(2)) == 1

    @pytest.mark.soak
    def test_a_process_killed_once_costs_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DYING_ONCE", str(tmp_path / "mark"))
        with Store(":memory:") as store:
            assert run_plan(small_plan(special(doubles.DyingOnce)), store, locally(2)) == 0
            assert len(store.finished()) == 16

    def test_every_learner_meets_the_same_rows_and_seeds_differ(self) -> None:
        assert not np.array_equal(played_rows(50, 0, True), played_rows(50, 1, True))
        assert np.array_equal(played_rows(50, 1, False), np.arange(50))

    def test_nothing_is_played_outside_a_task(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A learner of 50 rounds is legal in a plan of 50 rounds (A3: the old estimate played it twice)."""
        plan = Plan.of(data=["iris"], learners=["FaithfulHingeLMC(horizon=50)"], rounds=50, seeds=1)
        with Store(":memory:") as store:
            assert run_plan(plan, store, locally(1)) == 0
        monkeypatch.setattr(mb.LinUCB, "act", None)
        list(small_plan().tasks())  # neither planning nor naming plays

    def test_a_table_that_changes_under_the_run_is_refused(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", X=np.eye(6), y=[0, 1, 2, 0, 1, 2])
        (task,) = Plan.of(data=[str(tmp_path / "a.npz")], learners=["Uniform"], rounds=6, seeds=1).tasks()
        changed = dataclasses.replace(task, data=dataclasses.replace(task.data, digest="as it was before"))
        record = run_task(changed)
        assert isinstance(record, Failure)
        assert "has changed since the plan was made" in record.reason

    def test_memory_is_the_learners_own(self) -> None:
        """Two tasks in one process, in either order: the same bytes (B14: the process's peak only grows)."""
        plan = Plan.of(data=["digits"], learners=["Uniform", "LinUCB"], rounds=20, seeds=1)
        both = [run_task(task) for task in (*plan.tasks(), *reversed(list(plan.tasks())))]
        sizes = [record.metrics["state_bytes"] for record in both if isinstance(record, Outcome)]
        assert sizes == sizes[::-1]
        assert sizes[0] < sizes[1]
        assert "peak_bytes" not in METRICS


SCRIPT = """
import signal
import sys
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.store import Store
from tests.plans import slow_plan

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so its children
    with Store(sys.argv[1]) as store:
        run_plan(slow_plan(), store, locally(int(sys.argv[2])), progress=lambda _: print("tick", flush=True))
"""


@pytest.fixture(scope="module")
def undisturbed() -> list[tuple[object, ...]]:
    with Store(":memory:") as store:
        run_plan(slow_plan(), store, locally(1))
        return contents(store)


class TestKilled:
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
    @pytest.mark.parametrize("workers", [2, *at_length([1])])
    def test_killed_midway_and_run_again_ends_the_same(
        self, how: signal.Signals, workers: int, undisturbed: list[tuple[object, ...]], tmp_path: Path
    ) -> None:
        script, file = tmp_path / "script.py", tmp_path / "results.sqlite"
        script.write_text(SCRIPT)
        command = [sys.executable, str(script), str(file), str(workers)]
        root = Path(__file__).parent.parent
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True, env=environment) as broken:
            assert broken.stdout is not None
            for _ in range(3):
                assert broken.stdout.readline() == "tick\n"
            broken.send_signal(how)
            assert broken.stdout.read().count("tick") < 12  # ends only when every worker has let go of the pipe
        assert broken.returncode != 0
        with Store(file) as store:
            assert 3 <= len(store.finished()) < 16
            run_plan(slow_plan(), store, locally(1))
            assert contents(store) == undisturbed
            assert len(undisturbed) == 16


def test_a_store_of_another_kind_of_run_is_refused(reference: list[tuple[object, ...]]) -> None:
    with Store(":memory:") as store:
        run_plan(small_plan(), store, locally(1))
        with pytest.raises(ValueError, match="holds a bakeoff, not a odd: take another folder"):
            run_plan(OddPlan(("well",)), store, locally(1))
        assert contents(store) == reference


@dataclasses.dataclass(frozen=True)
class Odd:
    """A task that ends in an odd way."""

    key: str
    how: str
    kind: str = "odd"
    size: float = 1.0

    def run(self) -> Any:
        if self.how == "exit":
            sys.exit(0)
        if self.how == "interrupt":
            raise KeyboardInterrupt
        if self.how == "generator":
            raise GeneratorExit
        if self.how == "later":  # it is done, and its process dies soon after
            threading.Timer(0.3, os._exit, [1]).start()
        if self.how == "slow":
            time.sleep(0.6)
        if self.how == "die":
            os._exit(1)
        return {"none": None, "unpicklable": Experiment(self.key, {"f": lambda: 0})}.get(  # type: ignore[dict-item]
            self.how,
            Experiment(self.key, {"x": np.float32(0.5)}),  # type: ignore[dict-item]
        )


@dataclasses.dataclass(frozen=True)
class OddPlan:
    """Tasks in a row."""

    hows: tuple[str, ...]

    def tasks(self) -> list[Odd]:
        return [Odd(f"{i}-{how}", how) for i, how in enumerate(self.hows)]

    def facts(self) -> dict[str, object]:
        return {"run": "odd"}


@pytest.mark.parametrize("workers", [1, 2])
def test_however_a_task_ends_the_others_go_on(workers: int) -> None:
    hows = ("exit", "generator", "none", "unpicklable", *(["interrupt"] * (workers > 1)), "well")
    with Store(":memory:") as store:
        assert run_plan(OddPlan(hows), store, locally(workers)) == len(hows) - 1
        assert list(store.finished()) == [f"{len(hows) - 1}-well"]


@pytest.mark.soak
def test_nobody_is_blamed_for_what_another_left_behind() -> None:
    with Store(":memory:") as store:
        plan = OddPlan(("die", "later", "slow", "slow"))
        assert run_plan(plan, store, locally(2)) == 1
        assert list(store.failures([task.key for task in plan.tasks()])) == ["0-die"]


@pytest.mark.parametrize("seconds", [0.5, *at_length([0.1, 0.3, 1.0])])
def test_an_interrupt_while_workers_begin_is_told_in_a_sentence(seconds: float, tmp_path: Path) -> None:
    """As from a terminal, to all of them at once."""
    root = Path(__file__).parent.parent
    command = [sys.executable, "-m", "marginbandits", "bakeoff", "--data", "digits", "--learners", "HingeLMC,LinUCB"]
    with subprocess.Popen(
        [*command, "--jobs", "2", "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    ) as running:
        assert running.stderr is not None
        while "to go" not in running.stderr.readline():
            pass
        time.sleep(seconds)
        os.killpg(running.pid, signal.SIGINT)
        said = running.stderr.read()
    assert running.returncode == 1
    assert "Traceback" not in said
    assert "interrupted; what was finished is kept" in said
