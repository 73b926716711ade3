"""The oracle of networks: its contract, leaders that are followed and saved, and rates that are too large."""

from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.checks import check_oracle
from marginbandits.oracles.leader import Followed, LinearLeader
from marginbandits.oracles.network_erm import NetworkERM, NetworkLeader
from tests.problems import exclusive_or


def test_the_oracle_keeps_its_contract() -> None:
    networks = mb.Networks(n_networks=2, width=8, minibatch=16)
    skipped = check_oracle(NetworkERM, margin=0.5, networks=networks, passes=3)
    assert all("surrogate" in reason for reason in skipped.values())


def test_smooth_ftl_follows_networks_where_no_line_leads() -> None:
    """Right in the middle, or on both sides: it loses 0.7 of what a line does at most."""

    def play(oracle: NetworkERM | None) -> float:
        agent = mb.FaithfulSmoothFTL(2, horizon=1100, margin=0.3, oracle=oracle, features=mb.Standardise(), seed=0)
        rng, lost = np.random.default_rng(0), 0.0
        for t in range(1100):
            x = rng.uniform(-1, 1, 1)
            decision = agent.act(x)
            loss = float((abs(x[0]) < 0.5) != (decision.action == 1))
            lost += loss * (t >= 600) / 500
            agent.learn(x, decision, loss)
        return lost

    networks = mb.Networks(n_networks=1, width=32, minibatch=32, rate=0.01)
    assert play(NetworkERM(0.3, networks=networks, passes=60)) < 0.7 * play(None)


def test_leaders_of_networks_are_followed_by_scores_that_sum_to_zero() -> None:
    """So a shift of all of a leader's scores is no other leader; one of a single action is."""
    followed = Followed(NetworkERM(0.3, networks=mb.Networks(n_networks=2, width=8, minibatch=8), passes=3), 3, 2)
    rng = np.random.default_rng(0)
    rows, blocks = rng.standard_normal((40, 2)), rng.integers(3, size=40)
    followed.refit(rows, blocks, (rows[:, 0] > 0).astype(float), np.ones(40))
    before, leader = followed.scores(rows[:1], False), followed.leader
    assert abs(before.sum()) < 1e-12
    assert isinstance(leader, NetworkLeader)
    biases = leader.shape.layers(leader.weights)[-1].biases
    biases += 1.0
    assert np.allclose(followed.scores(rows[:1], False), before, atol=1e-6)
    biases[..., 0] += 1.0
    assert not np.allclose(followed.scores(rows[:1], False), before, atol=1e-2)


@pytest.mark.parametrize("rounds", [0, 1, 5, 40])
def test_a_leader_of_networks_is_saved_and_followed_on(rounds: int) -> None:
    """Saved before any leader, within an epoch, or at its end: what follows is the same run, bit for bit."""
    oracle = NetworkERM(0.3, networks=mb.Networks(n_networks=2, width=8, minibatch=8), passes=5)
    agent: mb.Learner = mb.FaithfulSmoothFTL(
        2, horizon=200, margin=0.3, oracle=oracle, features=mb.Standardise(), seed=0
    )
    exclusive_or(agent, rounds)
    again = mb.loads(agent.dumps())
    assert again.dumps() == agent.dumps()
    assert exclusive_or(agent, 60, seed=1) == exclusive_or(again, 60, seed=1)
    assert again.dumps() == agent.dumps()
    assert np.array_equal(agent.law([0.3, 0.4]), again.law([0.3, 0.4]))


class _Renamed(NetworkERM):
    """An oracle whose leaders are of another class than the one it begins with."""

    def fit(self, *given: Any) -> Any:
        return LinearLeader(np.zeros((2, 3)))


def test_a_leader_of_another_class_than_at_first_cannot_be_saved() -> None:
    agent = mb.FaithfulSmoothFTL(2, margin=0.3, oracle=_Renamed(0.3), features=mb.Standardise(), seed=0)
    exclusive_or(agent, 10)
    with pytest.raises(ValueError, match="only a NetworkLeader of shape"):
        agent.dumps()


def test_an_oracle_says_that_its_rate_is_too_large() -> None:
    oracle = NetworkERM(0.3, networks=mb.Networks(n_networks=1, depth=2, rate=1e6), passes=20)
    rng = np.random.default_rng(0)
    rows, blocks = rng.normal(size=(40, 2)), rng.integers(2, size=40)
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="rate=1e\\+06 is too large"):
        oracle.fit(rows, blocks, rng.random(40), np.ones(40), np.zeros((2, 2)))
