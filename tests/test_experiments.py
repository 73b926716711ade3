"""Plans, the store and the runner: the same numbers wherever and however often a plan runs, and nothing lost."""

import dataclasses
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
from marginbandits.experiments.arguments import learner_spec
from marginbandits.experiments.measure import METRICS
from marginbandits.experiments.plan import Plan
from marginbandits.experiments.report import result_sentence, text_table, write_report
from marginbandits.experiments.results import BakeOff, bake_off
from marginbandits.experiments.runner import Spread, locally, run_plan, run_task
from marginbandits.experiments.sources import played_rows
from marginbandits.experiments.specs import LearnerSpec
from marginbandits.experiments.store import Experiment, Failure, Outcome, Store
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
    return LearnerSpec(cls.__name__, cls)


def contents(store: Store) -> list[tuple[object, ...]]:
    """Everything that must not depend on where or when a task ran."""
    return [
        (o.key, run.learner, run.data, run.seed, o.losses.tobytes(), *(o.metrics[name] for name in LASTING))
        for run in bake_off(store).runs
        if (o := run.outcome) is not None
    ]


def played(plan: Plan) -> BakeOff:
    with Store(":memory:") as store:
        run_plan(plan, store, locally(1))
        return bake_off(store)


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

        monkeypatch.setattr(mb.LinUCB, "_update", update)
        plan = Plan.of(data=["iris"], learners=["LinUCB"], rounds=20, seeds=1)
        record = run_task(next(iter(plan.tasks())))
        assert isinstance(record, Failure)
        assert record.reason.startswith("it needs more memory than there is: Unable to allocate")
        assert "Traceback" not in record.reason

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


class TestNames:
    """Labels beside the identity (A2)."""

    def test_equal_files_and_equal_learners_under_two_names_all_appear_and_run_once(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            (tmp_path / f"{name}.csv").write_text("x,label\n1,u\n2,v\n3,u\n4,v\n")
        same = [LearnerSpec("one", mb.LinUCB), LearnerSpec("two", mb.LinUCB, {"alpha": 0.2})]
        plan = Plan.of(data=[str(tmp_path)], learners=[*same, "Uniform"], rounds=4, seeds=2)
        ran: list[int] = []
        with Store(":memory:") as store:
            run_plan(plan, store, locally(1), progress=lambda _: ran.append(1))
            summary = write_report(store, tmp_path / "report.html")
        assert len(plan) == 12
        assert len(ran) == 4
        assert summary.data == ["a", "b"]
        assert set(summary.learners) == {"one", "two", "Uniform"}
        html = (tmp_path / "report.html").read_text()
        assert all(f">{name}<" in html for name in ("one", "two"))

    def test_renamed_and_resumed_shows_the_new_name_and_runs_nothing(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "old.npz", X=np.eye(6), y=[0, 1, 2, 0, 1, 2])

        def names(file: str, learner: str) -> tuple[list[str], list[str], int]:
            ran: list[int] = []
            plan = Plan.of(data=[str(tmp_path / file)], learners=[LearnerSpec(learner, mb.LinUCB)], rounds=6, seeds=2)
            with Store(tmp_path / "s.sqlite") as store:
                run_plan(plan, store, locally(1), progress=lambda _: ran.append(1))
                summary = write_report(store, tmp_path / "report.html")
            return summary.learners, summary.data, len(ran)

        assert names("old.npz", "before") == (["before"], ["old"], 2)
        (tmp_path / "old.npz").rename(tmp_path / "new.npz")
        assert names("new.npz", "after") == (["after"], ["new"], 0)


SCRIPT = """
import signal
import sys
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.store import Store
from tests.test_experiments import slow_plan

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so its children
    with Store(sys.argv[1]) as store:
        run_plan(slow_plan(), store, locally(int(sys.argv[2])), progress=lambda _: print("tick", flush=True))
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
        with Store(":memory:") as whole, Store(file) as store:
            assert 3 <= len(store.finished()) < 16
            run_plan(slow_plan(), store, locally(1))
            run_plan(slow_plan(), whole, locally(1))
            assert contents(store) == contents(whole)
            assert len(contents(store)) == 16


class TestStore:
    def outcome(self, key: str = "k", losses: tuple[float, ...] = (0.0, 0.25, 1.0)) -> Outcome:
        return Outcome(key, 3, np.array(losses), {"loss": 0.4}, seconds=1.5)

    def test_what_goes_in_comes_out(self, tmp_path: Path) -> None:
        with Store(tmp_path / "s.sqlite") as store:
            store.put(self.outcome())
            store.put(Experiment("e", {"regret": 2.0}, seconds=0.5))
        with Store(tmp_path / "s.sqlite") as store:
            back = store.outcomes(["k", "another"])["k"]
            assert (back.key, back.n_actions, back.seconds) == ("k", 3, 1.5)
            assert np.array_equal(back.losses, [0.0, 0.25, 1.0])
            assert back.metrics == {"loss": 0.4}
            assert store.experiments(["e"]) == {"e": Experiment("e", {"regret": 2.0}, seconds=0.5)}
            assert store.finished() == {"k": 1.5, "e": 0.5}

    def test_reading_writes_nothing(self, tmp_path: Path) -> None:
        with Store(tmp_path / "s.sqlite") as store:
            store.put(self.outcome())
        (tmp_path / "s.sqlite").chmod(0o400)
        before = (tmp_path / "s.sqlite").read_bytes(), (tmp_path / "s.sqlite").stat().st_mtime_ns
        with Store(tmp_path / "s.sqlite") as store:
            assert store.outcomes(["k"])
            assert store.failures(["k"]) == {}
        assert before == ((tmp_path / "s.sqlite").read_bytes(), (tmp_path / "s.sqlite").stat().st_mtime_ns)

    def test_writing_twice_changes_nothing_and_success_forgets_failure(self) -> None:
        with Store(":memory:") as store:
            store.put(Failure("k", "boom"))
            assert store.failures(["k"]) == {"k": "boom"}
            store.put(self.outcome())
            store.put(self.outcome())
            assert len(store.outcomes(["k"])) == 1
            assert store.failures(["k"]) == {}

    def test_a_full_disk_keeps_what_was_finished(self, tmp_path: Path) -> None:
        with Store(tmp_path / "s.sqlite") as store:
            store.put(self.outcome())
            pages = store._db.execute("PRAGMA page_count").fetchone()[0]
            store._db.execute(f"PRAGMA max_page_count = {pages}")
            noise = tuple(np.random.default_rng(0).random(100_000))
            with pytest.raises(sqlite3.OperationalError, match="full"):
                store.put(self.outcome("k2", noise))
            assert store.finished().keys() == {"k"}
        with Store(tmp_path / "s.sqlite") as store:
            store.put(self.outcome("k2", noise))
            assert store.finished().keys() == {"k", "k2"}

    @pytest.mark.parametrize(
        ("damage", "read"),
        [
            ("UPDATE outcomes SET losses = x'00ff'", "outcomes"),
            ("UPDATE outcomes SET losses = NULL", "outcomes"),
            ("UPDATE outcomes SET metrics = '{'", "outcomes"),
            ("UPDATE outcomes SET metrics = '[1]'", "outcomes"),
            ("UPDATE outcomes SET metrics = '{\"loss\": null}'", "outcomes"),
            ("UPDATE outcomes SET n_actions = 'many'", "outcomes"),
            ("UPDATE experiments SET numbers = ''", "experiments"),
            ("UPDATE outcomes SET seconds = 'long'", "finished"),
            ("UPDATE facts SET value = 'no json'", "fact"),
        ],
    )
    def test_a_damaged_row_is_named(self, damage: str, read: str, tmp_path: Path) -> None:
        with Store(tmp_path / "s.sqlite") as store:
            store.put(self.outcome())
            store.put(Experiment("e", {"regret": 2.0}))
            store.set_facts({"plan": 1})
            store._db.execute(damage)
            arguments = {"fact": ["plan"], "finished": []}.get(read, [["k", "e"]])
            with pytest.raises(ValueError, match=r"s\.sqlite is damaged at"):
                getattr(store, read)(*arguments)

    def test_files_that_are_no_store_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "s.sqlite").write_bytes(b"no database at all" * 100)
        with pytest.raises(ValueError, match="file is not a database"):
            Store(tmp_path / "s.sqlite")
        old = sqlite3.connect(tmp_path / "old.sqlite")
        old.execute("CREATE TABLE outcomes (key TEXT PRIMARY KEY, learner TEXT)")
        old.close()
        with pytest.raises(ValueError, match="another version"):
            Store(tmp_path / "old.sqlite")

    def test_many_tasks_are_summarised(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        metrics = dict.fromkeys(METRICS, 1.0)
        grid = list(itertools.product(range(10), range(6), range(5)))
        learners = [{"name": f"L{i}", "class": "L", "role": "rival"} for i in range(6)]
        with Store(tmp_path / "s.sqlite") as store:
            for data, learner, seed in grid:
                losses = (rng.random(300) < 0.3 + 0.03 * learner).astype(float)
                store.put(Outcome(f"{data} {learner} {seed}", 2, losses, metrics))
            store.set_facts(
                {
                    "run": "bakeoff",
                    "plan": {"rounds": 300, "shuffle": True, "learners": learners},
                    "tasks": [[f"L{j}", f"d{i}", seed, f"{i} {j} {seed}"] for i, j, seed in grid],
                }
            )
            summary = write_report(store, tmp_path / "report.html")
        assert summary.learners == [f"L{i}" for i in range(6)]
        assert summary.wins[0, 5] == 10
        assert summary.wins[5, 0] == 0


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
        before = key()
        np.savez(tmp_path / "b.npz", X=2 * np.eye(6), y=[0, 1, 2, 0, 1, 2])
        assert len(keys | {key(data=[str(tmp_path / "b.npz")])}) == 6
        assert key() == before
        assert key(learners=["LinUCB(alpha=0.2)"]) == key(learners=[LearnerSpec("mine", mb.LinUCB)]) == before

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"learners": ["LinUBC"]}, "no learner is called 'LinUBC'; did you mean 'LinUCB'"),
            ({"learners": ["LinUCB(alfa=1)"]}, "LinUCB has no parameter 'alfa'; did you mean 'alpha'"),
            ({"learners": ["LinUCB(alpha=-1)"]}, "alpha must be a finite number at least 0, got -1"),
            ({"learners": ["LinUCB(alpha)"]}, "name=value, got 'alpha'"),
            ({"learners": ["LinUCB(alpha=1, alpha=2)"]}, "alpha is given twice"),
            ({"learners": ["LinUCB(alpha=[1, 2)"]}, "must be closed"),
            ({"learners": ["LinUCB(alpha=[1, 2])"]}, r"alpha must be a finite number at least 0, got \[1, 2\]"),
            ({"learners": ["Lin UCB"]}, "got 'Lin UCB'"),
            ({"learners": []}, "no learners"),
            ({"learners": ["LinUCB", "LinUCB"]}, "LinUCB occurs twice"),
            ({"data": ["irs"]}, "'irs'.*did you mean 'iris'"),
            ({"data": ["openml:abc"]}, "openml:61"),
            ({"data": ["nowhere/at/all.csv"]}, "no such file"),
            ({"data": ["SORTED"], "rounds": 3}, "first 3 rows of .*sorted.npz hold one class"),
            ({"rounds": 0}, "rounds must be a whole number at least 1, got 0"),
            ({"shuffle": "no"}, "shuffle must be a bool, got 'no'"),
            ({"label": 5}, "label must be a str or None, got 5"),
            ({"seeds": 0}, "seeds must be a whole number at least 1, got 0"),
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
            ('shuffle = "no"\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"', "shuffle must be a bool, got 'no'"),
            ('rounds = "many"\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"', "rounds must be a whole number"),
            ('seeds = 1.5\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"', "seeds must be a whole number"),
            ('label = 3\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"', "label must be a str"),
            ('data = "iris"\n[[learners]]\nclass = "LinUCB"', "data is no list"),
            ('data = [3]\n[[learners]]\nclass = "LinUCB"', "data must be a list of words, got 3"),
            ('data = ["iris"]\nlearners = ["LinUCB"]', "a learner needs a class, got 'LinUCB'"),
            ('data = ["iris"]\n[[learners]]\nclass = 3', "no learner is called 3"),
            ('data = ["iris"]\n[[learners]]\nclass = "LinUBC"', "did you mean 'LinUCB'"),
            ('data = ["iris"]\n[[learners]]\nclass = "LinUCB"\nname = 3', "the name of a learner must be"),
            ('data = ["iris"]\n[[learners]]\nclass = "LinUCB"\nalpha = "big"', "alpha must be a finite number"),
            ('data = ["iris"]\n[[learners]]\nclass = "LinUCB"\nalpha = {a = 1}', "alpha must be a finite number"),
        ],
    )
    def test_bad_plan_files_are_explained(self, text: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "plan.toml").write_text(text)
        with pytest.raises(ValueError, match=message) as refusal:
            Plan.from_toml(tmp_path / "plan.toml")
        assert str(refusal.value).startswith(f"{tmp_path / 'plan.toml'}: ")


class TestSummary:
    def test_a_data_set_some_learner_has_not_finished_is_left_out_and_named(self) -> None:
        record = played(small_plan())
        unfinished = dataclasses.replace(record.runs[-1], outcome=None)
        summary = summarise(dataclasses.replace(record, runs=[*record.runs[:-1], unfinished]))
        assert summary.data == ["iris"]
        assert summary.incomplete == ["wine"]
        assert "left out: wine" in text_table(summary)
        nothing = [dataclasses.replace(run, outcome=None) for run in record.runs]
        empty = summarise(dataclasses.replace(record, runs=nothing))
        assert (empty.learners, empty.data, empty.incomplete) == ([], [], ["iris", "wine"])
        assert "No data set" in result_sentence(empty)
        assert text_table(empty).count("not finished yet") == 3

    def test_hindsight_is_added_only_when_asked_for_and_says_so(self) -> None:
        other = LearnerSpec("bold", mb.LinUCB, {"alpha": 2.0})
        record = played(Plan.of(data=["iris", "wine"], learners=["LinUCB", other, "Uniform"], rounds=60, seeds=2))
        assert not any(one.role == "hindsight" for one in summarise(record).standings)
        summary = summarise(record, hindsight=True)
        column = summary.learners.index("LinUCB, best of 2 in hindsight")
        assert summary.standings[column].role == "hindsight"
        variants = [i for i, name in enumerate(summary.learners) if name in ("LinUCB", "bold")]
        assert np.allclose(summary.table[:, column], summary.table[:, variants].min(1))
        assert len(summary.learners) == 4
        assert "hindsight" not in result_sentence(summary).split(",")[0]

    def test_a_renamed_skyline_stays_one_and_a_name_makes_none(self, tmp_path: Path) -> None:
        learners = [
            LearnerSpec("the ceiling", mb.Supervised),
            LearnerSpec("Supervised", mb.Uniform),
            LearnerSpec("good in hindsight", mb.LinUCB),
        ]
        with Store(":memory:") as store:
            run_plan(Plan.of(data=["wine"], learners=learners, rounds=100, seeds=2), store, locally(1))
            summary = write_report(store, tmp_path / "report.html")
        by_name = {one.learner: one for one in summary.standings}
        assert by_name["the ceiling"].role == "skyline"
        assert by_name["the ceiling"].normalised == 0.0
        assert by_name["Supervised"].role == by_name["good in hindsight"].role == "rival"
        assert result_sentence(summary).startswith("good in hindsight lost least")
        assert (tmp_path / "report.html").read_text().count("<small>sees every loss</small>") == 1

    def test_who_fails_everywhere_is_shown_as_failed_and_stops_nobody(self, tmp_path: Path) -> None:
        with Store(":memory:") as store:
            assert run_plan(small_plan(special(doubles.Raising)), store, locally(1)) == 4
            summary = write_report(store, tmp_path / "report.html")
        assert summary.data == ["iris", "wine"]
        assert [(one.learner, str(one)) for one in summary.absent] == [("Raising", "failed, 4 of 4 tasks")]
        line = next(line for line in text_table(summary).splitlines() if line.startswith("Raising"))
        assert "failed, 4 of 4 tasks" in line
        assert "failed, 4 of 4 tasks" in (tmp_path / "report.html").read_text()

    def test_when_all_fail_there_is_still_a_report(self, tmp_path: Path) -> None:
        plan = Plan.of(data=["iris"], learners=[special(doubles.Raising)], rounds=20, seeds=1)
        with Store(":memory:") as store:
            assert run_plan(plan, store, locally(1)) == 1
            summary = write_report(store, tmp_path / "report.html")
        assert summary.learners == []
        assert "ten rounds are enough" in (tmp_path / "report.html").read_text()

    def test_report_says_what_happened(self, tmp_path: Path) -> None:
        with Store(":memory:") as store:
            store.put(Failure("other", "a failure of another plan"))
            store.set_facts({"command": "the command"})
            run_plan(small_plan(special(doubles.Raising)), store, locally(1))
            summary = write_report(store, tmp_path / "report.html")
        html = (tmp_path / "report.html").read_text()
        for words in (result_sentence(summary), "the command", "iris", "wine", "ten rounds are enough", "<svg"):
            assert words in html
        assert "another plan" not in html
        assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
        assert all(name in text_table(summary) for name in summary.learners)
