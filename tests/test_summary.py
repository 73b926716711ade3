"""What a store becomes: names, roles, failures and the report's sentences."""

import dataclasses
from pathlib import Path

import numpy as np

import marginbandits as mb
from marginbandits.experiments.plan import Plan
from marginbandits.experiments.report import result_sentence, text_table, write_report
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.specs import LearnerSpec
from marginbandits.experiments.store import Failure, Store
from marginbandits.experiments.summary import summarise
from tests import doubles
from tests.plans import played, small_plan, special


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
