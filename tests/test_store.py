"""The file of results: what goes in comes out, and what is no such file is refused."""

import itertools
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from marginbandits.experiments.measure import METRICS
from marginbandits.experiments.report import write_report
from marginbandits.experiments.store import Experiment, Failure, Outcome, Store


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
