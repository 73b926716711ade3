"""The interval of the lift where a share is held back: right at all times, and as narrow as one sequence can be."""

import math

import numpy as np
import pytest

from marginbandits.service.records import Settings
from marginbandits.service.running import Interval, Running, intervals
from marginbandits.service.series import found
from tests.service.simulated import Simulated

HOLDBACK, RATE, MORE = 0.1, 0.03, 0.05
OFTEN = 6.0
"""How much more often people click where intervals are tried: where they rarely do, these are wide at first."""
RUNS, LOOKS = 60, (100, 300, 1000, 3000)


def looked_at(seed: int) -> list[tuple[Interval, float]]:
    """Visitors of whom a tenth gets the baseline; what is said at several times, and the truth, which changes."""
    rng = np.random.default_rng([3, seed])
    one, truth, said = Running(True, 1.0 / HOLDBACK), 0.0, list[tuple[Interval, float]]()
    for k in range(1, max(LOOKS) + 1):
        own = 0.8 if k % 2 else 0.1  # how likely the bandit is to do otherwise than the baseline
        rate, value = OFTEN * RATE, OFTEN * MORE * (1.0 if k < 1500 else 2.0)
        p = np.array([(1.0 - HOLDBACK) * (1.0 - own) + HOLDBACK, (1.0 - HOLDBACK) * own])
        action = int(rng.random() < p[1])
        y = float(rng.random() < (value if action else rate))
        weight = (own if action else 1.0 - own) / p[action]
        one.add_pair(y, weight, (1 - action) / p[0], own)
        truth += own * (value - rate)
        if k in LOOKS:
            said.append((intervals([one])[0], truth / k))
    return said


def wrong(narrowed: float) -> int:
    several = [looked_at(seed) for seed in range(RUNS)]
    return sum(any(_missed(one, truth, narrowed) for one, truth in run) for run in several)


def _missed(one: Interval, truth: float, narrowed: float) -> bool:
    off = truth - one.value
    return not narrowed * (one.low - one.value) <= off <= narrowed * (one.high - one.value)


def test_it_is_right_at_all_looks() -> None:
    """It is wrong at any look with probability 5% at most: in 10 runs of 60 with probability 0.1%."""
    assert wrong(1.0) <= 9


def test_and_the_test_would_see_it() -> None:
    """A quarter as wide, one standard error or so, it is wrong too often."""
    assert wrong(0.25) > 9


@pytest.mark.parametrize("n", [20_000, 60_000])
def test_it_is_not_two_intervals_added(n: int) -> None:
    """At click rates, to each side, below 4 standard errors of the plain difference; two that are added are wider."""
    rng = np.random.default_rng(n)
    one, arms = Running(True, 1.0 / HOLDBACK), (Running(most=1.0), Running(most=1.0))
    held = rng.random(n) < HOLDBACK
    clicks = rng.random(n) < np.where(held, RATE, MORE)
    for h, y in zip(held.tolist(), clicks.astype(float).tolist(), strict=True):
        one.add_pair(y, 0.0 if h else 1.0 / (1.0 - HOLDBACK), 1.0 / HOLDBACK if h else 0.0, 1.0)
        arms[h].add(y)
    error = math.sqrt((RATE * (1 - RATE) / HOLDBACK + MORE * (1 - MORE) / (1 - HOLDBACK)) / n)
    lift = intervals([one])[0]
    assert max(lift.high - lift.value, lift.value - lift.low) < 4.0 * error
    bandit, rest = intervals(arms, 0.975)
    assert lift.value - lift.low < 0.8 * ((bandit.value - bandit.low) + (rest.high - rest.value))


def test_a_visit_that_both_would_have_had_the_same_says_nothing() -> None:
    one = Running(True, 10.0)
    for k in range(100):
        one.add_pair(float(k % 2), 1.0, 1.0, 0.0)
    assert intervals([one])[0].value == 0.0


def test_where_all_are_held_back_nothing_is_said_of_the_bandit() -> None:
    made = Simulated(Settings(window=5.0, holdback=1.0))
    for _ in range(5):
        made.decide(("hat", "shoe"))
        made.wait(10.0)
    four = found([made.loop.watch.look().stand])[0]
    assert (four.held.n, four.baseline.n, four.bandit.n, four.lift.n) == (5, 5, 0, 0)
