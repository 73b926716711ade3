"""Figure 1, by learners: measured exponents for p = 1, 2, 3 of those that claim one, over the figure's curves.

The curves are of bounds, and the margin's is of a theorem without a learner. Those that can be run claim

    "leader"    Lipschitz follow-the-leader            p/(p+1), for p < 2 2/3 (E17): the margin's from p = 2 on
    "smooth"    SmoothFTL over linear scores, p = 2    2/3: the margin's
    "chained"   hierarchical weights                   p/(p+1), for p < 2 2/3: the margin's from p = 2 on
    "weights"   exponential weights on cells           (p+1)/(p+2): the square loss'
    "binning"   upper confidence on cells              (p+1)/(p+2): the square loss'
    "zooming"   contextual zooming                     (p+1)/(p+2): the square loss'

and nobody claims the margin's (p+2)/(p+4) below p = 2, nor full information's. Weights are over all 2^m policies that
are constant on m = k^p cells, which cover the 1-Lipschitz ones of the unit cube (under 4 times the largest coordinate)
within 1/k a round, with the k for which their bound is least:

    √(4 T k^p ln 2) + T/k          over the best 1-Lipschitz policy; k is of order T^{1/(p+2)}

Left of x_1 = 1/8 the first action never loses and the other always, right of 7/8 the other way round; from 1/4 to 3/4
both lose half of the time, and between these mean losses are linear. So they are 1-Lipschitz in the context, which
binning and zooming need, and a 1-Lipschitz policy has room to turn where it does not matter: the best of them is the
best action of every round, and all regrets are over the same. (Were mean losses linear all the way from 1/4 to 3/4, the
best 1-Lipschitz policy would lose T/24 more than the best actions, and over it learners on cells would have regret
below 0.) SmoothFTL's rounds are its own claim's.

A measured exponent is the slope of log mean regret on log T over these T, of this law, and is no limit. All are judged
alike: no faster than the asymptotic order of their bound, which is their curve, and the rival is linear growth. That is
so for the hierarchy, too, though its bound was evaluated elsewhere: over these T that is above what uniform play loses,
and a line about it could only say "does not bite". Against the order it can fall.

The law is not made to tell two curves apart, and a note says, by the same intervals, whether it does.
"""

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from marginbandits.evaluation import Interval
from marginbandits.experiments.claims.claim import (
    Chart,
    Claim,
    Control,
    Finding,
    Line,
    Parameters,
    Results,
    Verdict,
    bootstrapped,
)
from marginbandits.experiments.claims.figures import exponent_curves
from marginbandits.experiments.claims.growing import grown, grows
from marginbandits.experiments.claims.judging import bounded
from marginbandits.experiments.claims.measuring import NOTHING, limits, played, with_broken
from marginbandits.experiments.claims.rounds import (
    on_the_cube,
    product_weights,
    regret_of,
    smoothed,
    two_sided,
    uniform_regret,
)
from marginbandits.experiments.marks import PALETTE
from marginbandits.experiments.svg import Axis
from marginbandits.experiments.svg import Line as Curve
from marginbandits.learners import ContextualZooming, HierExp4, Learner
from marginbandits.scores import Cube
from marginbandits.theory import Bound, exponents, lipschitz_references

__all__ = ["CLAIM", "cells_of", "on_cells", "promised"]

NAMES = {
    "leader": "Lipschitz leader",
    "smooth": "SmoothFTL",
    "chained": "hierarchical weights",
    "weights": "exponential weights on cells",
    "binning": "binning",
    "zooming": "contextual zooming",
}
ON_CELLS = ("weights", "binning", "zooming")
GAP, LIPSCHITZ = 1.0, 4.0
"""The widest gap; policies and mean losses are 1-Lipschitz under 4 times the largest coordinate."""


def measure(learner: str, p: int, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Expected regret of one run; of weights on cells also what it is held against."""
    if learner == "smooth":
        margin = 1.0 / (2.0 * 3.0**0.5)  # the widest for three actions
        regret, _ = smoothed(T, seed, K=3, d=2, margin=margin, noise=0.1, broken=broken)
        return {"regret": regret}
    env, means = two_sided(p, T, seed, GAP, LIPSCHITZ)
    if learner == "weights":
        regret = on_cells(cells_of(p, T), p, T, seed, told=broken != NOTHING)
        return {"regret": regret, **limits(promised(p), T, uniform_regret(means))}
    return {"regret": regret_of(played(_agent(learner, p, T, seed), env, broken).laws, means)}


def _agent(learner: str, p: int, T: int, seed: int) -> Learner:
    space = Cube([0.0] * p, [1.0] * p, lipschitz=LIPSCHITZ)
    if learner == "chained":
        return HierExp4(2, space=space, horizon=T, seed=seed)
    if learner == "zooming":
        return ContextualZooming(2, space=space, horizon=T, seed=seed)
    return on_the_cube(learner, p, T, seed)


def on_cells(k: int, p: int, T: int, seed: int, *, told: bool = True) -> float:
    """Expected regret of exponential weights over all policies on k^p cells."""
    env, means = two_sided(p, T, seed, GAP, LIPSCHITZ)
    cells = np.minimum((env.contexts * k).astype(np.int64), k - 1) @ (k ** np.arange(p))
    second = product_weights(cells, env.losses * told, k**p, np.random.default_rng([seed, k, T]).random(T))
    return regret_of(np.stack([1.0 - second, second], 1), means)


def promised(p: int) -> Callable[[int], Bound]:
    """What exponential weights on cells are promised for T rounds."""

    def bound(T: int) -> Bound:
        return Bound("exponential weights on cells", _terms(cells_of(p, T), p, T), T)

    return bound


def cells_of(p: int, T: int) -> int:
    """k, for which the bound is least: cells along each side."""
    best = math.pow(math.sqrt(T / math.log(2.0)) / p, 2.0 / (p + 2.0))  # where its derivative is 0
    return min((max(1, math.floor(best)), math.ceil(best)), key=lambda k: sum(_terms(k, p, T).values()))


def _terms(k: int, p: int, T: int) -> Mapping[str, float]:
    return {"weights": math.sqrt(4.0 * T * k**p * math.log(2.0)), "cells": T / k}


Grids: TypeAlias = Mapping[str, Mapping[int, tuple[int, ...]]]

QUICK: Grids = {
    "leader": {1: (256, 1024, 4096), 2: (256, 1024, 4096), 3: (128, 512, 1024)},
    "smooth": {2: (256, 1024, 4096)},
    "chained": dict.fromkeys((1, 2, 3), (256, 1024, 2048)),
    "weights": dict.fromkeys((1, 2, 3), (4096, 16_384, 65_536)),
    "binning": dict.fromkeys((1, 2, 3), (256, 1024, 4096)),
    "zooming": dict.fromkeys((1, 2, 3), (256, 1024, 2048)),
}
FULL: Grids = {
    "leader": {1: (1024, 4096, 16_384), 2: (1024, 4096, 16_384), 3: (512, 2048, 8192)},
    "smooth": {2: (1024, 4096, 16_384)},
    "chained": dict.fromkeys((1, 2, 3), (4096, 16_384, 65_536)),
    "weights": dict.fromkeys((1, 2, 3), (4096, 32_768, 262_144, 1_048_576)),
    "binning": dict.fromkeys((1, 2, 3), (1024, 4096, 16_384)),
    "zooming": dict.fromkeys((1, 2, 3), (4096, 16_384, 65_536)),
}


def units(quick: bool) -> list[Parameters]:
    """T over a factor of 8, in full of 16; the programs of the leader at p = 3 are slow, so that it ends early."""
    return _planned(QUICK if quick else FULL, 4 if quick else 8)


def _planned(grids: Grids, seeds: int) -> list[Parameters]:
    return [
        {"learner": learner, "p": p, "T": T, "seed": seed}
        for learner, each in grids.items()
        for p, horizons in each.items()
        for T in horizons
        for seed in range(seeds)
    ]


def _untold(quick: bool) -> list[Parameters]:
    """Weights for as long as their bound takes to bite for p = 1."""
    short: Grids = {name: dict.fromkeys(each, (256, 1024)) for name, each in QUICK.items()}
    return with_broken(_planned({**short, "weights": dict.fromkeys((1, 2, 3), (4096, 16_384))}, 3), NOTHING)


def judge(results: Results) -> Finding:
    """Each exponent against that of the learner's bound on the same T, and the weights' bound."""
    cells = {f"p = {p}": mine for p, mine in results.where(learner="weights").split("p")}
    lines = [
        bounded(
            "Exponential weights on cells: regret",
            "at most √(4 T k^p ln 2) + T/k over the best 1-Lipschitz policy",
            cells,
            promised=lambda runs: promised(int(runs.each("p")[0])),
        )
    ]
    each = {(str(learner), int(p)): one for learner, mine in results.split("learner") for p, one in mine.split("p")}
    lines += [_line(learner, p, one) for (learner, p), one in each.items()]
    found = {which: bootstrapped(one, "T", "regret") for which, one in each.items()}
    notes = [
        "A measured exponent is the slope of log mean regret on log T between the least T and the largest, on one law; "
        "its interval is a bootstrap over seeds, taken further out for few of them. It says how regret grew there. It "
        "is no limit: constants, logarithms, whole numbers of cells and what a leader pays before it knows anything "
        "all bend it, and a law that is harder could grow faster.",
        _told_apart(found),
        "Dots beside p = 1, 2 and 3 stand a little apart, so that intervals can be seen. At p = 1 nobody is at the "
        "margin's 3/5, because its theorem has no learner: what can be run claims 2/3.",
    ]
    return Finding(lines, [_figure(found)], notes)


def _claimed(learner: str, p: int) -> float:
    """The exponent of a learner's bound, as T → ∞."""
    return lipschitz_references(float(p))["binning"] if learner in ON_CELLS else max(2.0 / 3.0, p / (p + 1.0))


def _line(learner: str, p: int, runs: Results) -> Line:
    curve = "the margin's curve" if p >= 2 else "above the margin's 0.600"
    curve = "the square loss' curve" if learner in ON_CELLS else curve
    curve += ": E17" * (learner == "leader" and p < 2)
    return grows(
        f"Figure 1 at p = {p}, by {NAMES[learner]}",
        f"no faster than its bound, T^{_claimed(learner, p):.3f}, {curve}",
        {"": runs},
        rival=1.0,
        against=_claimed(learner, p),
        slope=bootstrapped,
        where="with jumps and a gap of 0.4 in claim `lipschitz`" * (learner == "leader"),
    )


def _told_apart(found: Mapping[tuple[str, int], Interval]) -> str:
    """Every interval judged at both curves: whether who claims the upper one is seen at it, and above the lower one."""
    each, told = [], []
    for (learner, p), one in found.items():
        margin, square = (exponents(float(p))[curve] for curve in ("margin", "square"))
        at = [grown(one, curve, rival=1.0) for curve in (margin, square)]
        each.append(f"{NAMES[learner]}, p = {p}: {at[0].value} at {margin:.3f}, {at[1].value} at {square:.3f}")
        told += [at[0].falls and at[1] is Verdict.REACHED] * (p >= 2 and learner in ON_CELLS)
    whether = "tells" if told and all(told) else "does not tell"
    return (
        f"This law {whether} the margin's curve from the square loss': of {len(told)} exponents of learners that claim "
        f"the latter, at p = 2 and 3, {sum(told)} hold there and are seen above the former. At the two curves: "
        f"{'; '.join(each)}."
    )


def _figure(each: Mapping[tuple[str, int], Interval]) -> Chart:
    """Dots and intervals over the curves, each learner's a little to the side."""
    dots, legend = [], []
    for place, (learner, name) in enumerate(NAMES.items()):
        colour, aside = (*PALETTE[3:], PALETTE[0])[place], 0.08 * (place - 2.5)
        mine = {p + aside: one for (who, p), one in each.items() if who == learner}
        dots += [Curve(name, [p], [one.mean], colour, dots=True) for p, one in mine.items()]
        dots += [Curve(f"{name}, interval", [p, p], [one.low, one.high], colour) for p, one in mine.items()]
        legend.append(Curve(name, [0.0], [0.0], colour, dots=True))
    curves = exponent_curves(4.0)
    across = Axis(0.0, 4.0, [(float(p), str(p)) for p in range(5)], label="p")
    down = Axis(0.35, 1.05, [(mark / 10, f"{mark / 10:.1f}") for mark in range(4, 11)], label="exponent of T")
    return Chart("Figure 1, by learners", [*dots, *curves], across, down, [*legend, *curves])


CLAIM = Claim(
    "figure-1-learners",
    "Figure 1, by learners",
    "Figure 1, section 2, with theorem 'ftl', section 3.2, and the theorem on Lipschitz contextual bandits, appendix",
    "The figure's exponents are of bounds. Here are those of learners that claim some of them, as far as they can be "
    "seen at the T that can be played.",
    measure,
    units,
    judge,
    errata=(17,),
    controls=(Control(NOTHING, _untold),),
)
