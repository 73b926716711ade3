"""Epoch-Greedy: when it explores, what it learns from, and the oracle it may ask."""

import math

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.checks import check_learner
from marginbandits.oracles.hinge_erm import HingeERM
from tests.problems import law

BARE = mb.Identity()


def test_epoch_greedy_explores_once_and_exploits_ever_longer() -> None:
    agent = mb.EpochGreedy(2, features=BARE, seed=0)
    x, explored = np.array([1.0]), []
    for t in range(200):
        decision = agent.act(x)
        if decision.probability < 1:
            explored.append(t)
        agent.learn(x, decision, float(decision.action))
    gaps = np.diff(explored)
    expected = [1 + math.ceil(math.sqrt(m)) for m in range(1, len(gaps) + 1)]
    assert gaps[5:].tolist() == expected[5:]  # the first few rounds may tie, and a tie is no certainty
    theta = agent.state()["explored.theta"]
    assert theta[0, 0] > 0.9  # reward of action 0
    before = theta.copy()
    agent.learn(x, mb.Decision(0, 1.0), 1.0)
    assert np.array_equal(before, theta)  # exploited rounds teach nothing


@pytest.mark.parametrize("shape", [(2,), (3, 2)], ids=["vectors", "matrices"])
def test_epoch_greedy_plays_the_oracles_leader_of_the_explored_rounds(shape: tuple[int, ...]) -> None:
    agent = mb.EpochGreedy(3, oracle=HingeERM(0.3), growth=2.0, features=BARE, seed=0)
    rng = np.random.default_rng(0)
    rows, blocks, losses, weights, leaders = [], [], [], [], [np.zeros((3 if len(shape) == 1 else 1, 2))]
    for t in range(300):
        x, action, loss = rng.standard_normal(shape), int(rng.integers(3)), float(rng.random())
        probability = 1.0 if t % 3 else float(rng.uniform(0.2, 0.9))
        agent.learn(x, mb.Decision(action, probability), loss)
        if probability < 1.0:
            rows.append(x if len(shape) == 1 else x[action] - x.mean(0))
            blocks.append(action if len(shape) == 1 else 0)
            losses.append(loss)
            weights.append(1.0 / probability)
            if len(rows) in (1, 2, 4, 8, 16, 32, 64):
                found = HingeERM(0.3).fit(
                    np.array(rows), np.array(blocks), np.array(losses), np.array(weights), leaders[-1]
                )
                leaders.append(found.weights)
                assert np.array_equal(agent.state()["explored.leader"], leaders[-1])
    assert len(leaders) == 8
    x = rng.standard_normal(shape)
    expected = leaders[-1] @ x if len(shape) == 1 else x @ leaders[-1][0]
    assert agent.state()["clock"][1] > 0
    assert np.array_equal(law(agent, x), np.arange(3) == expected.argmax())


@pytest.mark.soak
def test_epoch_greedy_with_an_oracle_keeps_a_bounded_sample_and_the_contract() -> None:
    agent = mb.EpochGreedy(2, oracle=HingeERM(0.3), memory=20, features=BARE, seed=0)
    for t in range(400):
        agent.learn([float(t)], mb.Decision(t % 2, 0.5), 1.0)
    kept = agent.state()["explored.kept.rows"]
    assert kept.shape == (1, 20, 1)
    assert 100.0 < kept.mean() < 300.0  # a sample of all, not the first or the last
    assert agent.state()["explored.kept.seen"][0] == 400
    check_learner(mb.EpochGreedy, oracle=HingeERM(0.5, tolerance=0.01), growth=2.0)
