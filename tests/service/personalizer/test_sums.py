"""What is kept of an evaluation says the same as the library's estimators of every event, to rounding."""

from collections.abc import Callable

import numpy as np
import pytest

from marginbandits.evaluation.off_policy import Evidence, value
from marginbandits.service.evaluating import Rival, weighed
from marginbandits.service.personalizer.judging import judge
from marginbandits.service.personalizer.sums import Sums
from marginbandits.service.records import Policy, Settings
from tests.service.made import Shop

CLOSE = 1e-11


def same(sums: Sums, weights: list[float], rewards: list[float], low: float, high: float) -> None:
    """Shares of the range are what the library judges; means and widths are told in rewards."""
    width = high - low
    evidence = Evidence(weights, (np.array(rewards) - low) / width)
    ips, snips = (value(evidence, how, interval="normal", outcome="reward") for how in ("ips", "snips"))
    assert sums.n == len(weights)
    assert sums.wr / sums.n == pytest.approx(width * ips.value + low * np.mean(weights), rel=CLOSE, abs=CLOSE)
    assert sums.snips == pytest.approx(low + width * snips.value, rel=CLOSE, abs=CLOSE)
    for end, sign in ((snips.low, -1.0), (snips.high, 1.0)):
        told = (sums.snips + sign * sums.half_width - low) / width
        assert end == pytest.approx(min(max(told, 0.0), 1.0), rel=1e-9, abs=CLOSE)  # a difference of squares
    assert sums.used == sum(one > 0.0 for one in weights)


@pytest.mark.parametrize("seed", range(5))
def test_sums_of_any_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = (rng.exponential(1.0, 400) * rng.integers(0, 2, 400)).tolist()
    rewards = rng.uniform(-1.0, 1.0, 400).tolist()
    parts = [Sums() for _ in range(7)]
    for k, (weight, reward) in enumerate(zip(weights, rewards, strict=True)):
        parts[k % 7] += Sums.of(weight, reward)
    same(sum(parts, Sums()), weights, rewards, -1.0, 1.0)


def test_evaluations_of_a_log(opened: Callable[..., Shop]) -> None:
    """By five minutes, put together again: Personalizer's three, and a policy that learns meanwhile."""
    shop = opened(Settings(window=60, exploration=0.3, reward_range=(-1.0, 1.0)))
    shop.play(400)
    own = Rival(Policy("EpsilonGreedy", reward_range=(-1.0, 1.0)), 0.1)
    journal, rivals = shop.service.journal, {"Baseline": Rival("baseline"), "Random": Rival("uniform"), "own": own}
    rows = list(weighed(journal, "shop", rivals))
    rewards = [one.closed.reward for one in rows]
    judged = {one.name: one for one in judge(journal, "shop", 0, 2**62, "", {"own": ("", own)})}
    assert len(judged["own"].sums) > 1
    for name in rivals:
        weights = [one.rivals[name][0] for one in rows]
        same(sum(judged[name].sums.values(), Sums()), weights, rewards, -1.0, 1.0)
    same(sum(judged["Online"].sums.values(), Sums()), [1.0] * len(rows), rewards, -1.0, 1.0)
