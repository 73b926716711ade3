"""Improper logistic prediction, against what its aggregation may pay, and broken."""

import math

import numpy as np
import pytest

import marginbandits as mb
from marginbandits import theory


def aggregated(rate: float = 1.0) -> tuple[float, float]:
    """Weighted log loss of the mixture over that of the best predictor, and ln N/μ; `rate` multiplies η."""
    rng = np.random.default_rng(3)
    agent = mb.ImproperLogistic.from_theory(n_features=2, n_actions=2, horizon=400, radius=8.0, epsilon=1.5, seed=0)
    W, mu = np.asarray(agent.predictors), agent.mu
    each, mixed = np.zeros(len(W)), 0.0
    for _ in range(400):
        x = rng.standard_normal(2)
        x /= np.linalg.norm(x)
        y = int(x[0] > 0)
        s = W @ x
        sigma = np.exp(s - s.max(1, keepdims=True))
        sigma /= sigma.sum(1, keepdims=True)
        q = np.exp(-rate * mu * (each - each.min()))
        q /= q.sum()
        law = agent.law(x)
        if rate == 1.0:
            assert np.allclose(law, (1 - 2 * mu) * (q @ sigma) + mu)
        action = int(rng.random() < law[1])
        if action == y:
            each += -np.log(sigma[:, y]) / law[y]
            mixed += -math.log(float(q @ sigma[:, y])) / law[y]
        agent.learn(x, mb.Decision(action, float(law[action])), loss=float(action != y))
    return mixed - float(each.min()), math.log(len(W)) / mu


def test_the_aggregation_pays_what_mixability_allows_and_no_less_careful_rate_would() -> None:
    regret, allowed = aggregated()
    assert 0.0 < regret <= allowed
    assert aggregated(rate=0.02)[0] > allowed, "the negative control hardly learns"


def test_bounds_of_the_logistic_learners() -> None:
    finite = theory.improper_logistic_finite(200, 3, 10_000)
    assert finite.value == pytest.approx(2 * math.sqrt(2 * 3 * 10_000 * math.log(200)))
    assert finite.holds
    assert theory.improper_logistic(4, 3, 10_000).value > finite.value
    assert not theory.improper_logistic_finite(200, 3, 10_000, mu=0.4).holds
    agent = mb.ImproperLogistic.from_theory(n_features=2, n_actions=3, horizon=10_000, epsilon=0.5, seed=0)
    assert agent.mu == theory.improper_logistic_finite(len(agent.predictors), 3, 10_000).parameters["mu"]
    with pytest.raises(ValueError, match="mu must be above 0"):
        mb.ImproperLogistic(3, estimate="importance", mu=0.0)
    with pytest.raises(ValueError, match="predictors must be N x 3 x d"):
        mb.ImproperLogistic(3, predictors=np.zeros((4, 2, 2)))


def test_particles_move_and_keep_their_mean_and_spread() -> None:
    agent = mb.ImproperLogistic(2, predictors=4000, features=mb.Identity(), seed=0)
    agent.learn([0.1, 0.2], agent.act([0.1, 0.2]), 0.0)
    table = agent.state()["table"]
    q = np.exp(-0.05 * table[:, 0, 0])
    q /= q.sum()
    mean = np.tensordot(q, table, 1)
    spread = np.tensordot(q, (table - mean) ** 2, 1)
    agent._redraw(q)
    moved = agent.state()["table"]
    assert np.allclose(moved.mean(0), mean, atol=5 * math.sqrt(spread.max() / 4000))
    assert np.allclose(moved.var(0), spread, rtol=0.15)
