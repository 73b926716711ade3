"""Figure 1 by learners: measured exponents of T at p = 1, 2, 3, over the curves that the bounds draw.

Three learners claim exponents in terms of p:

    exponential weights   over a class of m independent cells, ln N = m ln 2: √(2KT ln N). With m growing like T^{2e-1}
                          that is T^e: at the scale where the chaining bound leaves its first term, e is Figure 1's
                          curve for margins; at the scale T^{-1/(p+2)}, a cover without chaining, e = (p+1)/(p+2)
    LipschitzFTL          p/(p+1); at p = 1, 2/3 (erratum E17)
    SmoothFTL             linear scores in a ball, p = 2: 2/3

Weights over all 2^m policies on m cells are a product over cells, so each cell has its own, with the class's η. Its
problem is the hardest of several: in every cell one action is better by a gap, of order √(m/T) or larger, and regret
is that at the worst of the gaps. The others play the problems of their own claims.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from marginbandits.experiments.claims import lipschitz, smooth_ftl
from marginbandits.experiments.claims.claim import Chart, Claim, Control, Finding, Line, Parameters, Results, slope
from marginbandits.experiments.claims.figure_1 import exponent_curves
from marginbandits.experiments.claims.judging import grows
from marginbandits.experiments.claims.measuring import NOTHING, with_broken
from marginbandits.experiments.marks import PALETTE
from marginbandits.experiments.svg import Axis
from marginbandits.experiments.svg import Line as Curve
from marginbandits.theory import exponents, finite_rate
from marginbandits.types import Array

__all__ = ["CLAIM", "cells_of", "product_weights"]

_Plan = tuple[str, int, tuple[int, ...], int]  # learner, p, horizons, seeds

GAPS = (1.0, 3.0, 10.0, 30.0)
"""In units of √(m/T), no gap above 1; with the largest that there is, 1."""

CHAINED, COVER, LEADER, SMOOTH = "at the scale of chaining", "on a cover", "LipschitzFTL", "SmoothFTL"
NAMES = {
    CHAINED: "exponential weights at the scale of chaining",
    COVER: "exponential weights on a cover",
    LEADER: "LipschitzFTL",
    SMOOTH: "SmoothFTL, linear scores",
}


def claimed(learner: str, p: int) -> float:
    """The exponent that it is to have."""
    if learner in (CHAINED, COVER):
        return exponents(float(p))["margin" if learner == CHAINED else "square"]
    return max(2.0 / 3.0, p / (p + 1.0))


def cells_of(learner: str, p: int, T: int) -> int:
    """m, so that √(T m) is T to the claimed exponent."""
    return max(1, round(math.pow(T, 2.0 * claimed(learner, p) - 1.0)))


def measure(learner: str, p: int, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Expected regret of one run."""
    if learner == LEADER:
        return lipschitz.measure("leader", p, T, seed, broken)
    if learner == SMOOTH:
        return {"regret": smooth_ftl.measure("T", "proof", T, 1.0, seed, broken)["regret"]}
    m = cells_of(learner, p, T)
    gaps = {min(1.0, gap * math.sqrt(m / T)) for gap in GAPS} | {1.0}
    return {"regret": max(_regret(m, T, gap, seed, bool(broken)) for gap in gaps)}


def _regret(m: int, T: int, gap: float, seed: int, untold: bool) -> float:
    """Against the policy that has every cell right: `gap` times how often the other action was likely."""
    rng = np.random.default_rng([seed, m, T])
    cells, best = rng.integers(m, size=T), rng.integers(2, size=m)
    losses = rng.random((T, 2)) < 0.5 - 0.5 * gap * np.where(best[cells][:, None] == np.arange(2), 1.0, -1.0)
    second = product_weights(cells, losses * (not untold), m, rng.random(T))
    return gap * float(np.where(best[cells] == 1, 1.0 - second, second).sum())


def product_weights(cells: Any, losses: Any, m: int, draws: Any) -> Array:
    """Exp4 over all 2^m policies on m cells: the probability of the second action in every round.

    `losses` are T x 2, of which the action played is seen: the second where the draw, uniform on [0, 1), is below its
    probability.
    """
    eta = finite_rate(m * math.log(2.0), 2.0, len(cells), anytime=False)
    ahead, law = [0.0] * m, []  # by how much the first action's estimated loss is larger, in each cell
    for cell, (first, second), draw in zip(cells.tolist(), losses.tolist(), draws.tolist(), strict=True):
        share = 1.0 / (1.0 + math.exp(-min(max(eta * ahead[cell], -700.0), 700.0)))
        law.append(share)
        if draw < share:
            ahead[cell] -= second / share
        else:
            ahead[cell] += first / (1.0 - share)
    return np.array(law)


def units(quick: bool) -> list[Parameters]:
    """Exponential weights are cheap, and go farther."""
    far, near = ((1000, 4000, 16_000), (512, 2048)) if quick else ((1000, 8000, 64_000), (1024, 4096, 16_384))
    plan: list[_Plan] = [(learner, p, far, 6 if quick else 12) for learner in (CHAINED, COVER) for p in (1, 2, 3)]
    plan += [(LEADER, p, near[: 2 if p == 3 else 3], 3 if quick else 6) for p in ((1, 2) if quick else (1, 2, 3))]
    plan += [(SMOOTH, 2, near, 3 if quick else 6)]
    return _planned(plan)


def _planned(plan: Iterable[_Plan]) -> list[Parameters]:
    return [
        {"learner": learner, "p": p, "T": T, "seed": seed}
        for learner, p, horizons, seeds in plan
        for T in horizons
        for seed in range(seeds)
    ]


def _untold(quick: bool) -> list[Parameters]:
    kinds = dict.fromkeys((one["learner"], one["p"]) for one in units(quick))
    return with_broken(_planned((learner, p, (256, 2048), 4) for learner, p in kinds), NOTHING)


def judge(results: Results) -> Finding:
    """Each learner's exponent against its claim; over the curve, with its interval."""
    lines: list[Line] = []
    dots: list[Curve] = []
    legend: list[Curve] = []
    for (learner, mine), colour in zip(results.split("learner"), PALETTE[3:], strict=False):
        for p, of in mine.split("p"):
            found, stated = slope(of, "T", "regret"), claimed(learner, p)
            both = learner in (CHAINED, COVER)
            lines.append(
                grows(
                    f"Figure 1 by learners: {NAMES[learner]}, p = {p}",
                    f"{'like' if both else 'at most'} T^{stated:.3f}",
                    {"": (found, stated)},
                    rival=1.0,
                    where=f"T from {min(of.each('T')):,} to {max(of.each('T')):,}",
                    both=both,
                )
            )
            at = p + 0.08 * (list(NAMES).index(learner) - 1.5)
            dots.append(Curve(NAMES[learner], [at], [found.mean], colour, dots=True))
            dots.append(Curve("", [at, at], [found.low, found.high], colour))
        legend.append(Curve(NAMES[learner], [0.0], [0.0], colour, dots=True))
    drawn = exponent_curves(4.0)
    chart = Chart(
        "Figure 1, and what learners measure",
        [*dots, *drawn],
        Axis.of([0.0, 4.0], "p"),
        Axis(0.4, 1.0, [(mark, f"{mark:.1f}") for mark in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)], label="exponent of T"),
        [*drawn, *legend],
    )
    note = (
        "Bars are 95% intervals over seeds. Nothing that runs claims the margin curve's T^{(p+2)/(p+4)} for a whole "
        "class of p < 2: the theorem behind it is not constructive. What is measured there is its first term, "
        "exponential weights at the scale from which chaining goes on. The rival is linear growth."
    )
    return Finding(lines, [chart], [note])


CLAIM = Claim(
    "figure-1-learners",
    "Figure 1 by learners",
    "Figure 1, Proposition 'entropy_growth', Theorem 'ftl', sections 2 and 3.2; appendix on Lipschitz bandits",
    "The learners that claim exponents of T in terms of p, run, and their exponents over the curves of Figure 1.",
    measure,
    units,
    judge,
    errata=(17,),
    controls=(Control(NOTHING, _untold),),
)
