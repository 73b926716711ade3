"""The reduction to full information over a finite class: regret against its bound, in three kinds of worlds.

    ramp, relative margin   K √(2T ln N)
    hinge                   √(2 V₁ T ln N)/K, V₁ the sharp constant of the variance lemma
    policies (Exp4)         √(2KT ln N)

Bounds are on expected regret: the mean over seeds, its 95% interval included, must lie below. How many single runs do
is shown beside it.
"""

from collections.abc import Mapping

import numpy as np

from marginbandits.experiments.claims.claim import Claim, Finding, Line, Parameters, Results, shown, verdict
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.finite import SURROGATES, environment, linear_class, play
from marginbandits.learners import ExponentialWeights

__all__ = ["CLAIM"]

K, D, N, MARGIN = 3, 2, 8, 0.3
WORLDS = ("stochastic", "switching", "adaptive adversary")
STATED = {
    "ramp": "K √(2T ln N) over min_f Σ <ℓ, φ(f)>",
    "hinge": "√(2 V₁ T ln N)/K over (1/K) min_f Σ <ℓ, ψ(f)>",
    "relative": "K √(2T ln N) over min_f Σ <ℓ, θ(f)>",
    "policy": "√(2KT ln N) over min_π Σ ℓ(π(x))",
}


def measure(surrogate: str, world: str, T: int, seed: int) -> Mapping[str, float]:
    """One learner tuned for T rounds, in one world."""
    weights = linear_class(N, K, D, seed)
    agent = ExponentialWeights(K, regressors=weights, surrogate=surrogate, margin=MARGIN, horizon=T, seed=seed)
    return play(agent, weights, environment(world, K, D, T, seed), [MARGIN])


def units(quick: bool) -> list[Parameters]:
    """In full, 200 seeds at T = 125 and 500, 50 at 2,000."""
    sizes = ((125, 20), (500, 10)) if quick else ((125, 200), (500, 200), (2000, 50))
    return [
        {"surrogate": surrogate, "world": world, "T": T, "seed": seed}
        for surrogate in SURROGATES
        for world in WORLDS
        for T, seeds in sizes
        for seed in range(seeds)
    ]


def judge(results: Results) -> Finding:
    """For each surrogate the world and horizon that came closest to the bound, and the share of runs under it."""
    lines = []
    for surrogate, mine in results.split("surrogate"):
        cells = [one for _, of in mine.split("world") for _, one in of.split("T")]
        shares = [one.interval("regret").high / float(one.values("bound").mean()) for one in cells]
        worst = cells[int(np.argmax(shares))]
        under = float((mine.values("regret") <= mine.values("bound")).mean())
        least = min(float((one.values("regret") <= one.values("bound")).mean()) for one in cells)
        where = next(iter(worst)).parameters
        bound = float(worst.values("bound").mean())
        name = "Exp4" if surrogate == "policy" else f"the {surrogate}" + " margin" * (surrogate == "relative")
        lines.append(
            Line(
                f"Regret of {name} over a finite class",
                f"at most {STATED[surrogate]}",
                f"closest ({where['world']}, T = {where['T']:,}): {shown(worst.interval('regret'), 1)} of {bound:.1f}; "
                f"{under:.1%} of {len(mine):,} runs under the bound, {least:.1%} in the worst cell",
                verdict(max(shares) <= 1.0 and least >= 0.95),
            )
        )
    charts = [
        growth(f"{world}", {s: results.where(world=world, surrogate=s) for s in SURROGATES}, over="T", floor=1.0)
        for world in WORLDS
    ]
    note = (
        f"K = {K} actions, N = {N} random linear regressors of {D} features, γ = {MARGIN}; fixed learning rate, μ = 0."
    )
    return Finding(lines, charts, [note, "Where mean regret is below 1, or negative, it is drawn at 1."])


CLAIM = Claim(
    "finite-classes",
    "Finite classes: regret against the bound",
    "Example 'finite_cb' with equation 'exp4' and Lemma 'ips_variance', section 2",
    "Hedge over a finite class of regressors, fed with importance-weighted surrogate losses, is the constructive case "
    "of the paper's reduction from bandits to full information; no uniform exploration is needed.",
    measure,
    units,
    judge,
)
