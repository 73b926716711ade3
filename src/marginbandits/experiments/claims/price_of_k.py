"""The price of K: margin regret pays K√T where policies pay √(KT).

Contexts are 16 cells; every regressor is a random policy with its full margin (scores (K - 1)γ and -γ), so that all
surrogates agree on what is best, and one of them is always right. What differs is the learning rate that each variance
bound allows. The environment has a label in every cell: a mistake costs 1.
"""

import math
from collections.abc import Mapping

import numpy as np

from marginbandits.environments import Oblivious
from marginbandits.experiments.claims.claim import Claim, Finding, Line, Parameters, Results, shown, slope, verdict
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.simulate import simulate
from marginbandits.learners import ExponentialWeights

__all__ = ["CLAIM"]

CELLS, N = 16, 64
STATED = {"policy": 0.5, "ramp": 1.0}
BOUNDS = {"policy": "√(2KT ln N)", "ramp": "K √(2T ln N)"}
SLACK = 0.1
"""What a slope's interval may exceed its exponent by: at K = 2 uniform play is right half of the time."""


def measure(surrogate: str, K: int, T: int, seed: int) -> Mapping[str, float]:
    """Expected regret of one run against the regressor that is always right."""
    rng = np.random.default_rng([seed, K])
    choices = rng.integers(K, size=(N, CELLS))
    weights = (K * (choices[:, None] == np.arange(K)[:, None]) - 1.0) / (K - 1.0)  # scores of the margin 1/(K - 1)
    cells = rng.integers(CELLS, size=T)
    losses = 1.0 - np.eye(K)[choices[0, cells]]
    agent = ExponentialWeights(K, regressors=weights, surrogate=surrogate, margin=1.0 / (K - 1.0), horizon=T, seed=seed)
    trace = simulate(agent, Oblivious.of(np.eye(CELLS)[cells], losses))
    return {"regret": float((trace.laws * losses).sum()), "bound": agent.bound(T).value}


def units(quick: bool) -> list[Parameters]:
    """K from 2 to 16, in full to 64."""
    T, seeds = (6000, 4) if quick else (20_000, 8)
    return [
        {"surrogate": surrogate, "K": K, "T": T, "seed": seed}
        for surrogate in STATED
        for K in (2, 4, 8, 16, 32, 64)[: 4 if quick else 6]
        for seed in range(seeds)
    ]


def judge(results: Results) -> Finding:
    """Everything under its bound, and no slope in K steeper than the bound's."""
    lines = []
    for surrogate, mine in results.split("surrogate"):
        found = slope(mine, "K", "regret")
        share = max(one.interval("regret").high / float(one.values("bound").mean()) for _, one in mine.split("K"))
        name = "Exp4" if surrogate == "policy" else "the ramp"
        lines.append(
            Line(
                f"How regret of {name} grows with K",
                f"at most like K^{STATED[surrogate]:g}, and under {BOUNDS[surrogate]}",
                f"exponent {shown(found, 2)}; at most {share:.2f} of the bound",
                verdict(found.high <= STATED[surrogate] + SLACK, rate=True) if share <= 1.0 else verdict(False),
            )
        )
    ramp, policy = (results.where(surrogate=one) for one in ("ramp", "policy"))
    apart = [
        (ramp.where(K=k).interval("regret").mean / policy.where(K=k).interval("regret").mean) / math.sqrt(k)
        for k in results.each("K")
    ]
    steeper = slope(ramp, "K", "regret").low > slope(policy, "K", "regret").high
    lines.append(
        Line(
            "Margins cost a factor √K over policies",
            "K √T against √(KT)",
            f"ramp regret is {min(apart):.2f} to {max(apart):.2f} times √K policy regret",
            verdict(bool(steeper), rate=True),
        )
    )
    T = results.each("T")[0]
    chart = growth(f"Regret at T = {T:,}", {s: results.where(surrogate=s) for s in STATED}, over="K")
    note = f"N = {N} regressors over {CELLS} cells, one of them always right; each K has its own margin 1/(K - 1)."
    return Finding(lines, [chart], [note])


CLAIM = Claim(
    "price-of-k",
    "The price of K",
    "Example 'finite_cb', section 2",
    "Against margin benchmarks the paper's regret is of order K√(T ln N), against policies √(KT ln N). The difference "
    "comes from the variance of surrogates, which forces a smaller learning rate.",
    measure,
    units,
    judge,
)
