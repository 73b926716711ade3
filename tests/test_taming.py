"""ILOVETOCONBANDITS: both constraints of its problem hold after every epoch, for any data."""

import math

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.theory import taming_floor, taming_regret
from marginbandits.types import Array
from tests.doubles import arrays_of

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
    q = arrays_of(agent)["q"]
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


def test_a_whole_epoch_leaves_what_its_rounds_would() -> None:
    """The same counts, round by round: 100 rounds of the epoch that 28 have begun, and of the one after it."""
    whole, told, rng = agent_of(1, 1.0), agent_of(1, 1.0), np.random.default_rng(0)
    for agent in (whole, told):
        for t in range(28):
            agent.learn(np.eye(CELLS)[t % CELLS], mb.Decision(t % K, 0.5), reward=float(t % 5 < 2))
    rewarded = rng.random((CELLS, K))
    laws = told.laws(np.eye(CELLS))
    played = whole.play_epochs(np.eye(CELLS), rewarded, 100, np.random.default_rng(4))
    draws, expected = np.random.default_rng(4), np.zeros((CELLS, K))
    for n in (4, 32, 64):
        laws = np.asarray(told.laws(np.eye(CELLS)))
        for cell, seen in enumerate(draws.multinomial(n, np.full(CELLS, 1 / CELLS))):
            expected[cell] += seen * laws[cell]
            plays = draws.multinomial(seen, laws[cell])
            for a, wins in enumerate([draws.binomial(k, p) for k, p in zip(plays, rewarded[cell], strict=True)]):
                for i in range(plays[a]):
                    told.learn(np.eye(CELLS)[cell], mb.Decision(a, laws[cell, a]), reward=float(i < wins))
    assert whole.epoch == told.epoch == 8
    np.testing.assert_allclose(played, expected)
    np.testing.assert_allclose(whole.state()["rewards"], told.state()["rewards"])
    np.testing.assert_array_equal(whole.state()["pool.counts"], told.state()["pool.counts"])
    np.testing.assert_allclose(whole.laws(np.eye(CELLS)), told.laws(np.eye(CELLS)), atol=1e-9)
    assert max(whole.constraints()) <= 1e-9


def test_epochs_are_played_as_rounds_are() -> None:
    """How often a wrong action is played in 896 rounds, 24 runs each; five standard errors, error rate 6e-7."""
    found: list[list[float]] = [[], []]
    weights, chances = np.eye(2)[[[0, 0], [0, 1], [1, 0], [1, 1]]].transpose(0, 2, 1), 0.4 + 0.2 * np.eye(2)
    for seed in range(24):
        for at_once in (0, 1):
            agent = mb.ILOVETOCONBANDITS(2, regressors=weights, psi=0.3, seed=seed)
            rng = np.random.default_rng([seed, at_once])
            wrong = 0.0
            for t, cell in enumerate(rng.integers(2, size=128 if at_once else 1024)):
                decision = agent.act(np.eye(2)[cell])
                wrong += (t >= 128) * float(np.asarray(decision.distribution)[1 - cell])
                agent.learn(np.eye(2)[cell], decision, reward=float(rng.random() < chances[cell, decision.action]))
            if at_once:
                wrong = float(np.fliplr(agent.play_epochs(np.eye(2), chances, 896, rng)).trace())
            found[at_once].append(wrong)
    first, second = np.array(found)
    assert abs(first.mean() - second.mean()) < 5 * math.sqrt((first.var() + second.var()) / 24)
    assert first.std() > 5.0
    with pytest.raises(ValueError, match="must wait for the first round"):
        agent_of(0, 1.0).play_epochs(np.eye(CELLS), np.ones((CELLS, K)), 9, rng)


def test_the_promise_begins_in_the_billions() -> None:
    """Lemma 17 by hand at T = 2^32, its vacuity, and the T at which it is half of what can be lost at random."""

    def d(t: int) -> float:
        return math.log(16 * t**2 * 8 / 0.05)

    C0 = 400 + 4 * math.sqrt(2) * 95.1
    bound, early = taming_regret(8, 2, 2**32), next(2**m for m in range(60) if d(2**m) / 2**m <= 1 / 8)
    assert early == 256
    by_hand = C0 * (8 * d(128) + math.sqrt(16 * d(2**32) * 2**32)) + math.sqrt(8 * 2**32 * math.log(40))
    assert bound.value == pytest.approx(by_hand)
    assert bound.holds
    assert not taming_regret(8, 2, 2**32, psi=1.0).holds
    assert taming_regret(8, 2, 2**32 + 1).terms["variance"] > 1.4 * bound.terms["variance"]  # the epoch's end counts
    assert [taming_regret(8, 2, 2**k).value < 0.5 * 2**k for k in (31, 32)] == [False, True]
