"""OFUL: its radius is its theorem's, and holds the truth."""

import math

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.theory import oful_regret, useful_from
from marginbandits.types import Array


def played(agent: mb.OFUL, T: int, seed: int, truth: Array) -> list[bool]:
    """Whether the truth is within the ellipsoid, round by round."""
    rng, inside = np.random.default_rng(seed), []
    for _ in range(T):
        x = rng.standard_normal(2)
        x /= np.linalg.norm(x)
        decision = agent.act(x)
        agent.learn(x, decision, reward=float(rng.random() < 0.5 + truth[int(decision.action)] @ x))
        state = agent.state()
        inverse = np.array([factor.T @ factor for factor in state["ridge.factor"]])
        off = state["ridge.theta"] - np.hstack([truth, np.full((2, 1), 0.5)])
        inside.append(sum(o @ np.linalg.inv(A) @ o for o, A in zip(off, inverse, strict=True)) <= agent.radius**2)
    return inside


TRUTH = np.array([[0.3, 0.2], [-0.1, 0.4]])
BIASED = mb.Bias()


def test_the_truth_is_within_the_radius_in_all_rounds() -> None:
    """δ = 0.1: of 40 runs at most nine may lose it (error rate 0.006); of a tenth of the radius nearly all do."""
    lost = [not all(played(mb.OFUL(2, delta=0.1, features=BIASED, seed=s), 120, s, TRUTH)) for s in range(40)]
    assert sum(lost) <= 9
    narrow = [mb.OFUL(2, delta=1.0, noise=0.05, norm=0.1, features=BIASED, seed=s) for s in range(10)]
    assert sum(not all(played(agent, 120, s, TRUTH)) for s, agent in enumerate(narrow)) >= 9


def test_the_radius_is_that_of_the_determinant() -> None:
    agent = mb.OFUL(3, delta=0.01, noise=0.7, norm=2.0, regularisation=1.5, features=mb.Identity(), seed=0)
    assert agent.radius == pytest.approx(0.7 * math.sqrt(2 * math.log(100)) + math.sqrt(1.5) * 2)
    draws = np.random.default_rng(0)
    A = np.array([1.5 * np.eye(2)] * 3)
    for _ in range(30):
        x, action = draws.standard_normal(2), int(draws.integers(3))
        A[action] += np.outer(x, x)
        agent.learn(x, mb.Decision(action, 1.0), loss=0.5)
    volume = np.linalg.slogdet(A)[1].sum() - 6 * math.log(1.5)
    assert agent.radius == pytest.approx(0.7 * math.sqrt(volume + 2 * math.log(100)) + math.sqrt(1.5) * 2)


def test_play_is_optimistic_by_the_radius() -> None:
    agent = mb.OFUL(2, features=mb.Identity(), seed=0)
    alike = mb.LinUCB(2, alpha=1.0, regularisation=1.0, features=mb.Identity(), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        x = rng.standard_normal(2)
        alike.alpha = agent.radius
        assert np.array_equal(agent.law(x), alike.law(x))
        decision, loss = agent.act(x), float(rng.random())
        agent.learn(x, decision, loss)
        alike.learn(x, decision, loss)


def test_a_window_may_be_kept() -> None:
    agent = mb.OFUL(2, window=20, features=mb.Identity(), seed=0)
    for _ in range(60):
        agent.learn([1.0], mb.Decision(0, 1.0), loss=0.5)
    assert 1.0 < agent.radius < 5.0


def test_bounds() -> None:
    """Theorem 3 by hand, K = 2 actions with weights of their own for d = 2 columns; and where it begins to bite."""
    confidence = math.sqrt(2.0) * 1.3 + 0.5 * math.sqrt(2 * math.log(20) + 4 * math.log1p(9000 / (2.0 * 4)))
    by_hand = 4 * math.sqrt(9000 * 4 * math.log(2.0 + 9000 / 4)) * confidence
    assert oful_regret(2 * 2, 9000, norm=1.3, regularisation=2.0).value == pytest.approx(by_hand)
    assert useful_from(lambda T: oful_regret(4, T, norm=1.386), per_round=0.48) == pytest.approx(59_400, rel=0.01)
    values = [oful_regret(4, T).value for T in (10**6, 10**10)]
    assert 0.5 < math.log(values[1] / values[0], 10**4) < 0.6
    assert oful_regret(4, 20_000).per_round < 0.75
    assert oful_regret(4, 20_000).holds
    assert not oful_regret(4, 20_000, regularisation=0.1).holds
