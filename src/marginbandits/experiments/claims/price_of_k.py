"""The price of K: margin regret pays K√T where policies pay √(KT).

Contexts are 16 cells; every regressor is a random policy with its full margin (scores (K - 1)γ and -γ), so that all
surrogates agree on what is best, and one of them is always right. What differs is the learning rate that each variance
bound allows. The environment has a label in every cell: a mistake costs 1.

How regret grows with K is asked in units of what uniform play loses a round, 1 - 1/K, as `smooth_ftl` does.
"""

from collections.abc import Mapping

import numpy as np

from marginbandits.environments import Oblivious
from marginbandits.experiments.claims.claim import Claim, Finding, Line, Parameters, Results, slope
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.growing import grows
from marginbandits.experiments.claims.judging import bounded
from marginbandits.experiments.claims.measuring import NOTHING, control, limits, played
from marginbandits.experiments.claims.rounds import of_uniform
from marginbandits.learners import ExponentialWeights

__all__ = ["CLAIM"]

CELLS, N = 16, 64
NAMES = {"policy": "Exp4", "ramp": "the ramp"}
BOUNDS = {"policy": "√(2KT ln N)", "ramp": "K √(2T ln N)"}
SMALL = "a learning rate K times too small"


def measure(surrogate: str, K: int, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Expected regret of one run against the regressor that is always right."""
    rng = np.random.default_rng([seed, K])
    choices = rng.integers(K, size=(N, CELLS))
    weights = (K * (choices[:, None] == np.arange(K)[:, None]) - 1.0) / (K - 1.0)  # scores of the margin 1/(K - 1)
    cells = rng.integers(CELLS, size=T)
    losses = 1.0 - np.eye(K)[choices[0, cells]]
    horizon = T * (K * K if broken == SMALL else 1)
    agent = ExponentialWeights(
        K, regressors=weights, surrogate=surrogate, margin=1.0 / (K - 1.0), horizon=horizon, seed=seed
    )
    trace = played(agent, Oblivious.of(np.eye(CELLS)[cells], losses), broken)
    regret, uniform = float((trace.laws * losses).sum()), T * (1.0 - 1.0 / K)
    return {"regret": regret, "of uniform": of_uniform(regret, uniform, T), **limits(agent.bound, T, uniform)}


def units(quick: bool) -> list[Parameters]:
    """K from 2 to 16, in full to 32."""
    T, seeds = (6000, 4) if quick else (20_000, 8)
    return [
        {"surrogate": surrogate, "K": K, "T": T, "seed": seed}
        for surrogate in NAMES
        for K in (2, 4, 8, 16, 32)[: 4 if quick else 5]
        for seed in range(seeds)
    ]


def _few(quick: bool) -> list[Parameters]:
    return [one for one in units(quick) if one["seed"] < 2]


def judge(results: Results) -> Finding:
    """Everything under its bound; slopes in K against the bounds', and their difference against that of the bounds'."""
    lines, T = [], results.each("T")[0]
    for surrogate, mine in results.split("surrogate"):
        name = NAMES[surrogate]
        cells = {f"K = {K}": one for K, one in mine.split("K")}
        lines.append(bounded(f"Regret of {name} for every K", f"at most {BOUNDS[surrogate]}", cells))
        lines.append(
            _over_k(
                f"How regret of {name} grows with K",
                f"like {BOUNDS[surrogate]}, in units of what uniform play loses a round",
                {"": mine},
                1.0 if surrogate == "policy" else 1.5,
            )
        )
    pair = (results.where(surrogate="ramp"), results.where(surrogate="policy"))
    claim = "Margins cost a factor √K over policies"
    lines.append(_over_k(claim, "K √T against √(KT)", {"ramp against Exp4, seed by seed": pair}, 1.0))
    chart = growth(f"Regret at T = {T:,}", {s: results.where(surrogate=s) for s in NAMES}, over="K")
    by_itself = slope(results, "K", "uniform").mean
    note = (
        f"N = {N} regressors over {CELLS} cells, one of them always right; each K has its own margin 1/(K - 1). At "
        f"K = 2 uniform play is right half of the time, later hardly ever: its own regret grows like K^{by_itself:.2f} "
        "over these K. That much is taken off the exponents of regret, and not off the bounds'; in the "
        "difference of the two it cancels."
    )
    return Finding(lines, [chart], [note])


def _over_k(claim: str, stated: str, runs: Mapping[str, Results | tuple[Results, Results]], rival: float) -> Line:
    T = next(one[0] if isinstance(one, tuple) else one for one in runs.values()).each("T")[0]
    return grows(claim, stated, runs, rival=rival, over="K", of="of uniform", both=True, where=f"at T = {T:,}")


CLAIM = Claim(
    "price-of-k",
    "The price of K",
    "Example 'finite_cb', section 2",
    "Against margin benchmarks the paper's regret is of order K√(T ln N), against policies √(KT ln N). The difference "
    "comes from the variance of surrogates, which forces a smaller learning rate.",
    measure,
    units,
    judge,
    controls=(control(SMALL, _few), control(NOTHING, _few)),
)
