"""Perturbed leaders of a class that is known by its oracle alone: half-planes, of which nobody is told a list."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import marginbandits as mb
from marginbandits.learners.comparators.bistro import OracleBISTRO
from marginbandits.learners.comparators.perturbed_leader import OracleFTPL
from marginbandits.oracles.leader import LinearLeader
from marginbandits.saving import Part
from marginbandits.types import Array, Leader, Oracle

Blocks = npt.NDArray[np.int64]
Build = Callable[[int, int, Oracle], mb.Learner]


class HalfPlanes(Part):
    """Action 1 where <w, x> > 0, else 0: the best w exactly, one from between any two at which a row changes sides."""

    def __init__(self, sign: float = 1.0) -> None:
        self.sign = sign

    def fit(self, rows: Array, blocks: Blocks, losses: Array, weights: Array, start: Array) -> LinearLeader:
        turns = np.arctan2(rows[:, 1], rows[:, 0])[:, None] + [0.5 * np.pi, 1.5 * np.pi]
        turns = np.unique(np.round(turns % (2 * np.pi), 12))
        between = 0.5 * (turns + np.append(turns[1:], turns[0] + 2 * np.pi))
        w = np.column_stack([np.cos(between), np.sin(between)])
        costs = (losses * weights) @ ((rows @ w.T > 0) == blocks[:, None])
        best = w[(self.sign * costs).argmin()]
        return LinearLeader(np.array([-best, best]))


def directions(n: int) -> Array:
    """Contexts of which no two are opposite: 2n policies differ on them."""
    angles = 0.3 + 2.0 * np.pi * np.arange(n) / (2 * n - 1)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def policies(X: Array) -> Array:
    """What half-planes play on them, each once."""
    angles = np.linspace(0, 2 * np.pi, 5000)
    return np.unique(X @ np.vstack([np.cos(angles), np.sin(angles)]) > 0, axis=1).T.astype(int)


def leader(n: int, T: int, oracle: Oracle, seed: int = 0) -> OracleFTPL:
    return mb.ContextualFTPL.of_oracle(2, oracle, contexts=directions(n), size=2 * n, horizon=T, seed=seed)


def bistro(n: int, T: int, oracle: Oracle, seed: int = 0) -> OracleBISTRO:
    return mb.BISTROPlus.of_oracle(2, oracle, contexts=directions(n), size=2 * n, horizon=T, seed=seed)


def regret(agent: mb.Learner, n: int, T: int, seed: int) -> tuple[float, float]:
    """The learner's, and that of uniform play, where one half-plane is right but for one round in fifty."""
    rng, X = np.random.default_rng([seed, T]), directions(n)
    at = rng.integers(n, size=T)
    right = policies(X)[1][at] ^ (rng.random(T) < 0.02)
    losses = (right[:, None] != np.arange(2)).astype(float)
    laws = mb.simulate(agent, mb.Oblivious.of(X[at], losses)).laws
    best = losses[np.arange(T), policies(X)[:, at]].sum(1).min()
    return float((laws * losses).sum() - best), 0.5 * T - float(best)


@pytest.mark.parametrize(("build", "n", "T"), [(leader, 3, 2000), (bistro, 2, 4000)])
def test_regret_is_under_the_bound_and_that_of_another_oracle_is_not(build: Any, n: int, T: int) -> None:
    assert len(policies(directions(n))) == 2 * n
    agent = build(n, T, HalfPlanes())
    bound = agent.bound()
    found, uniform = regret(agent, n, T, 0)
    assert bound.holds
    assert found < bound.value < uniform
    assert regret(build(n, T, HalfPlanes(-1.0)), n, T, 0)[0] > bound.value


@pytest.mark.parametrize("build", [leader, bistro])
def test_its_leader_is_the_best_of_a_list(build: Any) -> None:
    """Of what was charged, on contexts given and met, and of any noise on those given."""
    agent, rng, X = build(4, 300, HalfPlanes()), np.random.default_rng(1), np.concatenate([directions(4), -np.eye(2)])
    for at in rng.integers(6, size=120):
        decision = agent.act(X[at])
        agent.learn(X[at], decision, loss=float(rng.random()))
    costs = agent.state()["costs"][:6]
    assert costs[:4].any()
    met = np.concatenate([np.unique(directions(4), axis=0), agent.state()["met"][:2]])
    rows = np.arange(6)
    for _ in range(50):
        noise = rng.laplace(0.0, 50.0, (4, 2))
        perturbed = costs + np.concatenate([noise, np.zeros((2, 2))])
        found = agent._led(noise)
        plays = np.array([agent._choice(found, x) for x in met])
        assert perturbed[rows, plays].sum() == pytest.approx(perturbed[rows, policies(met)].sum(1).min())


def test_resampling_counts_draws_until_the_leader_plays_the_action() -> None:
    """1/p on average over 3,000 draws, p by 20,000 leaders of the list; five standard errors, error rate 6e-7."""
    agent, x, rng = leader(2, 50, HalfPlanes()), directions(2)[0], np.random.default_rng(3)
    for at in (0, 1, 0):
        agent.learn(directions(2)[at], mb.Decision(0, 0.5), loss=0.4)
    X, most = np.unique(directions(2), axis=0), agent.bound().parameters["M"]
    listed, place = policies(X), int(np.flatnonzero((x == X).all(1))[0])
    noise = rng.laplace(0.0, 1.0 / agent.bound().parameters["epsilon"], (20_000, 2, 2))
    perturbed = (agent.state()["costs"][:2] + noise)[:, np.arange(2), listed].sum(2)
    p = float((listed[perturbed.argmin(1), place] == 1).mean())
    drawn = np.array([agent._charge(x, 1, 1.0, 1.0) for _ in range(3000)])
    assert abs(drawn.mean() - (1 - (1 - p) ** most) / p) < 5 * drawn.std() / np.sqrt(3000) + 0.03 / p
    assert drawn.max() <= most


def test_bistro_is_perturbed_by_the_rounds_after_the_next() -> None:
    """Variance 4LK for each round to come, shared by contexts; four standard errors of 4,000 draws."""
    agent = bistro(3, 200, HalfPlanes())
    agent.learn(directions(3)[0], mb.Decision(0, 0.5), loss=0.0)
    drawn = np.array([agent._perturbation(np.random.default_rng(s)) for s in range(4000)])
    scale = agent.bound().parameters["L"]
    assert np.allclose(drawn.sum(1).var(0), 198 * 4.0 * scale * 2, rtol=4 * np.sqrt(2 / 4000) * 1.5)
    for _ in range(198):
        agent.learn(directions(3)[0], mb.Decision(0, 0.5), loss=0.0)
    assert not agent._perturbation(np.random.default_rng(0)).any()


def test_what_it_cannot_play_is_refused() -> None:
    agent = leader(2, 9, HalfPlanes())
    with pytest.raises(ValueError, match="context must be like the contexts given"):
        agent.learn([1.0, 0.0, 0.0], mb.Decision(0, 0.5), loss=1.0)
    x = directions(2)[0]
    agent.learn(x, mb.Decision(0, 0.5), loss=1.0)
    with pytest.raises(ValueError, match="available must be all actions"):
        agent.act(x, available=[True, False])
    with pytest.raises(ValueError, match="oracle must be"):
        mb.ContextualFTPL.of_oracle(2, "erm", contexts=directions(2), size=4)  # type: ignore[arg-type]


class Failing(HalfPlanes):
    """Has no answer to the third question."""

    asked = 0

    def fit(self, rows: Array, blocks: Blocks, losses: Array, weights: Array, start: Array) -> LinearLeader:
        self.asked += 1
        if self.asked == 3:
            raise RuntimeError("no licence")
        return super().fit(rows, blocks, losses, weights, start)


@pytest.mark.parametrize("build", [leader, bistro])
def test_an_oracle_that_fails_leaves_the_learner_as_it_was(build: Any) -> None:
    agent, same, X = build(3, 40, Failing()), build(3, 40, HalfPlanes()), np.concatenate([directions(3), np.eye(2)])
    failed = 0
    for t in itertools.cycle(range(20)):
        try:
            agent.learn(X[t % 5], mb.Decision(0, 0.5), loss=0.7)
        except RuntimeError:
            failed += 1
            agent.learn(X[t % 5], mb.Decision(0, 0.5), loss=0.7)
        same.learn(X[t % 5], mb.Decision(0, 0.5), loss=0.7)
        if t == 19:
            break
    assert failed == 1
    for name, array in same.state().items():
        np.testing.assert_array_equal(agent.state()[name], array)


@pytest.mark.parametrize("build", [leader, bistro])
def test_it_is_saved_if_its_leaders_are_arrays(build: Any, tmp_path: Path) -> None:
    agent, X = build(3, 60, HalfPlanes()), directions(3)
    for t in range(30):
        agent.learn(X[t % 3], agent.act(X[t % 3]), loss=0.3)
    agent.save(tmp_path / "agent.npz")
    again = mb.Learner.load(tmp_path / "agent.npz")
    assert isinstance(again, type(agent))
    for t in range(30):
        for one in (agent, again):
            one.learn(X[t % 3], one.act(X[t % 3]), loss=0.3)
        np.testing.assert_array_equal(agent.state()["costs"], again.state()["costs"])


class Tree:
    """A leader that is no array."""

    def scores(self, rows: Array) -> Array:
        return np.column_stack([rows[:, 0], rows[:, 1] ** 2])


class Trees:
    def fit(self, rows: Array, blocks: Blocks, losses: Array, weights: Array, start: Array) -> Leader:
        assert (losses == 1.0).all()
        assert (weights > 0.0).all()
        return Tree()


def test_any_leader_is_played_and_some_cannot_be_saved() -> None:
    agent = bistro(3, 60, Trees())
    agent.learn(directions(3)[0], mb.Decision(0, 0.5), loss=1.0)
    assert agent.law(np.array([-1.0, 0.5])).argmax() == 1
    with pytest.raises(ValueError, match="cannot save"):
        agent.dumps()
