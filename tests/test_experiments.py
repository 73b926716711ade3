"""Plans, the store and the runner: the same numbers wherever and however often a plan runs, and nothing lost."""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.experiments.export import rows, to_csv, to_parquet
from marginbandits.experiments.plan import LearnerSpec, Plan, learner_spec, played_rows
from marginbandits.experiments.report import result_sentence, text_table, write_report
from marginbandits.experiments.runner import estimated_seconds, locally, run_plan, run_task
from marginbandits.experiments.store import Failure, Outcome, Store
from marginbandits.experiments.summary import summarise
from tests import doubles

LASTING = (
    *("loss", "uniform_loss", "best_action_loss", "linear_policy_loss"),
    *("smallest_probability", "effective_sample_share"),
)
"""Metrics that must not depend on where or when a task ran."""


def small_plan(*extra: LearnerSpec, seeds: int = 2) -> Plan:
    learners: list[str | LearnerSpec] = ["LinUCB", "LinTS(scale=0.3)", "EpsilonGreedy(features=fourier)", *extra]
    return Plan.of(data=["iris", "wine"], learners=learners, rounds=60, seeds=seeds)


def special(cls: type[mb.Learner]) -> LearnerSpec:
    return LearnerSpec(cls.__name__, cls, {})


def contents(store: Store) -> list[tuple[object, ...]]:
    """Everything that must not depend on where or when a task ran."""
    return [
        (o.key, o.learner, o.data, o.seed, o.losses.tobytes(), *(o.metrics[name] for name in LASTING))
        for o in store.outcomes()
    ]


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

    def test_dask_with_two_workers_gives_the_same_numbers(self, reference: list[tuple[object, ...]]) -> None:
        from marginbandits.experiments.dask_runner import on_dask

        with Store(":memory:") as store:
            assert run_plan(small_plan(), store, on_dask("local", workers=2)) == 0
            assert contents(store) == reference

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
        def half(tasks: object) -> object:
            yield from map(run_task, list(tasks)[:5])  # type: ignore[call-overload]  # tasks are iterable

        with Store(":memory:") as store:
            run_plan(small_plan(), store, half)  # type: ignore[arg-type]  # refused on purpose
            assert len(store.finished()) == 5
            ran: list[int] = []
            run_plan(small_plan(), store, locally(1), progress=lambda: ran.append(1))
            assert len(ran) == len(reference) - 5
            assert contents(store) == reference
            run_plan(small_plan(), store, locally(1), progress=lambda: ran.append(1))
            assert len(ran) == len(reference) - 5

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_failing_task_is_reported_and_the_others_go_on(self, workers: int) -> None:
        plan = small_plan(special(doubles.Raising), seeds=1)
        with Store(":memory:") as store:
            assert run_plan(plan, store, locally(workers)) == 2
            assert len(store.finished()) == 6
            failure = store.failures()[0]
            assert (failure.learner, failure.data, failure.seed) == ("Raising", "iris", 0)
            assert "RuntimeError: ten rounds are enough" in failure.traceback
            assert "doubles.py" in failure.traceback

    def test_a_task_that_kills_its_process_fails_alone(self, reference: list[tuple[object, ...]]) -> None:
        plan = small_plan(special(doubles.Dying), seeds=1)
        with Store(":memory:") as store:
            assert run_plan(plan, store, locally(2)) == 2
            assert contents(store) == [row for row in reference if row[3] == 0]
            assert {f.learner for f in store.failures()} == {"Dying"}
            assert "died" in store.failures()[0].traceback

    def test_a_process_killed_once_costs_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DYING_ONCE", str(tmp_path / "mark"))
        with Store(":memory:") as store:
            assert run_plan(small_plan(special(doubles.DyingOnce)), store, locally(2)) == 0
            assert len(store.finished()) == 16

    def test_every_learner_meets_the_same_rows_and_seeds_differ(self) -> None:
        assert not np.array_equal(played_rows(50, 0, True), played_rows(50, 1, True))
        assert np.array_equal(played_rows(50, 1, False), np.arange(50))

    def test_time_is_estimated(self) -> None:
        assert 0 < estimated_seconds(small_plan()) < 60


SCRIPT = """
import sys
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.store import Store
from tests.test_experiments import slow_plan

if __name__ == "__main__":
    with Store(sys.argv[1]) as store:
        run_plan(slow_plan(), store, locally(int(sys.argv[2])), progress=lambda: print("tick", flush=True))
"""


def slow_plan() -> Plan:
    return Plan.of(data=["iris"], learners=[special(doubles.Slow), "LinUCB"], rounds=50, seeds=8)


class TestKilled:
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
    @pytest.mark.parametrize("workers", [1, 2])
    def test_killed_midway_and_run_again_ends_the_same(self, how: signal.Signals, workers: int, tmp_path: Path) -> None:
        script, file = tmp_path / "script.py", tmp_path / "results.sqlite"
        script.write_text(SCRIPT)
        command = [sys.executable, str(script), str(file), str(workers)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True, env=environment) as broken:
            assert broken.stdout is not None
            for _ in range(3):
                assert broken.stdout.readline() == "tick\n"
            broken.send_signal(how)
            assert broken.stdout.read().count("tick") < 12  # ends only when every worker has let go of the pipe
        assert broken.returncode != 0
        with Store(":memory:") as whole, Store(file) as store:
            assert 3 <= len(store.finished()) < 16
            run_plan(slow_plan(), store, locally(1))
            run_plan(slow_plan(), whole, locally(1))
            assert contents(store) == contents(whole)
            assert len(contents(store)) == 16


class TestStore:
    def outcome(self, **change: object) -> Outcome:
        facts = {
            "key": "k",
            "learner": "A",
            "data": "d",
            "n_actions": 3,
            "seed": 1,
            "losses": np.array([0.0, 0.25, 1.0]),
        }
        return Outcome(**{**facts, **change}, metrics={"loss": 0.4})  # type: ignore[arg-type]  # refused on purpose

    def test_what_goes_in_comes_out(self, tmp_path: Path) -> None:
        with Store(tmp_path / "s.sqlite") as store:
            store.put(self.outcome())
        with Store(tmp_path / "s.sqlite") as store:
            (back,) = store.outcomes()
            assert (back.key, back.learner, back.data, back.n_actions, back.seed) == ("k", "A", "d", 3, 1)
            assert np.array_equal(back.losses, [0.0, 0.25, 1.0])
            assert back.metrics == {"loss": 0.4}

    def test_writing_twice_changes_nothing_and_success_forgets_failure(self) -> None:
        with Store(":memory:") as store:
            store.put_failure(Failure("k", "A", "d", 1, "boom"))
            assert len(store.failures()) == 1
            store.put(self.outcome())
            store.put(self.outcome())
            assert len(list(store.outcomes())) == 1
            assert store.failures() == []

    def test_a_full_disk_keeps_what_was_finished(self, tmp_path: Path) -> None:
        with Store(tmp_path / "s.sqlite") as store:
            store.put(self.outcome())
            pages = store._db.execute("PRAGMA page_count").fetchone()[0]
            store._db.execute(f"PRAGMA max_page_count = {pages}")
            noise = np.random.default_rng(0).random(100_000)
            with pytest.raises(sqlite3.OperationalError, match="full"):
                store.put(self.outcome(key="k2", losses=noise))
            assert store.finished() == {"k"}
        with Store(tmp_path / "s.sqlite") as store:
            store.put(self.outcome(key="k2", losses=noise))
            assert store.finished() == {"k", "k2"}

    def test_many_tasks_are_summarised(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        metrics = dict.fromkeys(METRICS, 1.0)
        with Store(tmp_path / "s.sqlite") as store:
            for data, learner, seed in itertools.product(range(10), range(6), range(5)):
                losses = (rng.random(300) < 0.3 + 0.03 * learner).astype(float)
                store.put(Outcome(f"{data} {learner} {seed}", f"L{learner}", f"d{data}", 2, seed, losses, metrics))
            summary = write_report(store, tmp_path / "report.html")
        assert summary.learners == [f"L{i}" for i in range(6)]
        assert summary.wins[0, 5] == 10
        assert summary.wins[5, 0] == 0


METRICS = (*LASTING, "rounds_per_second", "state_bytes", "peak_bytes")


class TestPlan:
    def test_words(self) -> None:
        spec = learner_spec("LinUCB(features=fourier, alpha=0.1)")
        assert spec.label == "LinUCB(features=fourier, alpha=0.1)"
        learner = spec.build(4, 0)
        assert isinstance(learner, mb.LinUCB)
        assert (learner.alpha, learner.features, learner.n_actions) == (0.1, "fourier", 4)

    def test_toml(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "mine.npz", X=np.eye(6), y=[0, 1, 2, 0, 1, 2])
        file = tmp_path / "plan.toml"
        file.write_text(
            'rounds = 5\nseeds = 2\nshuffle = false\ndata = ["iris", "mine.npz"]\n'
            '[[learners]]\nclass = "LinUCB"\nname = "mine"\nalpha = 0.1\n[[learners]]\nclass = "Uniform"\n'
        )
        plan = Plan.from_toml(file)
        assert [one.label for one in plan.learners] == ["mine", "Uniform"]
        assert [one.name for one in plan.data] == ["iris", "mine"]
        assert len(plan) == len(list(plan.tasks())) == 8
        assert not plan.shuffle

    def test_a_folder_is_its_archives_or_else_its_tables(self, tmp_path: Path) -> None:
        for name in ("b", "a"):
            (tmp_path / f"{name}.csv").write_text("x,label\n1,u\n2,v\n")
        options: dict[str, Any] = {"data": [str(tmp_path)], "learners": ["Uniform"], "seeds": 1}
        assert [one.name for one in Plan.of(**options).data] == ["a", "b"]
        np.savez(tmp_path / "c.npz", X=np.eye(2), y=[0, 1])
        (tmp_path / "a.csv").write_text("an index, not a table\n")
        assert [one.name for one in Plan.of(**options).data] == ["c"]
        (tmp_path / "empty").mkdir()
        with pytest.raises(ValueError, match="empty holds no"):
            Plan.of(data=[str(tmp_path / "empty")], learners=["Uniform"])

    def test_keys_tell_tasks_apart(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", X=np.eye(6), y=[0, 1, 2, 0, 1, 2])

        def key(**change: object) -> str:
            options = {"data": [str(tmp_path / "a.npz")], "learners": ["LinUCB"], "rounds": 5, "seeds": 1}
            return next(iter(Plan.of(**{**options, **change}).tasks())).key  # type: ignore[arg-type]  # refused on purpose

        keys = {key(), key(rounds=4), key(learners=["LinUCB(alpha=0.1)"]), key(learners=["LinTS"]), key(shuffle=False)}
        np.savez(tmp_path / "a.npz", X=2 * np.eye(6), y=[0, 1, 2, 0, 1, 2])
        assert len(keys | {key()}) == 6
        assert key() == key()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"learners": ["LinUBC"]}, "no learner is called 'LinUBC'; did you mean 'LinUCB'"),
            ({"learners": ["LinUCB(alfa=1)"]}, "LinUCB has no parameter 'alfa'; did you mean 'alpha'"),
            ({"learners": ["LinUCB(alpha=-1)"]}, "alpha must be a finite number at least 0, got -1"),
            ({"learners": ["LinUCB(alpha)"]}, "name=value, got 'alpha'"),
            ({"learners": ["Lin UCB"]}, "got 'Lin UCB'"),
            ({"learners": []}, "no learners"),
            ({"learners": ["LinUCB", "LinUCB"]}, "LinUCB occurs twice"),
            ({"data": ["irs"]}, "'irs'.*did you mean 'iris'"),
            ({"data": ["openml:abc"]}, "openml:61"),
            ({"data": ["nowhere/at/all.csv"]}, "no such file"),
            ({"data": ["SORTED"], "rounds": 3}, "first 3 rows of sorted hold one class"),
            ({"rounds": 0}, "rounds must be at least 1, got 0"),
            ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ],
    )
    def test_mistakes_are_found_before_anything_runs(
        self, change: dict[str, Any], message: str, tmp_path: Path
    ) -> None:
        np.savez(tmp_path / "sorted.npz", X=np.eye(6), y=[0, 0, 0, 1, 1, 1])
        if change.get("data") == ["SORTED"]:
            change = {**change, "data": [str(tmp_path / "sorted.npz")]}
        good = {"data": ["iris"], "learners": ["LinUCB"], "rounds": 5, "seeds": 1}
        with pytest.raises(ValueError, match=message):
            Plan.of(**{**good, **change})

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("rounds = ", "not TOML"),
            ('data = ["iris"]\n', "learners"),
            (
                'round = 3\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"',
                "unknown entry 'round'; did you mean 'rounds'",
            ),
            ('data = ["iris"]\n[[learners]]\nalpha = 1', "a learner needs a class"),
        ],
    )
    def test_bad_plan_files_are_explained(self, text: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "plan.toml").write_text(text)
        with pytest.raises(ValueError, match=message):
            Plan.from_toml(tmp_path / "plan.toml")


class TestSummary:
    def test_a_data_set_some_learner_has_not_finished_is_left_out_and_named(self) -> None:
        with Store(":memory:") as store:
            run_plan(small_plan(), store, locally(1))
            outcomes = list(store.outcomes())
        summary = summarise(outcomes[:-1])
        assert summary.data == ["iris"]
        assert summary.incomplete == ["wine"]
        with pytest.raises(ValueError, match="no data set"):
            summarise(outcomes[:1] + outcomes[-1:])

    def test_hindsight_is_added_only_when_asked_for_and_says_so(self) -> None:
        plan = Plan.of(data=["iris", "wine"], learners=["LinUCB", "LinUCB(alpha=2.0)", "Uniform"], rounds=60, seeds=2)
        with Store(":memory:") as store:
            run_plan(plan, store, locally(1))
            outcomes = list(store.outcomes())
        assert not any("hindsight" in name for name in summarise(outcomes).learners)
        summary = summarise(outcomes, hindsight=True)
        column = summary.learners.index("LinUCB, best of 2 in hindsight")
        variants = [i for i, name in enumerate(summary.learners) if name in ("LinUCB", "LinUCB(alpha=2.0)")]
        assert np.allclose(summary.table[:, column], summary.table[:, variants].min(1))
        assert len(summary.learners) == 4
        assert "hindsight" not in result_sentence(summary).split(",")[0]

    def test_report_says_what_happened(self, tmp_path: Path) -> None:
        with Store(":memory:") as store:
            plan = small_plan(special(doubles.Raising))
            run_plan(plan, store, locally(1))
            store.put_failure(Failure("other", "Old", "iris", 0, "a failure of another plan"))
            store.set_fact(
                "plan", {"keys": [task.key for task in plan.tasks()], "rounds": 60, "command": "the command"}
            )
            with pytest.raises(ValueError, match="no data set"):
                summarise([])
            summary = write_report(store, tmp_path / "report.html")
            table = to_csv(store)
            to_parquet(store, tmp_path / "out.parquet")
            flat = rows(store)
        html = (tmp_path / "report.html").read_text()
        for words in (result_sentence(summary), "the command", "iris", "wine", "ten rounds are enough", "<svg"):
            assert words in html
        assert "another plan" not in html
        assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
        assert all(name in text_table(summary) for name in summary.learners)
        assert table.splitlines()[0].startswith("data,learner,seed,n_actions,rounds,loss")
        assert len(table.splitlines()) == 1 + 12 == 1 + len(flat)
        import pyarrow.parquet as pq

        assert pq.read_table(tmp_path / "out.parquet").num_rows == 12
