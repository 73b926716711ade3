"""Warm starts: every learner learns from a log that prefers the wrong action, or says why it cannot."""

from typing import Any

import numpy as np
import pytest

import marginbandits as mb

WARM = [
    mb.LinUCB(2, seed=0),
    mb.LinTS(2, seed=0),
    mb.EpsilonGreedy(2, seed=0),
    mb.LogisticTS(2, seed=0),
    mb.SquareCB(2, seed=0),
    mb.SquareCB(2, weighted=True, seed=0),
    mb.RegCB(2, seed=0),
    mb.Bag(2, weighted=True, seed=0),
    mb.Cover(2, seed=0),
    mb.Banditron(2, seed=0),
    mb.Newtron(2, seed=0),
    mb.SOBA(2, seed=0),
    mb.NearestNeighbours(2, seed=0),
    mb.Mixture(2, seed=0),
    mb.HingeLMC(2, seed=0),
    mb.SmoothFTL(2, seed=0),
    mb.EpochGreedy(2, seed=0),
]


@pytest.mark.parametrize("agent", WARM, ids=lambda agent: type(agent).__name__)
def test_every_learner_learns_from_a_log_that_prefers_the_wrong_action(agent: mb.Learner) -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (400, 1))
    right = (X[:, 0] > 0).astype(int)
    wrong = rng.random(400) < 0.8
    actions = np.where(wrong, 1 - right, right)
    losses = (actions != right).astype(float)
    assert mb.warm_start(agent, X, actions, losses, np.where(wrong, 0.8, 0.2)) is agent
    if isinstance(agent, mb.EpochGreedy):
        agent._clock[1] = 1.0  # its next round exploits
    low, high = np.asarray(agent.laws([[-1.0], [1.0]]))
    assert low[0] > 0.5
    assert high[1] > 0.5


def test_warm_starts_are_refused_where_they_would_be_wrong() -> None:
    log: Any = ([[0.1]], [0], [0.5], [0.5])
    with pytest.raises(ValueError, match="learner must be a Learner"):
        mb.warm_start(mb.MarginPolicy(), *log)
    with pytest.raises(ValueError, match="one loss a round"):
        mb.warm_start(mb.Supervised(2), *log)
    own = mb.FaithfulHingeLMC(2, n_features=1, horizon=10, weighting="geometric")
    with pytest.raises(ValueError, match="weighting='mixture'"):
        mb.warm_start(own, *log)
    agent = mb.LinUCB(2, seed=0)
    with pytest.raises(ValueError, match="probabilities must be one for each of 1 actions, got 2"):
        mb.warm_start(agent, [[0.1]], [0], [0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="probability"):
        mb.warm_start(agent, [[0.1], [0.2]], [0, 1], [0.5, 0.5], [0.5, 0.0])
    assert agent.state() == {}
