"""Which learner a decision service should begin with: simulated users whose rewards are rare, or are not.

    python benchmarks/service_learners.py [--rounds 20000] [--seeds 10] [--rewards 0.02,0.05,0.1,0.4]

Users come from one of five countries, with one of three devices and an age; there are six actions. In one kind of
world each country likes one of them, and all others earn three tenths of it; in the other each is worth something else
to each user, by country, device and age. Always doing the best would earn so much on average. Decisions are made in
blocks of 50, and each is learnt 200 decisions later, when its window closes. All play the same users in the same
worlds (paired).

    earned      by the best action always 1, by an even choice 0: the share of what there is between them, from the
                first decision to the last, and how sure its mean over seeds is (a standard error)
    worst       the same of the worst seed
    weight²     what a log of these decisions is good for: the mean of (1/K)²/p over all actions, by which the variance
                of an even choice is larger by this log than by its own; where an action is all but never played there
                is no end to it
    rarest      the smallest probability that any action ever had
"""

import argparse
import itertools
from typing import NamedTuple

import numpy as np

from marginbandits.service.join import Closed
from marginbandits.service.model import Model
from marginbandits.service.records import Decided, Offer, Policy
from marginbandits.types import Array

K, BLOCK, LATER = 6, 50, 200
KINDS = {"one": "one action by country", "many": "tastes by country, device and age"}
PLAYERS: dict[str, tuple[str, dict[str, float], float]] = {
    "SquareCB": ("SquareCB", {}, 0.0),
    "SquareCB, exploration 0.05": ("SquareCB", {}, 0.05),
    "LogisticTS": ("LogisticTS", {}, 0.0),
    "LogisticTS, exploration 0.05": ("LogisticTS", {}, 0.05),
    "LogisticTS(scale=1), explor. 0.05": ("LogisticTS", {"scale": 1.0}, 0.05),
    "RegCB, exploration 0.05": ("RegCB", {}, 0.05),
}


class World(NamedTuple):
    """Contexts, and the chance that each action is rewarded in each."""

    contexts: list[dict[str, object]]
    worth: Array

    @classmethod
    def drawn(cls, kind: str, seed: int, n: int, reward: float) -> "World":
        """Of n users, where the best action earns so much on average."""
        rng = np.random.default_rng([16, seed])
        country, device, age = rng.integers(5, size=n), rng.integers(3, size=n), rng.normal(40.0, 12.0, n)
        given = zip(country.tolist(), device.tolist(), age.tolist(), strict=True)
        contexts: list[dict[str, object]] = [{"country": "abcde"[c], "device": "pdt"[d], "age": a} for c, d, a in given]
        if kind == "one":
            liked = rng.integers(K, size=5)[country]
            return cls(contexts, np.where(np.arange(K) == liked[:, None], reward, 0.3 * reward))
        logits = rng.normal(0.0, 0.7, (5, K))[country] + rng.normal(0.0, 0.4, (3, K))[device]
        logits += ((age - 40.0) / 12.0)[:, None] * rng.normal(0.0, 0.3, K)
        low, high = -15.0, 15.0
        for _ in range(60):  # the level at which the best earns that
            level = (low + high) / 2.0
            worth = 1.0 / (1.0 + np.exp(-level - logits))
            low, high = (level, high) if worth.max(axis=1).mean() < reward else (low, level)
        return cls(contexts, worth)


class Played(NamedTuple):
    """What came of a run."""

    earned: float
    spread: float
    rarest: float


def played(world: World, learner: str, parameters: dict[str, float], exploration: float, seed: int) -> Played:
    model, offers = Model(Policy(learner, {"seed": seed, **parameters})), [Offer(f"action {k}") for k in range(K)]
    rng, waiting = np.random.default_rng([17, seed]), list[Closed]()
    draws, coins, laws = rng.random(len(world.worth)), rng.random(len(world.worth)), np.empty(world.worth.shape)
    for first in range(0, len(draws), BLOCK):
        some = range(first, min(first + BLOCK, len(draws)))
        found, learnt = model.laws([(world.contexts[t], offers) for t in some])
        for t, own in zip(some, found, strict=True):
            law = laws[t] = (1.0 - exploration) * np.array(own) + exploration / K
            chosen = min(int((law.cumsum() < draws[t]).sum()), K - 1)
            told = float(coins[t] < world.worth[t, chosen])
            context, probabilities = world.contexts[t], law.tolist()
            decided = Decided("", context, offers, probabilities, own, chosen, 0, 1, learnt, 1.0, 0.0, (0.0, 1.0))
            waiting.append(Closed(t, "", t, t, decided, told, "rewarded"))
        while len(waiting) >= LATER + BLOCK:
            model.learn(waiting[:BLOCK])
            del waiting[:BLOCK]
    mean, even, best = (laws * world.worth).sum(axis=1).mean(), world.worth.mean(), world.worth.max(axis=1).mean()
    spread = (1.0 / K**2 / np.maximum(laws, 1e-300)).sum(axis=1).mean()
    return Played(float((mean - even) / (best - even)), float(spread), float(laws.min()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rewards", default="0.02,0.05,0.1,0.4")
    given = parser.parse_args()
    for kind, reward in itertools.product(KINDS, map(float, given.rewards.split(","))):
        worlds = [World.drawn(kind, seed, given.rounds, reward) for seed in range(given.seeds)]
        even = np.mean([one.worth.mean() for one in worlds])
        print(f"{KINDS[kind]}: the best earns {reward:g}, an even choice {even:.3f}")
        print(f"  {'':34}{'earned':>16}{'worst':>9}{'weight²':>12}{'rarest':>12}")
        for name, player in PLAYERS.items():
            runs = [played(world, *player, seed) for seed, world in enumerate(worlds)]
            earned = np.array([one.earned for one in runs])
            error = earned.std(ddof=1) / np.sqrt(len(earned)) if len(earned) > 1 else np.nan
            spread, rarest = np.mean([one.spread for one in runs]), min(one.rarest for one in runs)
            print(
                f"  {name:34}{earned.mean():>8.3f} ± {error:.3f}{earned.min():>9.3f}{spread:>12.3g}{rarest:>12.2g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
