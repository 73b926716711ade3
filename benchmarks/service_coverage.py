"""Whether the page of the decision service tells the truth: simulated deployments, looked at every hour.

    python benchmarks/service_coverage.py [--deployments 200] [--hours 48] [--rate 60] [--jobs 2]

Every deployment has users, actions, a holdback, exploration, a window and a learner of its own, drawn by its seed. What
actions are worth changes with the hour of the day; rewards come late, and some too late, so that the default counts.
The first tenth is in Apprentice mode; then it goes Online, with a policy that learns from there. At the end of every
hour the four intervals of the page are compared with what is true of the events that have closed by then: a deployment
is covered if all four were right at all looks. The loop, the joiner, the learner and the sums are those of the service;
only the clock, the disk and the users are made up.
"""

import argparse
import concurrent.futures
import heapq
import math
import multiprocessing
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from marginbandits.service.model import Model
from marginbandits.service.records import Decided, Policy, Settings
from marginbandits.service.running import Interval
from marginbandits.service.series import found
from marginbandits.types import Array

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.service.simulated import SECOND, Simulated  # its folder is known from here on

WHAT = ("bandit", "holdback", "baseline", "lift")
LEARNERS = ("SquareCB", "LogisticTS", "EpsilonGreedy", "LinUCB")


class World(NamedTuple):
    """What actions are worth to whom, in logits: by country, by device, by the hour; and how late people are."""

    level: float
    country: Array
    device: Array
    daily: float
    delay: float

    @classmethod
    def drawn(cls, rng: np.random.Generator, n: int) -> "World":
        """With so many actions."""
        tastes = rng.normal(0.0, 1.2, (3, n)), rng.normal(0.0, 0.6, (2, n))
        return cls(rng.uniform(-1.5, 0.5), *tastes, rng.uniform(0.0, 0.8), rng.uniform(60.0, 900.0))

    def worth(self, country: int, device: int, hour: float, window: float) -> Array:
        """The chance that each action is rewarded in time."""
        cycle = self.daily * math.sin(2.0 * math.pi * hour / 24.0)
        chance = 1.0 / (1.0 + np.exp(-(self.level + self.country[country] + self.device[device] + cycle)))
        return np.asarray(chance * (1.0 - math.exp(-window / self.delay)))


class Event(NamedTuple):
    """What is true of a decision: the mean reward by the bandit's law, and by the baseline."""

    closes: int
    held: bool
    bandit: float
    baseline: float


class Found(NamedTuple):
    """What became of a deployment; `needed` is the largest share of each interval's reach that was needed at any look.

    `plain` says whether the textbook's interval at one time would have been right at all looks: for the bandit, and for
    the holdback.
    """

    needed: tuple[float, ...]
    plain: tuple[bool, ...]
    widths: tuple[float, ...]
    better: bool
    said: bool
    wrongly: bool
    served: bool
    events: int

    @property
    def right(self) -> tuple[bool, ...]:
        """Whether each interval was right at all looks."""
        return tuple(one <= 1.0 for one in self.needed)


def true_means(decided: Decided, worth: Array) -> tuple[float, float]:
    low, high = decided.reward_range
    law = (1.0 - decided.exploration) * np.array(decided.law) + decided.exploration / len(decided.law)
    rewards = low + (high - low) * worth
    return float(law @ rewards), float(rewards[decided.baseline])


def deployed(seed: int, hours: int, rate: float) -> Found:
    rng = np.random.default_rng([16, seed])
    n = int(rng.integers(2, 7))
    world, actions = World.drawn(rng, n), [f"action {k}" for k in range(n)]
    low, high = [(0.0, 1.0), (-1.0, 1.0), (0.0, 20.0)][seed % 3]
    online = Settings(
        window=float(rng.choice([300.0, 1200.0, 3600.0])),
        default=low,
        reward_range=(low, high),
        holdback=float(rng.choice([0.05, 0.1, 0.3])),
        exploration=float(rng.choice([0.0, 0.05])),
    )
    apprentice = Settings(window=online.window, default=low, reward_range=(low, high), mode="Apprentice")
    policy = Policy(LEARNERS[seed % len(LEARNERS)], {"seed": seed}, (low, high), number=1)
    shop = Simulated(apprentice, policy, secret=seed.to_bytes(4), keep=False)
    start, events, rewards = shop.at, list[Event](), list[tuple[int, str]]()
    needed, plain, served, said, wrongly = [0.0] * 4, [True] * 2, True, False, False
    now = start
    for hour in range(hours):
        if hour == -(-hours // 10):
            shop.set(online)
            shop.loop.model = Model(msgspec.structs.replace(policy, since=shop.loop.seen, number=2))
        look = start + (hour + 1) * 3600 * SECOND
        while (now := now + round(rng.exponential(3600.0 / rate) * SECOND)) < look:
            due(shop, rewards, now, high)
            country, device = int(rng.integers(3)), int(rng.integers(2))
            worth = world.worth(country, device, (now - start) / SECOND / 3600.0, online.window)
            shop.at = max(shop.at, now)
            context = {"country": "abc"[country], "device": "pd"[device]}
            event, decided = shop.decide(actions, context=context)
            in_time, delay = worth[decided.chosen], rng.exponential(world.delay)
            if rng.random() < in_time / (1.0 - math.exp(-online.window / world.delay)):
                heapq.heappush(rewards, (shop.at + round(delay * SECOND), event))
            if decided.mode == "Online":
                closes = shop.at + round(decided.window * SECOND)
                events.append(Event(closes, decided.held, *true_means(decided, worth)))
            else:
                served = (
                    served and decided.chosen == decided.baseline and decided.probabilities[decided.baseline] == 1.0
                )
        now = look
        due(shop, rewards, look, high)
        shop.at = max(shop.at, look)
        shop.wait(0.0)
        means = found([shop.loop.watch.look().stand])[0]
        closed = [one for one in events if one.closes <= shop.at]
        assert means.baseline.n == len(closed)
        for at, true in enumerate(truths(closed)):
            unit = true / (high - low) if at == 3 else (true - low) / (high - low)
            if not math.isnan(true):
                needed[at] = max(needed[at], share_needed(means[at], unit))
                if at < 2:
                    plain[at] = plain[at] and at_one_time(means[at], unit)
        if means.lift.low > 0.0:
            said, wrongly = True, wrongly or truths(closed)[3] <= 0.0
    widths = tuple((one.high - one.low) for one in means[:4])
    return Found(
        tuple(needed), tuple(plain), widths, means.bandit.value > means.held.value, said, wrongly, served, len(closed)
    )


def share_needed(mean: Interval, true: float) -> float:
    """Of an interval's reach to the side where the truth is: above 1 where it is beyond."""
    off = true - mean.value
    reach = (mean.high if off > 0.0 else mean.low) - mean.value
    return 0.0 if off == 0.0 else math.inf if reach == 0.0 else off / reach


def at_one_time(mean: Interval, true: float) -> bool:
    """Whether a mean of rewards that are 0 or 1 is within 1.96 standard errors of the truth."""
    return abs(true - mean.value) <= 1.96 * math.sqrt(mean.value * (1.0 - mean.value) / mean.n)


def due(shop: Simulated, rewards: list[tuple[int, str]], now: int, value: float) -> None:
    """Rewards that have come by now."""
    while rewards and rewards[0][0] <= now:
        at, event = heapq.heappop(rewards)
        shop.at = max(shop.at, at)
        shop.reward(event, value)


def truths(closed: list[Event]) -> list[float]:
    """Of the bandit, the holdback, the baseline, and the bandit less the baseline, whoever was held back."""
    several = (
        [one.bandit for one in closed if not one.held],
        [one.baseline for one in closed if one.held],
        [one.baseline for one in closed],
        [one.bandit - one.baseline for one in closed],
    )
    return [math.fsum(one) / len(one) if one else math.nan for one in several]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, default=200)
    parser.add_argument("--hours", type=int, default=48)
    parser.add_argument("--rate", type=float, default=60.0, help="decisions an hour, on average")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    given = range(options.deployments), [options.hours] * options.deployments, [options.rate] * options.deployments
    if options.jobs == 1:
        results = list(map(deployed, *given))
    else:
        with concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
            results = list(pool.map(deployed, *given))
    n, events = len(results), np.mean([one.events for one in results])
    print(f"{n} deployments, {options.hours} looks each, {events:.0f} events closed Online on average")
    for at, what in enumerate(WHAT):
        right, width = np.mean([one.right[at] for one in results]), np.mean([one.widths[at] for one in results])
        print(f"  {what:10}right at all looks {100.0 * right:6.1f}%   width at the end {width:.3f} of the range")
    shares = {
        "all four right at all looks": [all(one.right) for one in results],
        "the bandit earned more than the holdback": [one.better for one in results],
        "the page said that it earns more": [one.said for one in results],
        "the page said so when it was not true": [one.wrongly for one in results],
        "Apprentice served the baseline always": [one.served for one in results],
    }
    for what, share in shares.items():
        print(f"{what:42}{100.0 * np.mean(share):6.1f}%")


if __name__ == "__main__":
    main()
