"""SmoothFTL with the ramp: where labels are wrong far out, its leader holds on to the rule that the hinge's gives up.

The hinge theorem's proof goes through for the ramp, regret (T/γ)^{2/3} over min_f T E<ℓ, φ(f)>, if leaders are the
least; the ramp is not convex, and nobody can promise that. Here the class has two parameters, so that the benchmark is
known from a grid, and the oracle's failures would show.

    "ramp"     leaders by `RampERM`, which starts from many places
    "stuck"    the same from the hinge's minimiser only
    "hinge"    `SmoothFTL.from_theory`, against the same benchmark
"""

from collections.abc import Mapping
from functools import cache

import numpy as np

from marginbandits.environments import FarWrongLabels
from marginbandits.evaluation import interval
from marginbandits.experiments.claims.claim import Claim, Finding, Line, Parameters, Results, shown, slope
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.growing import grows
from marginbandits.experiments.claims.judging import under
from marginbandits.experiments.claims.measuring import NOTHING, control, played
from marginbandits.learners import SmoothFTL
from marginbandits.oracles.ramp_erm import RampERM
from marginbandits.projections import ball
from marginbandits.surrogates import Ramp
from marginbandits.theory import Game, ftl_rate

__all__ = ["CLAIM"]

MARGIN, BINNING = 0.2, 0.75
STUCK = "all oracles start from the hinge's minimiser only"
NAMES = {"ramp": "ramp", "stuck": "ramp, one start", "hinge": "hinge"}


def measure(learner: str, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Expected regret of one run over the least expected ramp of the class."""
    env = FarWrongLabels(T, seed=seed)
    one_start = learner == "stuck" or (learner == "ramp" and broken == STUCK)
    agent = SmoothFTL.from_theory(
        n_features=2,
        n_actions=2,
        horizon=T,
        margin=MARGIN,
        surrogate="hinge" if learner == "hinge" else "ramp",
        oracle=RampERM(MARGIN, starts=0) if one_start else None,
        long_contexts="shorten",
        outside_theory=True,
        seed=seed,
    )
    laws = played(agent, env, broken).laws
    return {
        "regret": float((laws * env.losses).sum()) - T * _benchmark(),
        "rate": ftl_rate(2.0, Game(2, T, MARGIN)).value,
    }


@cache
def _benchmark() -> float:
    """The least mean ramp over a grid of the disc, on many rounds of the same law."""
    env = FarWrongLabels(40_000, seed=10**6)
    rows = ball(env.contexts, 1.0)
    rows, counts = np.unique(
        np.concatenate([rows - rows.mean(1, keepdims=True), env.losses[:, :, None]], 2), axis=0, return_counts=True
    )
    angle, radius = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 1441), np.linspace(0.05, 1.0, 20))
    theta = np.stack([radius * np.cos(angle), radius * np.sin(angle)]).reshape(2, -1)
    paid = (Ramp(MARGIN)(rows[:, :, :2] @ theta) * rows[:, :, 2:]).sum(1)
    return float((counts @ paid / counts.sum()).min())


def units(quick: bool) -> list[Parameters]:
    """T over a factor of 16."""
    horizons, seeds = ((512, 2048, 8192), 5) if quick else ((1024, 4096, 16_384), 16)
    return [{"learner": learner, "T": T, "seed": seed} for learner in NAMES for T in horizons for seed in range(seeds)]


def _few(quick: bool) -> list[Parameters]:
    return [one for one in units(quick) if one["seed"] < 4 and one["T"] < 8192]


def judge(results: Results) -> Finding:
    """Slopes of regret over the ramp's benchmark."""
    found = {name: slope(one, "T", "regret") for name, one in results.split("learner")}
    horizons = results.each("T")
    ends = {name: one.where(T=max(horizons)).values("regret") for name, one in results.split("learner")}
    last = {name: interval(one) for name, one in ends.items()}
    more = {name: interval(ends[name] - ends["ramp"]) for name in ("stuck", "hinge")}
    sure = {name: under(interval(ends["ramp"] - ends[name]), -1.0) for name in more}
    lines = [
        grows(
            "SmoothFTL with the ramp: growth with T",
            "at most T^{2/3} over min_f T E<ℓ, φ(f)>, if leaders are the least",
            {"": results.where(learner="ramp")},
            rival=BINNING,
            against="rate",
        ),
        Line(
            "It needs an oracle that leaves the hinge's valley",
            "more regret where leaders are not the least",
            f"from the hinge's minimiser alone: exponent {shown(found['stuck'], 2)}, regret larger by "
            f"{shown(more['stuck'], 0)} than {shown(last['ramp'], 0)} at T = {max(horizons):,}",
            sure["stuck"],
            1,
        ),
        Line(
            "The hinge's leader gives the rule up",
            "its theorem is about the hinge's benchmark, which is larger here",
            f"exponent {shown(found['hinge'], 2)}, regret larger by {shown(more['hinge'], 0)}",
            sure["hinge"],
            1,
        ),
    ]
    groups = {NAMES[name]: one for name, one in results.split("learner")}
    chart = growth("Regret over the least ramp", groups, over="T", bound=None, label="regret", floor=1.0)
    return Finding(lines, [chart])


CLAIM = Claim(
    "ramp-ftl",
    "SmoothFTL with the ramp",
    "Algorithm 3 with φ in place of ψ, section 3.2, and the proof of Theorem 'ftl'",
    "Follow the leader over the ramp, played in proportion to it, has the hinge's rate against the least expected "
    "ramp, given an oracle for it.",
    measure,
    units,
    judge,
    controls=(control(STUCK, _few), control(NOTHING, _few)),
)
