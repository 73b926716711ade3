"""The reduction to full information over a finite class: regret against its bound, in three kinds of worlds.

    ramp, relative margin   K √(2T ln N)
    hinge                   √(2 V₁ T ln N)/K, V₁ the sharp constant of the variance lemma
    policies (Exp4)         √(2KT ln N)

Bounds are on expected regret: the mean over seeds, its 95% interval included, must lie below in every world and at
every T where the bound is below uniform play's regret. How many single runs do is shown beside it. In the first two
worlds losses are fixed beforehand. In the third they react to what is played, in one cell of contexts (`Watching`):
contexts, labels and class are the same for all seeds, and regret is over min_f E, the expectation inside, which is what
the theorem bounds there. Uniform play's regret is its own against that adversary, in expectation.
"""

import math
from collections.abc import Callable, Iterable, Mapping

from marginbandits.experiments.claims.claim import Claim, Finding, Parameters, Results
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.finite import (
    MARGIN,
    SURROGATES,
    K,
    N,
    Watching,
    environment,
    linear_class,
    play,
    surrogate_totals,
    to_the_mean,
)
from marginbandits.experiments.claims.judging import bounded
from marginbandits.experiments.claims.measuring import NOTHING, OPPOSITE, control, limits
from marginbandits.learners import ExponentialWeights
from marginbandits.theory import Bound

__all__ = ["CLAIM"]

ADAPTIVE = "adaptive adversary"
WORLDS = ("stochastic", "switching", ADAPTIVE)
STATED = {
    "ramp": "K √(2T ln N) over min_f Σ <ℓ, φ(f)>",
    "hinge": "√(2 V₁ T ln N)/K over (1/K) min_f Σ <ℓ, ψ(f)>",
    "relative": "K √(2T ln N) over min_f Σ <ℓ, θ(f)>",
    "policy": "√(2KT ln N) over min_π Σ ℓ(π(x))",
}


def measure(surrogate: str, world: str, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """One learner tuned for T rounds, in one world."""
    drawn = 0 if world == ADAPTIVE else seed
    weights, env = linear_class(drawn), environment(world, T, drawn)
    agent = ExponentialWeights(K, regressors=weights, surrogate=surrogate, margin=MARGIN, horizon=T, seed=seed)
    found = play(agent, weights, env, [MARGIN], broken)
    if not isinstance(env, Watching):
        return found
    paid = env.at_random
    least = float(surrogate_totals(weights, env.stage.contexts, paid, surrogate, MARGIN).min())
    return {**found, **limits(agent.bound, T, float(paid.mean(1).sum()) - least)}


def units(quick: bool) -> list[Parameters]:
    """In full, 100 seeds at T = 500, 25 at 2,000, 10 at 8,000."""
    return _planned(((500, 10), (4000, 5)) if quick else ((500, 100), (2000, 25), (8000, 10)))


def _few(quick: bool) -> list[Parameters]:
    return _planned([(2000, 4)])


def _planned(sizes: Iterable[tuple[int, int]]) -> list[Parameters]:
    return [
        {"surrogate": surrogate, "world": world, "T": T, "seed": seed}
        for surrogate in SURROGATES
        for world in WORLDS
        for T, seeds in sizes
        for seed in range(seeds)
    ]


def judge(results: Results) -> Finding:
    """For each surrogate the world and horizon that came closest to the bound, and the share of runs under it."""
    results = Results(
        one
        for _, mine in results.split("surrogate")
        for world, there in mine.split("world")
        for _, runs in there.split("T")
        for one in (to_the_mean(runs) if world == ADAPTIVE else runs)
    )
    lines = []
    for surrogate, mine in results.split("surrogate"):
        name = "Exp4" if surrogate == "policy" else f"the {surrogate}" + " margin" * (surrogate == "relative")
        claim, stated = f"Regret of {name} over a finite class", f"at most {STATED[surrogate]}"
        worlds = dict(mine.split("world"))
        adaptive = {ADAPTIVE: worlds.pop(ADAPTIVE)}
        lines.append(bounded(claim, stated, worlds, 1, promised=_promised))
        claim, stated = f"{claim}, against an adversary that reacts", stated.replace(" Σ", " E Σ")
        lines.append(bounded(claim, stated, adaptive, 1, promised=_promised))
    charts = [
        growth(f"{world}", {s: results.where(world=world, surrogate=s) for s in SURROGATES}, over="T", floor=1.0)
        for world in WORLDS
    ]
    note = (
        f"K = {K} actions, N = {N} linear regressors on the corners of a simplex, γ = {MARGIN:.3f}, the widest; fixed "
        "learning rate, μ = 0. The first world has 10% of labels wrong, the second exchanges the actions after 60% of "
        "the rounds, in the third an adversary charges the favourite in one cell of three, and "
        "regret is over min_f E, not over the least realised total, of which nothing is promised."
    )
    return Finding(lines, charts, [note, "Where mean regret is below 1, or negative, it is drawn at 1."])


def _promised(runs: Results) -> Callable[[int], Bound]:
    """All these bounds grow like √T; the hinge's differs from class to class, and is their mean."""
    bound, T = float(runs.values("bound").mean()), runs.each("T")[0]
    return lambda rounds: Bound("exponential weights", {"all": bound * math.sqrt(rounds / T)}, rounds)


CLAIM = Claim(
    "finite-classes",
    "Finite classes: regret against the bound",
    "Example 'finite_cb' with equation 'exp4' and Lemma 'ips_variance', section 2",
    "Hedge over a finite class of regressors, fed with importance-weighted surrogate losses, is the constructive case "
    "of the paper's reduction from bandits to full information; no uniform exploration is needed.",
    measure,
    units,
    judge,
    controls=(control(NOTHING, _few), control(OPPOSITE, _few)),
)
