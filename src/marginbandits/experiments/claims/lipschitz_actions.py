"""A continuum of actions: follow the leader over a net of them, whose resolution is tuned to T.

Contexts and actions are both the unit interval, so that p = q = 1, for which the proof's choices are those of p = 2:

    net of actions of radius ε = T^{-1/(p+1+pq)}, regret T^{(p+pq)/(p+pq+1)} = T^{4/5}

Left of x = 1/4 one action is best, right of 3/4 another, anywhere in the interval, and the expected loss grows with the
distance to it; in between all are alike, so that the best 1-Lipschitz policy (contexts under 4 times their distance) is
the best of all.

The net has ⌈1/ε⌉ = ⌈T^{1/5}⌉ actions. At T = n^5 nothing is rounded; between other T their number grows by whole
steps. Below a few thousand rounds the leaders, found from a quarter of them, lose most of what can be lost at all, and
such regret grows with T, whatever the rate.

    "net"     `LipschitzFTL.from_theory(actions=…)`
    "fixed"   the same learner on the two ends of the interval, whatever T: what the net is for
"""

from collections.abc import Mapping, Sequence

import numpy as np

from marginbandits.environments import Oblivious
from marginbandits.evaluation import interval
from marginbandits.experiments.claims.claim import Claim, Finding, Line, Parameters, Results, shown, slope, slopes
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.growing import grows
from marginbandits.experiments.claims.judging import apart
from marginbandits.experiments.claims.measuring import NOTHING, control, played
from marginbandits.learners import LipschitzFTL
from marginbandits.scores import Cube
from marginbandits.theory import lipschitz_actions, lipschitz_references

__all__ = ["CLAIM"]

COARSE = "the net is two actions, whatever T"


def measure(learner: str, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Expected regret of one run, over the best point for every context, and how many points there were."""
    rng = np.random.default_rng(seed)
    left, right = 0.5 * rng.random() + np.array([0.0, 0.5])
    space, interval_of_actions = Cube([0.0], [1.0], lipschitz=4.0), Cube([0.0], [1.0], lipschitz=2.0)
    if learner == "net" and broken != COARSE:
        agent = LipschitzFTL.from_theory(space=space, actions=interval_of_actions, horizon=T, seed=seed)
        points = np.asarray(agent.points)[:, 0]
    else:
        points = np.array([0.0, 1.0])
        agent = LipschitzFTL.from_theory(space=space, n_actions=2, horizon=T, seed=seed)
    x = rng.random((T, 1))
    turning = np.abs(x - 0.5) <= 0.25
    means = np.where(turning, 0.5, 0.1 + 0.9 * np.abs(points[None, :] - np.where(x < 0.5, left, right)))
    losses = (rng.random(means.shape) < means).astype(float)
    laws = played(agent, Oblivious.of(x, losses), broken).laws
    least = np.where(turning[:, 0], 0.5, 0.1)
    regret, rate = float((laws * means).sum() - least.sum()), lipschitz_actions(2.0, 1.0, T).value
    return {"regret": regret, "rate": rate, "points": float(len(points))}


def units(quick: bool) -> list[Parameters]:
    """T = n^5; two actions for ever need not be played as long to be seen."""
    return _planned((5, 6, 8), (4, 6), 5) if quick else _planned((6, 8, 10, 12), (4, 6, 8), 6)


def _planned(net: Sequence[int], fixed: Sequence[int], seeds: int) -> list[Parameters]:
    return [
        {"learner": learner, "T": n**5, "seed": seed}
        for learner, each in (("net", net), ("fixed", fixed))
        for n in each
        for seed in range(seeds)
    ]


def _few(quick: bool) -> list[Parameters]:
    return _planned((4, 6), (4, 6), 4)


def judge(results: Results) -> Finding:
    """The slope against the exponent, and what a net that does not grow with T comes to."""
    each = {name: slopes(one, "T", "regret") for name, one in results.split("learner")}
    found = {name: interval(one) for name, one in each.items()}
    binning = lipschitz_references(1.0, 1.0)["binning"]
    net = results.where(learner="net")
    horizons = net.each("T")
    stated = slope(net, "T", "rate").mean
    more = interval(each["fixed"] - each["net"])
    points = [int(net.where(T=T).values("points")[0]) for T in (min(horizons), max(horizons))]
    lines = [
        grows(
            "Lipschitz actions, p = q = 1: growth with T",
            f"at most T^{stated:.3f}, up to logarithms (binning: T^{binning:.3f})",
            {"": net},
            rival=1.0,
            against="rate",
            where=f"{points[0]} to {points[1]} actions",
        ),
        Line(
            "It needs a net that becomes finer",
            "two actions for ever: linear",
            f"exponent {shown(found['fixed'], 2)}, larger by {shown(more, 2)}",
            apart(more, 1.0 - stated),
            1,
        ),
    ]
    groups = {"net of radius ε": net, "two actions": results.where(learner="fixed")}
    label = "regret to the best 1-Lipschitz policy"
    return Finding(lines, [growth("Regret over T", groups, over="T", bound=None, label=label)])


CLAIM = Claim(
    "lipschitz-actions",
    "A continuum of actions",
    "Last paragraph of the appendix on Lipschitz contextual bandits",
    "Where losses are Lipschitz in the action too, follow the leader over a net of actions has regret "
    "T^{(p+pq)/(p+pq+1)} for contexts of dimension p >= 2 and actions of dimension q.",
    measure,
    units,
    judge,
    errata=(17,),
    controls=(control(COARSE, _few), control(NOTHING, _few)),
)
