"""Diagnostics of logs: sound ones pass as often as is said, bad ones are found."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import marginbandits as mb
from marginbandits.evaluation.off_policy import Watch
from marginbandits.evaluation.off_policy.diagnostics import RATE, Finding, chance
from marginbandits.types import Array

Places = npt.NDArray[np.int64]


def logged(rng: np.random.Generator, n: int = 1000, K: int = 4) -> tuple[Array, Places, Array]:
    laws = 0.7 * rng.dirichlet(np.ones(K), n) + 0.3 / K
    actions = (laws.cumsum(1) < rng.random((n, 1))).sum(1).clip(0, K - 1)
    return laws, actions, rng.dirichlet(np.ones(K), n)


def failed(laws: Array, actions: Places, target: Array, told: Array | None = None, *, whole: bool = False) -> set[str]:
    told = laws if told is None else told
    at = np.arange(len(actions)), actions
    watch = Watch(laws.shape[1])
    for part in np.array_split(np.arange(len(actions)), 3):
        watch.add(actions[part], told[at][part], target=target[part], laws=told[part] if whole else None)
    found = watch.findings(target[at] / told[at], np.asarray(np.arange(len(actions)) % 2, float))
    return {one.name for one in found if not one.good}


@pytest.mark.parametrize("whole", [False, True])
def test_sound_logs_pass_as_often_as_is_said(whole: bool) -> None:
    """Three tests at 1% each over 400 logs: more than 26 failures have a chance below 0.1%."""
    rng = np.random.default_rng(0)
    assert sum(len(failed(*logged(rng), whole=whole)) for _ in range(400)) <= 26


def test_propensities_that_are_not_those_of_the_log_are_found() -> None:
    rng = np.random.default_rng(0)
    laws, actions, target = logged(rng, 4000)
    assert failed(laws, actions, target) == set()
    half = laws / 2.0
    assert {"mean weight", "propensities"} <= failed(laws, actions, target, half)
    assert {"propensities"} <= failed(laws, actions, target, np.minimum(1.5 * laws, 1.0))
    permuted = laws[:, [1, 0, 2, 3]]
    assert "frequencies" in failed(laws, actions, target, permuted)
    swapped = np.tile([0.3, 0.4, 0.2, 0.1], (4000, 1))  # the same sizes, of other actions
    drawn = rng.choice(4, 4000, p=[0.4, 0.3, 0.2, 0.1])
    assert "frequencies" in failed(swapped, drawn, target, whole=True)
    tilted = laws**1.5 / (laws**1.5).sum(1, keepdims=True)
    assert "frequencies" in failed(laws, actions, target, tilted, whole=True)


def test_a_policy_beyond_the_log_is_told() -> None:
    rng = np.random.default_rng(0)
    laws = np.tile([0.5, 0.5, 0.0], (1000, 1))
    actions, target = rng.integers(0, 2, 1000), np.tile([0.2, 0.2, 0.6], (1000, 1))
    for whole in (False, True):
        assert {"overlap", "actions never taken", "mean weight"} <= failed(laws, actions, target, whole=whole)
    watch = Watch(3, ("a", "b", "c"))
    watch.add(actions, np.full(1000, 0.5), target=target)
    told = {one.name: str(one) for one in watch.findings(np.full(1000, 0.4), np.ones(1000))}
    assert told["actions never taken"].startswith("actions never taken: c. Nothing is known")
    assert told["overlap"].startswith("overlap: 60% of the policy is on actions the log never took")
    assert "need about 20" in told["rarer outcome"]


def test_chances_are_uniform_for_skewed_numbers() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2000):
        x = rng.exponential(1.0, 100) - 1.0
        found.append(chance(float(x.mean()), float((x**2).mean()), float((x**3).mean()), 100))
    assert np.mean(np.array(found) < RATE) <= 0.022
    assert 0.4 < np.mean(found) < 0.6
    assert chance(0.0, 0.0, 0.0, 10) == 1.0
    assert chance(1.0, 1.0, 1.0, 10) == 0.0
    assert chance(1e-4, 1e-8, 1e-12, 10, 1e-3) == 1.0


def test_probabilities_in_few_digits_are_no_contradiction() -> None:
    laws, actions = np.full((999, 3), 1 / 3), np.arange(999) % 3
    target = np.tile([1.0, 0.0, 0.0], (999, 1))
    for told in (np.full((999, 3), 0.3333), laws.astype(np.float32).astype(float)):
        assert failed(laws, actions, target, told) == set()
    assert failed(laws, actions, target, np.full((999, 3), 0.33)) >= {"propensities"}


@pytest.mark.parametrize("whole", [True, False], ids=["laws", "no laws"])
def test_files_of_different_offers_are_joined(whole: bool) -> None:
    """Two rounds' worth of places here, four there: the same findings as if added one after another."""
    rng = np.random.default_rng(0)
    one, other, both = (Watch(0, offers=True) for _ in range(3))
    weights = []
    for watch, K in ((one, 2), (other, 4)):
        laws = rng.dirichlet(np.ones(K), 300)
        actions = (laws.cumsum(1) < rng.random((300, 1))).sum(1).clip(0, K - 1)
        p, there = laws[np.arange(300), actions], np.ones((300, K), bool)
        for each in (watch, both):
            each.add(actions, p, target=np.full((300, K), 1 / K), available=there, laws=laws if whole else None)
        weights.append(1 / K / p)
    w, y = np.concatenate(weights), np.tile([0.0, 1.0], 300)
    one.join(other)
    assert [str(found) for found in one.findings(w, y)] == [str(found) for found in both.findings(w, y)]


class TestBalance:
    """Sound logs pass (rate below 1%: none of 60 here), and those whose propensities leave out a context do not."""

    @staticmethod
    def _finding(seed: int, lie: float, words: bool) -> Finding:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((1500, 3))
        true = np.column_stack([p := 0.9 / (1.0 + np.exp(-lie * X[:, 1])) + 0.05, 1.0 - p])
        actions = (rng.random(1500) > true[:, 0]).astype(int)
        said = true if lie == 0.0 else np.full((1500, 2), 0.5)
        contexts: Any = X
        if words:
            contexts = [{"age": one[0], "land": "DE" if one[1] > 0 else "FR"} for one in X]
        log = mb.Rounds(contexts, actions, np.zeros(1500), said[np.arange(1500), actions], labels=("a", "b"))
        found = mb.evaluate("a", log, method="snips").findings
        return next(one for one in found if one.name == "balance")

    @pytest.mark.parametrize("words", [False, True])
    def test_sound_logs_pass(self, words: bool) -> None:
        assert all(self._finding(seed, 0.0, words).good for seed in range(30))

    @pytest.mark.parametrize(("words", "name"), [(False, "'column 1'"), (True, "'land=")])
    def test_lies_are_found(self, words: bool, name: str) -> None:
        for seed in range(5):
            found = self._finding(seed, 1.0, words)
            assert not found.good
            assert found.text.startswith(name)

    def test_gaps_say_nothing(self) -> None:
        contexts = [{"age": float("nan") if i % 7 == 0 else float(i)} for i in range(400)]
        log = mb.Rounds(contexts, np.arange(400) % 2, np.zeros(400), np.full(400, 0.5), labels=("a", "b"))
        assert mb.evaluate("a", log, method="snips").findings[-1].text.startswith("contexts are alike")

    def test_what_came_after_the_action_is_found(self) -> None:
        rng = np.random.default_rng(0)
        actions = rng.integers(0, 2, 3000)
        visit = (rng.random(3000) < np.where(actions == 1, 0.3, 0.2)).astype(float)
        log = mb.Logged(visit[:, None], actions, 1.0 - visit, np.full(3000, 0.5), n_actions=2, seed=0)
        assert any(one.startswith("balance: 'column 0' differs") for one in mb.evaluate(1, log).warnings)
