"""Plans: what they say, which tasks are the same, and mistakes found before anything runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.experiments.arguments import learner_spec
from marginbandits.experiments.plan import Plan
from marginbandits.experiments.specs import LearnerSpec


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

    def test_what_is_nested_too_deeply_is_refused(self, tmp_path: Path) -> None:
        for depth in (30, 220, 5000):
            with pytest.raises(ValueError, match="nested more than 20 deep"):
                learner_spec("LinUCB(features=" + "Chain(maps=[" * depth + "Identity" + "])" * depth + ")")
        file = tmp_path / "plan.toml"
        file.write_text(f'data = ["iris"]\n[[learners]]\nclass = "HingeLMC"\nscores{".a" * 300} = 1\n')
        with pytest.raises(ValueError, match="nested more than 20 deep"):
            Plan.from_toml(file)

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
            ({"learners": ["LinUCB(alpha=1))"]}, "a bracket is closed that was not opened, in 'alpha=1\\)'"),
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
            ('data = ["iris"]\n[[learners]]\nalpha = 1', "a learner must be a name or a table"),
            ('device = "cpu"\ndata = ["iris"]\nlearners = ["LinUCB"]', "device is no entry of a plan: .*, --device"),
            ('data = ["iris"]\n[[learners]]\nclass = "HingeLMC"\nscores = "Networks(wdth=3)"', "no parameter 'wdth'"),
            ('shuffle = "no"\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"', "shuffle must be a bool, got 'no'"),
            ('rounds = "many"\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"', "rounds must be a whole number"),
            ('seeds = 1.5\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"', "seeds must be a whole number"),
            ('label = 3\ndata = ["iris"]\n[[learners]]\nclass = "LinUCB"', "label must be a str"),
            ('data = "iris"\n[[learners]]\nclass = "LinUCB"', "data is no list"),
            ('data = [3]\n[[learners]]\nclass = "LinUCB"', "data must be a list of words, got 3"),
            ('data = ["iris"]\nlearners = [1]', "a learner must be a name or a table with a class, got 1"),
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


@pytest.mark.parametrize("given", [{"data": "iris"}, {"learners": "LinUCB"}, {"learners": [mb.LinUCB]}, {"data": [1]}])
def test_lists_of_names_are_asked_for(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(given))} must be a list of names"):
        Plan.of(**{"data": ["iris"], "learners": ["LinUCB"], **given})


def test_a_plan_file_may_name_its_learners(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('data = ["iris"]\nlearners = ["LinUCB", "LinTS(scale=0.3)"]')
    assert [one.label for one in Plan.from_toml(tmp_path / "plan.toml").learners] == ["LinUCB", "LinTS(scale=0.3)"]


def test_parts_are_words_in_a_plan_file_as_they_are_on_the_command_line(tmp_path: Path) -> None:
    table = 'data = ["iris"]\n[[learners]]\nclass = "HingeLMC"\nscores = {}\n'
    ways = ('"Networks(width=8)"', '{ class = "Networks", width = 8 }')
    for way in ways:
        (tmp_path / "plan.toml").write_text(table.format(way))
        assert Plan.from_toml(tmp_path / "plan.toml").learners[0].label == "HingeLMC(scores=Networks(width=8))"
    (tmp_path / "plan.toml").write_text(table.format('"Networks"'))
    assert Plan.from_toml(tmp_path / "plan.toml").learners[0].label == "HingeLMC(scores=Networks)"
