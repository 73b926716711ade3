"""Policy regret from margin regret: under ramp realizability, and faster under a hard margin.

Rounds are independent draws. Under *ramp realizability* some f* of the class scores the best action (K - 1)γ and all
others -γ, so that its ramp is the best action itself:

    <E ℓ, φ(f*(x))> = min_a E ℓ(a)          and regret over the ramp benchmark, K √(2T ln N), is policy regret

Under a *hard margin* the best action moreover never loses. Then every loss proves wrong whoever would have played that
action; playing what most of those left would play, each mistake leaves at most a share 1 - 1/K of them:

    mistakes <= K ln N          for ever, where exponential weights tuned for T lose of order √T

The paper's remark refers to classification calibration (Bartlett, Jordan & McAuliffe 2006) for the first and to Daniely
& Halbertal (2013) for improved rates. The class has N random linear regressors beside f*.

    "ramp"          exponential weights with the ramp, policy regret against the best action of every round
    "elimination"   plurality of those never proved wrong, where there is a hard margin
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from marginbandits.environments import HingeRealizable, Oblivious
from marginbandits.evaluation import interval
from marginbandits.experiments.claims.claim import (
    Claim,
    Finding,
    Line,
    Parameters,
    Results,
    shown,
    slope,
    slopes,
)
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.finite import random_class
from marginbandits.experiments.claims.growing import grows
from marginbandits.experiments.claims.judging import apart, bounded
from marginbandits.experiments.claims.measuring import NOTHING, control, limits, played
from marginbandits.experiments.claims.rounds import regret_of, right_means, uniform_regret
from marginbandits.learners import ExponentialWeights
from marginbandits.theory import Bound
from marginbandits.types import Array

__all__ = ["CLAIM"]

K, D, N = 3, 3, 50
MARGIN = 1.0 / ((K - 1) * K**0.5)
"""The widest that is realizable: scores are Kγ 1{best} - γ exactly, so that losses may be noisy."""
NOISE = 0.2
NOBODY = "nobody in the class is always right"


def measure(learner: str, noise: float, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Policy regret of one run and its bound."""
    env = HingeRealizable(K, D, T, margin=MARGIN, noise=noise, seed=seed)
    best = env.best_scores.argmax(1)
    weights = random_class(N, K, D, seed)
    if broken == NOBODY:
        right = _choices(weights, env) == best[:, None]
        weights[right[best == 0].any(0)] *= -1.0  # where the first action is best, nobody says so
    else:
        weights[-1] = _star(env)
    if learner == "elimination":
        mistakes, uniform = float(_eliminate(weights, env, told=broken != NOTHING)), float(env.losses.mean(1).sum())
        ends = Bound("elimination", {"mistakes": K * math.log(N)}, T)
        return {"regret": mistakes, **limits(lambda rounds: replace(ends, horizon=rounds), T, uniform)}
    agent = ExponentialWeights.from_theory(
        K, regressors=weights, surrogate="ramp", margin=MARGIN * (1.0 - 1e-6), horizon=T, seed=seed
    )
    means = right_means(env, noise)
    regret = regret_of(played(agent, env, broken).laws, means)
    return {"regret": regret, **limits(agent.bound, T, uniform_regret(means))}


def _star(env: HingeRealizable) -> Array:
    """The linear scores of the world, from its contexts."""
    return np.asarray(np.linalg.lstsq(env.contexts, env.best_scores, rcond=None)[0].T)


def _choices(weights: Array, env: Oblivious) -> npt.NDArray[np.int64]:
    return np.asarray(np.einsum("nad,td->tna", weights, env.contexts).argmax(2))


def _eliminate(weights: Array, env: Oblivious, *, told: bool) -> int:
    """Mistakes of the plurality of those left; once nobody is left, of the first action.

    Who is not told eliminates nobody.
    """
    choices = _choices(weights, env)
    left, mistakes = np.ones(len(weights), bool), 0
    for choice, losses in zip(choices, env.losses, strict=True):
        action = int(np.bincount(choice[left], minlength=K).argmax())
        if losses[action] > 0.0:
            mistakes += 1
            left &= (choice != action) | (not told)
    return mistakes


def units(quick: bool) -> list[Parameters]:
    """T over a factor of 16 or 64, with noise and without."""
    horizons, seeds = ((500, 2000, 8000), 5) if quick else ((1000, 4000, 16_000, 64_000), 10)
    kinds = [("ramp", NOISE), ("ramp", 0.0), ("elimination", 0.0)]
    return [
        {"learner": learner, "noise": noise, "T": T, "seed": seed}
        for learner, noise in kinds
        for T in horizons
        for seed in range(seeds)
    ]


def _few(quick: bool) -> list[Parameters]:
    return [one for one in units(quick) if one["T"] < 8000]


def judge(results: Results) -> Finding:
    """Policy regret against the margin bound; mistakes against K ln N, and how both grow."""
    ramp, hard = results.where(learner="ramp"), results.where(learner="elimination")
    noisy = {f"noise {noise}": mine for noise, mine in ramp.split("noise")}
    less = interval(slopes(ramp.where(noise=0.0), "T", "regret") - slopes(hard, "T", "regret"))
    lines = [
        bounded("Margin regret is policy regret under ramp realizability", "at most K √(2T ln N)", noisy),
        grows("It grows like √T, whatever the noise", "like K √(2T ln N)", noisy, rival=1.0, both=True),
        bounded("Under a hard margin mistakes end", f"at most K ln N = {K * math.log(N):.1f} for ever", {"": hard}, 1),
        Line(
            "Under a hard margin rates are better than √T",
            "no growth where the ramp's bound grows like √T",
            f"exponent {shown(slope(hard, 'T', 'regret'), 2)}; the ramp's on the same data is larger by "
            f"{shown(less, 2)}",
            apart(less, 0.5),
            1,
        ),
    ]
    groups = {
        "ramp, with noise": ramp.where(noise=NOISE),
        "ramp, hard margin": ramp.where(noise=0.0),
        "elimination, hard margin": hard,
    }
    return Finding(lines, [growth("Policy regret", groups, over="T", floor=1.0)])


CLAIM = Claim(
    "policy-regret",
    "Policy regret under realizability, and under a hard margin",
    "First remark after Proposition 'entropy_growth', section 2",
    "Under i.i.d. losses and ramp realizability the margin bound is a bound of policy regret; with a hard margin, "
    "rates are better than √T.",
    measure,
    units,
    judge,
    controls=(control(NOBODY, _few), control(NOTHING, _few)),
)
