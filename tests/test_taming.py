"""ILOVETOCONBANDITS: both constraints of its problem hold after every epoch, for any data."""

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.theory import taming_floor, taming_regret
from marginbandits.types import Array

K, CELLS, N = 3, 6, 20


def columns(seed: int) -> Array:
    return np.asarray(np.random.default_rng(seed).integers(K, size=(N, CELLS)))


def agent_of(seed: int, psi: float) -> mb.ILOVETOCONBANDITS:
    weights = np.eye(K)[columns(seed)].transpose(0, 2, 1)
    return mb.ILOVETOCONBANDITS(K, regressors=weights, psi=psi, seed=seed)


@pytest.mark.parametrize("psi", [100.0, 1.0, 0.05])
def test_constraints_hold_after_every_epoch(psi: float) -> None:
    """By the learner's own account, and by one worked out here from the history alone."""
    agent, rng = agent_of(0, psi), np.random.default_rng(1)
    cells, estimates, epochs = [], np.zeros(N), 0
    for t, cell in enumerate(rng.integers(CELLS, size=4096), 1):
        x = np.eye(CELLS)[cell]
        decision = agent.act(x)
        reward = float(rng.random() < (0.9 if decision.action == columns(0)[3, cell] else 0.2))
        agent.learn(x, decision, reward=reward)
        cells.append(cell)
        estimates[columns(0)[:, cell] == decision.action] += reward / decision.probability
        if t & (t - 1) == 0:
            epochs += 1
            assert agent.epoch == epochs
            regret, variance = agent.constraints()
            assert regret <= 1e-9
            assert variance <= 1e-9
            mu, q = taming_floor(N, K, t), agent.allocation
            bad = (estimates.max() - estimates) / t / (psi * mu)
            assert q @ bad <= 2 * K + 1e-9
            assert q.sum() <= 1 + 1e-9
            assert (q >= 0).all()
            shares = np.array([[q[columns(0)[:, c] == a].sum() for a in range(K)] for c in range(CELLS)])
            inverse = 1 / ((1 - K * mu) * shares + mu)
            seen = np.bincount(cells, minlength=CELLS) / t
            assert (sum(seen[c] * inverse[c, columns(0)[:, c]] for c in range(CELLS)) <= 2 * K + bad + 1e-9).all()
    assert epochs == 13


def test_less_than_the_solution_misses_the_constraints() -> None:
    """Negative control: half of Q has too much variance, and more of a bad policy too much regret."""
    agent, rng = agent_of(0, 0.05), np.random.default_rng(1)
    for cell in rng.integers(CELLS, size=1024):
        x = np.eye(CELLS)[cell]
        decision = agent.act(x)
        agent.learn(x, decision, loss=float(decision.action != columns(0)[3, cell]))
    q = agent.state()["q"]
    solved = q.copy()
    q[:] = 0.2 * solved
    assert agent.constraints()[1] > 0.5
    q[:] = np.eye(N)[agent.state()["rewards"].argmin()]
    assert agent.constraints()[0] > 0.5


def test_laws_are_the_allocation_smoothed_with_the_rest_on_the_leader() -> None:
    agent, rng = agent_of(2, 1.0), np.random.default_rng(1)
    for cell in rng.integers(CELLS, size=64):
        x = np.eye(CELLS)[cell]
        decision = agent.act(x)
        agent.learn(x, decision, loss=float(decision.action != columns(2)[3, cell]))
    whole = agent.allocation
    whole[agent.state()["rewards"].argmax()] += 1 - whole.sum()
    for cell in range(CELLS):
        law = np.bincount(columns(2)[:, cell], whole, K)
        assert np.allclose(agent.law(np.eye(CELLS)[cell]), (1 - K * agent.mu) * law + agent.mu)


def test_the_promise_begins_in_the_millions() -> None:
    assert not taming_regret(8, 2, 10**6).holds
    found = next(T for T in (10**k for k in range(3, 12)) if taming_regret(8, 2, T).holds)
    assert found == 10**7
    assert taming_regret(8, 2, 10**6, psi=1.0).holds
