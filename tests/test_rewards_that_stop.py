"""Who has learnt what is good still knows it after rounds in which nothing was."""

from collections.abc import Callable

import numpy as np
import pytest

import marginbandits as mb


@pytest.mark.parametrize("learner", [mb.RegCB, mb.SquareCB])
def test_rounds_without_reward_do_not_make_all_actions_alike(learner: Callable[..., mb.Learner]) -> None:
    """A fault elsewhere takes all rewards for a while: all actions are expected to lose, and some still more so."""
    rng = np.random.default_rng(0)
    agent = learner(4, seed=0)

    def play(rounds: int, chance: float) -> None:
        for x in rng.standard_normal((rounds, 5)):
            decision = agent.act(x)
            right = decision.action == int(x[0] > 0.0)
            agent.learn(x, decision, loss=float(rng.random() >= chance * (1.0 if right else 0.3)))

    play(3000, 0.4)
    play(300, 0.0)
    contexts = rng.standard_normal((200, 5))
    laws = np.array([agent.law(x) for x in contexts])
    assert not (np.ptp(laws, axis=1) == 0.0).any()
    assert laws[np.arange(200), (contexts[:, 0] > 0.0).astype(int)].mean() > 0.5
