"""Learning the margin over an infinite class: covers of the linear class at every scale, at every margin.

A linear class is covered within γ/2 by N(γ) regressors, and the ramp at margin γ sees no more of it than that. So
exponential weights over the covers of G margins, at all these margins, compete with every linear score at each of them:

    proved    loss <= min over γ of the grid and f of the covers of Σ <ℓ, φ_γ(f)> + K √(2T ln(G Σ_γ N(γ)))

and Σ N(γ) is of order γ_min^-d: not to know γ costs √(d ln(1/γ_min)) in place of √(d ln(1/γ)), a logarithm again. What
is **not** proved: classes whose entropy is a power ε^-p, where a finer scale costs a power of T; and the hinge, whose
price 1 + B/γ is of γ itself, so that no one η serves all margins. Nothing is proved of the practical learner either.

The worlds are realizable at a margin γ*, which no learner is told. A margin above 2γ*/3 is too wide for its cover.

    "ramp" "hinge"   exponential weights at one margin, over the cover of its scale
    "learnt"         the ramp over all covers and margins
    "practical"      `HingeLMC` with its defaults, at its own margins
"""

import itertools
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from marginbandits.environments import HingeRealizable
from marginbandits.evaluation import interval
from marginbandits.experiments.claims.claim import (
    Claim,
    Dots,
    Finding,
    Line,
    Parameters,
    Results,
    Verdict,
    shown,
)
from marginbandits.experiments.claims.judging import above, bounded, under, worst_of
from marginbandits.experiments.claims.measuring import NOTHING, control, limits, played
from marginbandits.experiments.marks import Mark
from marginbandits.learners import ExponentialWeights, HingeLMC
from marginbandits.scores.cover import linear_cover
from marginbandits.theory import Bound, Game, exponential_weights
from marginbandits.types import Array

__all__ = ["CLAIM", "TRUE"]

K, D = 2, 2
LEVELS = (0.4, 0.1, 0.025)
TRUE = (0.6, 0.15, 0.04)
PRACTICAL = (0.25, 1.0, 4.0)
WIDE = "only the widest margin to learn from, and scores that do not grow"
DEAF = "told nothing: who learns the margin, alone"


def measure(true: float, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Expected loss of every learner in a world of margin `true`; that of "learnt" is its regret, over a ramp of 0."""
    env = HingeRealizable(K, D, T, margin=true, seed=seed)
    known = LEVELS[:1] if broken == WIDE else LEVELS

    def lost(agent: ExponentialWeights | HingeLMC, told: str = broken) -> float:
        return float((played(agent, env, told).laws * env.losses).sum())

    def hinge(margin: float, level: float) -> ExponentialWeights:
        return ExponentialWeights.from_theory(
            K, regressors=_cover(level), surrogate="hinge", margin=margin, horizon=T, seed=seed
        )

    def bound(n: int, G: int = 1) -> Callable[[int], Bound]:
        return lambda rounds: exponential_weights(n, Game(K, rounds, 1.0), n_margins=G)

    found = {}
    for level in LEVELS:
        alone = ExponentialWeights.from_theory(
            K, regressors=_cover(level), surrogate="ramp", margin=level, horizon=T, seed=seed
        )
        found[f"ramp, γ = {level}"], found[f"hinge, γ = {level}"] = lost(alone), lost(hinge(level, level))
        found[f"bound, γ = {level}"] = bound(len(_cover(level)))(T).value
    whole = np.concatenate([_cover(level) for level in known])
    agent = ExponentialWeights.from_theory(
        K, regressors=whole, surrogate="ramp", margins=list(known), horizon=T, seed=seed
    )
    found["regret"] = lost(agent, NOTHING if broken == DEAF else broken)
    for margin in PRACTICAL:
        practical = HingeLMC(K, margin=margin, features="raw", seed=seed)
        found[f"practical, γ = {margin}"] = lost(hinge(margin, LEVELS[0]) if broken == WIDE else practical)
    n = sum(len(_cover(level)) for level in LEVELS)
    return {**found, **limits(bound(n, len(LEVELS)), T, float(env.losses.mean(1).sum()))}


@cache
def _cover(level: float) -> Array:
    return linear_cover(K, D, epsilon=level / 2)


def units(quick: bool) -> list[Parameters]:
    """Three margins of the world."""
    T, seeds = (1000, 3) if quick else (10_000, 6)
    return [{"true": true, "T": T, "seed": seed} for true in TRUE for seed in range(seeds)]


def judge(results: Results) -> Finding:
    """The learnt margin against its bound and against the best fixed one; what a wrong one costs."""
    worlds = {f"γ* = {true}": mine for true, mine in results.split("true")}
    stated = "at most K √(2T ln(G Σ N(γ))) (not in the paper)"
    lines = [bounded("The margin of a linear class can be learnt", stated, worlds)]
    charts, words, each_price = [], [], []
    names = [f"ramp, γ = {level}" for level in LEVELS]
    for name, mine in worlds.items():
        T = mine.each("T")[0]
        fixed = [float(mine.values(one).mean()) for one in names]
        best, worst = names[int(np.argmin(fixed))], names[int(np.argmax(fixed))]
        price = max(float((mine.values("bound") - mine.values("bound, " + best.split(", ")[1])).mean()), 0.0)
        gap, apart = interval(mine.values("regret") - mine.values(best)), max(fixed) - min(fixed)
        words.append(
            f"{name}: {shown(gap, 0)} of {price:,.0f} more than {best}, bound/T {price / T:.4f}, where {worst} loses "
            f"{apart:,.0f} more"
        )
        if price < apart:
            each_price.append(under(gap, price))
        else:
            words[-1] += (
                f": does not bite before T = {T * (price / max(apart, 1e-9)) ** 2:,.0f}"  # the price is of order √T
            )
        rows = [
            (one, mine.interval(one), Mark.of(i))
            for i, kind in enumerate(("ramp", "hinge"))
            for one in (f"{kind}, γ = {level}" for level in LEVELS)
        ]
        charts.append(
            Dots(
                f"Loss, {name}, T = {T:,}",
                [*rows, ("learnt", mine.interval("regret"), Mark.of(2))],
                "mean, with its 95% interval",
            )
        )
    lines.append(
        Line(
            "Not to know it costs a logarithm over the best fixed margin",
            "at most the difference of the bounds (not in the paper)",
            "; ".join(words),
            worst_of(each_price) if each_price else Verdict.IDLE,
            len(each_price),
        )
    )
    wide, narrow = (f"hinge, γ = {level}" for level in (LEVELS[0], LEVELS[-1]))
    each = {true: interval(mine.values(wide) - mine.values(narrow)) for true, mine in results.split("true")}
    lines.append(
        Line(
            "With the hinge no one margin serves all worlds",
            "the wide one loses less where γ* is wide, and more where it is not; B/γ is part of its price",
            "; ".join(f"γ* = {true}: {wide} loses {shown(one, 0)} more than {narrow}" for true, one in each.items()),
            worst_of([under(each[TRUE[0]], -1.0), above(each[TRUE[-1]], 1.0)]),
            2,
        )
    )
    T = results.each("T")[0]
    between = [
        interval(mine.values(f"practical, γ = {one}") - mine.values(f"practical, γ = {other}"))
        for _, mine in results.split("true")
        for one, other in itertools.combinations(PRACTICAL, 2)
    ]
    farthest = max(between, key=lambda one: max(one.high, -one.low))
    lines.append(
        Line(
            "The practical Hinge-LMC need not be told the margin",
            "its margin is in units of scores that grow as they must: within 0.005T of each other (nothing is proved)",
            f"margins {', '.join(map(str, PRACTICAL))}: two of them differ by {shown(farthest, 1)} at most, where "
            f"0.005T = {0.005 * T:.0f}",
            worst_of(one for gap in between for one in (under(gap, 0.005 * T), above(gap, -0.005 * T))),
            len(between),
        )
    )
    notes = [
        "For the ramp over a linear class the smallest margin is best again, and must be: a smaller ramp lies below a "
        "larger one, so that every benchmark is lower, and a finer cover costs only a logarithm, which exponential "
        "weights do not even pay where many of its functions are good. What is not trivial is to have a cover fine "
        "enough: a margin that is too wide loses several times as much. With the hinge the best margin is another in "
        "every world, and there nothing learns it.",
        "Where a finer scale costs a power of T, not a logarithm, the remark stands: nothing here learns γ for classes "
        "of entropy ε^-p, or with the hinge.",
    ]
    return Finding(lines, charts, notes)


CLAIM = Claim(
    "margins-infinite",
    "Learning the margin of an infinite class",
    "Second remark after Proposition 'entropy_growth', section 2",
    "The paper remarks that 'learning the best value of γ online appears challenging'. For linear classes, exponential "
    "weights over covers of all scales, each at all margins, learn it with the ramp for the price of a logarithm.",
    measure,
    units,
    judge,
    controls=(control(WIDE, units), control(NOTHING, units), control(DEAF, units)),
)
