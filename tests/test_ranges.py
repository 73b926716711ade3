"""Rewards and losses in ranges of their own."""

from typing import Any

import numpy as np
import pytest

import marginbandits as mb


def test_rewards_of_a_range_are_what_they_are_within_it() -> None:
    one, two = mb.LinUCB(2, reward_range=(-50, 150), seed=0), mb.LinUCB(2, seed=0)
    for x in np.random.default_rng(0).standard_normal((40, 2)):
        decision = one.act(x)
        one.learn(x, decision, reward=-50.0 + 200.0 * (x[0] > 0))
        two.learn(x, two.act(x), reward=float(x[0] > 0))
    assert all(np.array_equal(one.state()[name], array) for name, array in two.state().items())
    again = mb.LinUCB.loads(one.dumps())
    assert again.reward_range == (-50.0, 150.0)
    with pytest.raises(ValueError, match=r"reward must be a number in \[-50, 150\], got 151"):
        again.learn([1.0, 1.0], again.act([1.0, 1.0]), reward=151)


def test_losses_of_a_range_are_what_they_are_within_it() -> None:
    one, two = mb.SquareCB(2, loss_range=[0, 30], seed=0), mb.SquareCB(2, seed=0)  # type: ignore[arg-type]  # as of JSON
    contexts = np.random.default_rng(0).standard_normal((10, 2))
    one.learn_many(contexts, [mb.Decision(0, 0.5)] * 10, losses=[15] * 10)
    two.learn_many(contexts, [mb.Decision(0, 0.5)] * 10, losses=[0.5] * 10)
    assert all(np.array_equal(one.state()[name], array) for name, array in two.state().items())


@pytest.mark.parametrize(
    "given", [-0.01, 500.01, float("nan"), float("inf"), "12", None, 10**400, np.datetime64("now")]
)
def test_a_value_outside_is_refused_by_name_and_teaches_nothing(given: Any) -> None:
    agent = mb.LinUCB(2, reward_range=(0, 500), seed=0)
    agent.learn([1.0], agent.act([1.0]), reward=500)
    before = agent.dumps()
    with pytest.raises(ValueError, match="reward"):
        agent.learn([1.0], agent.act([1.0]), reward=given)
    with pytest.raises(ValueError, match=r"give reward alone, by reward_range, got loss=0\.5"):
        agent.learn([1.0], agent.act([1.0]), loss=0.5)
    with pytest.raises(ValueError, match=r"losses\[0\]: give reward alone"):
        agent.learn_many([[1.0]], [mb.Decision(0, 0.5)], losses=[0.5])
    after = mb.LinUCB.loads(agent.dumps())
    assert all(np.array_equal(after.state()[name], array) for name, array in mb.LinUCB.loads(before).state().items())


def test_a_range_is_two_numbers() -> None:
    for bad in ((1, 0), (0, 0), (0,), "01", 5, (0, float("inf")), (None, 1)):
        with pytest.raises(ValueError, match="reward_range must be two finite numbers"):
            mb.LinUCB(2, reward_range=bad)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ValueError, match="give reward_range or loss_range"):
        mb.LinUCB(2, reward_range=(0, 1), loss_range=(0, 1))
