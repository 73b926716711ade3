"""Contextual follow-the-perturbed-leader: the stability that its bound rests on, and estimates by resampling."""

import itertools
import math

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.theory import perturbed_leader_regret
from marginbandits.types import Array
from tests.doubles import arrays_of

K, CELLS, RATE = 3, 4, 0.4
SEPARATOR = 2  # the first cells tell all policies apart


def choices(rng: np.random.Generator) -> Array:
    """Policies that differ on the first two cells, and do anything on the others."""
    told = np.array(list(itertools.product(range(K), repeat=SEPARATOR)))
    return np.hstack([told, rng.integers(K, size=(len(told), CELLS - SEPARATOR))])


def moved(columns: Array, cost: Array, cell: int, charge: float, known: int, rng: np.random.Generator) -> Array:
    """For each action i: how often the leader plays it, and how often it no longer does once (cell, i) is charged."""
    n = 20_000
    noise = rng.laplace(0.0, 1.0 / RATE, (n, known, K))
    perturbed = cost + noise[:, np.arange(known)[:, None], columns[:, :known].T].sum(1)
    before, found = columns[perturbed.argmin(1), cell], []
    for i in range(K):
        after = columns[(perturbed + charge * (columns[:, cell] == i)).argmin(1), cell]
        found.append((float((before == i).mean()), float(((before == i) & (after != i)).mean())))
    return np.array(found)


@pytest.mark.parametrize(("known", "cells", "moves"), [(SEPARATOR, (2, 3), SEPARATOR), (CELLS, (0, 1, 2, 3), 1)])
def test_a_charge_moves_the_leader_as_little_as_the_proof_says(known: int, cells: tuple[int, ...], moves: int) -> None:
    """P(played i, then not) <= d (1 - e^{-εc}) P(played i); five standard errors, error rate 3e-7 a comparison.

    With half of that as the bound, some comparison fails: the negative control.
    """
    rng = np.random.default_rng(0)
    excess, halved = [], []
    for _ in range(6):
        columns, cost = choices(rng), rng.exponential(3.0, K**SEPARATOR)
        for cell, charge in itertools.product(cells, (0.5, 2.0)):
            for played, left in moved(columns, cost, cell, charge, known, rng):
                bound, slack = moves * -math.expm1(-RATE * charge) * played, 5 * math.sqrt(left / 20_000) + 1e-3
                excess.append(left - bound - slack)
                halved.append(left - 0.5 * bound - slack)
    assert max(excess) <= 0.0
    assert max(halved) > 0.0 or moves > 1  # over a separator the sum over its contexts is generous


def agent_of(**options: object) -> mb.ContextualFTPL:
    columns = choices(np.random.default_rng(1))
    weights = np.eye(K)[columns].transpose(0, 2, 1)
    given = {"contexts": np.eye(CELLS)[:SEPARATOR], "horizon": 5000, "seed": 0, **options}
    return mb.ContextualFTPL(K, regressors=weights, **given)  # type: ignore[arg-type]


def test_resampling_estimates_one_over_p() -> None:
    """E J = (1 - (1 - p)^M)/p, and E J² <= 2/p²; 2,000 draws, four standard errors, error rate 6e-5 an action."""
    agent = agent_of()
    for cell in (0, 1, 2, 3):
        agent.learn(np.eye(CELLS)[cell], mb.Decision(cell % K, 0.5), loss=0.9)
    tuned = agent.bound().parameters
    rng, x = np.random.default_rng(3), np.eye(CELLS)[3]
    columns = choices(np.random.default_rng(1))
    noise = rng.laplace(0.0, 1.0 / tuned["epsilon"], (200_000, SEPARATOR, K))
    perturbed = agent.state()["cost"] + noise[:, np.arange(SEPARATOR)[:, None], columns[:, :SEPARATOR].T].sum(1)
    played = np.bincount(columns[perturbed.argmin(1), 3], minlength=K) / 200_000
    assert agent.law(x).max() == 1.0
    for action in np.flatnonzero(played > 0.02):
        drawn = np.array([agent._resampled(columns[:, 3], int(action)) for _ in range(2000)])
        expected = (1 - (1 - played[action]) ** tuned["M"]) / played[action]
        assert abs(drawn.mean() - expected) < 4 * drawn.std() / math.sqrt(2000) + 0.02 * expected
        assert (drawn**2).mean() < 2.2 / played[action] ** 2


def test_resampling_ends() -> None:
    agent = agent_of(horizon=50)
    agent.learn(np.eye(CELLS)[0], mb.Decision(0, 1.0), loss=1.0)
    arrays_of(agent)["cost"][:] = 1e9 * (choices(np.random.default_rng(1))[:, 0] == 0)
    assert agent._resampled(choices(np.random.default_rng(1))[:, 0], 0) == agent.bound().parameters["M"] == 13


def test_contexts_to_come_are_told_and_kept_to() -> None:
    agent = agent_of(contexts=np.eye(CELLS)[[0, 1, 1]], transductive=True, horizon=3)
    agent.learn(np.eye(CELLS)[0], mb.Decision(0, 1.0), loss=1.0)
    with pytest.raises(ValueError, match="context must be one of the contexts to come"):
        agent.learn(np.eye(CELLS)[3], mb.Decision(0, 1.0), loss=1.0)
    with pytest.raises(ValueError, match="bound must wait"):
        agent_of().bound()


def test_bounds_grow_as_stated() -> None:
    """√T with a separator, T^{3/4} where all T contexts differ; the noise's share is about 2√(T ln N)."""
    few = [perturbed_leader_regret(9, 3, T, 4).value for T in (10**6, 10**8)]
    many = [perturbed_leader_regret(9, 3, T, T, transductive=True).value for T in (10**6, 10**8)]
    assert math.log(few[1] / few[0], 100) == pytest.approx(0.5, abs=0.005)
    assert math.log(many[1] / many[0], 100) == pytest.approx(0.75, abs=0.005)
    spread = perturbed_leader_regret(9, 3, 10**8, 10**8, transductive=True).parameters["G"]
    assert spread == pytest.approx(2 * math.sqrt(10**8 * math.log(9)), rel=0.01)
