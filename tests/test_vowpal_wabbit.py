"""The peer's wrapper, against a stand-in for its package: what is said to it, and what is made of its answers."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.experiments.arguments import learner_spec
from marginbandits.experiments.specs import nameable_learners
from marginbandits.learners.vowpal_wabbit import INDIFFERENT, VowpalWabbit


class Workspace:
    """Remembers what it is told; likes its first action best."""

    def __init__(self, options: str) -> None:
        self.options = options
        self.learnt: list[list[str]] = []
        self.asked: list[list[str]] = []

    def predict(self, lines: list[str]) -> list[float]:
        self.asked.append(lines)
        return [0.6] + [0.4 / max(len(lines) - 1, 1)] * (len(lines) - 1)

    def learn(self, lines: list[str]) -> None:
        self.learnt.append(lines)


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vowpalwabbit", SimpleNamespace(Workspace=Workspace, __spec__=SimpleNamespace()))


def test_features_are_numbered_through_action_by_action() -> None:
    agent = VowpalWabbit(3, explore="cover", learning_rate=3.0, features=mb.Identity(), seed=0)
    agent.learn([1.5, 0.0, -2.0], mb.Decision(1, 0.25), loss=0.75)
    assert agent._vw.learnt == [["| 0:1.5 2:-2", "0:0.75:0.25 | 3:1.5 5:-2", "| 6:1.5 8:-2"]]
    assert "--cover" in agent._vw.options
    assert "--learning_rate 3.0" in agent._vw.options


def test_action_features_are_shared() -> None:
    agent = VowpalWabbit(2, explore="bag", features=mb.Identity(), seed=0)
    agent.learn(np.eye(2), mb.Decision(0, 0.5), loss=1.0)
    assert agent._vw.learnt == [["0:1:0.5 | 0:1", "| 1:1"]]


@pytest.mark.parametrize("explore", INDIFFERENT)
def test_explorers_without_importance_weights_are_told_certainty(explore: str) -> None:
    agent = VowpalWabbit(2, explore=explore, features=mb.Identity(), seed=0)
    agent.learn([3.0], mb.Decision(1, 0.125), loss=1.0)
    assert agent._vw.learnt == [["| 0:3", "0:1:1 | 1:3"]]


def test_its_probabilities_are_played_on_the_available_actions() -> None:
    agent = VowpalWabbit(3, features=mb.Identity(), seed=0)
    agent.learn([1.0], mb.Decision(0, 0.5), loss=1.0)
    assert np.allclose(np.asarray(agent.act([1.0]).distribution), [0.6, 0.2, 0.2])
    assert np.allclose(np.asarray(agent.act([1.0], available=[False, True, True]).distribution), [0, 0.6, 0.4])
    assert agent._vw.asked[-1] == ["| 1:1", "| 2:1"]


def test_saving_is_refused_rather_than_lossy(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be saved"):
        VowpalWabbit(2, seed=0).save(tmp_path / "agent.npz")
    assert list(tmp_path.iterdir()) == []


def test_it_joins_a_plan_where_it_is_installed() -> None:
    assert "VowpalWabbit" in nameable_learners()
    assert learner_spec("VowpalWabbit(explore=bag)").build(2, 0).parameters()["explore"] == "bag"
    with pytest.raises(ValueError, match="explore must be one of"):
        learner_spec("VowpalWabbit(explore=dig)").build(2, 0)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    with pytest.raises(ImportError, match=r"marginbandits\[bench\]"):
        VowpalWabbit(2)
