"""Geometric resampling: the bias of capped weights, as printed, as it is, and repaired (erratum E10).

Hinge-LMC estimates 1/q_a, q = p^μ, by the number of fresh draws until action a comes up again, at most M. The mean is
(1 - (1 - q)^M)/q, so what is missing from the surrogate in every round is

    Σ_a ℓ(a) E ψ_a (1 - q_a)^M       printed <= (1 + B/γ)/(eM)       right <= K Z_max/(eM(1 - Kμ))

With all scores above -γ, ψ = Kπ: K - 1 actions played with probability 1/(M + 1) each make the left side about
K(K - 1)/(eM), against a printed K/(eM). In regret the bias counts 1/K: with M = √T that is of order K√T, with
M = ⌈K√T⌉ of order √T again. The mean number of draws is at most K for any M, so the repair costs nothing.
"""

import math
from collections.abc import Mapping

import numpy as np

from marginbandits import policies
from marginbandits.evaluation import Interval
from marginbandits.experiments.claims.claim import Claim, Finding, Line, Parameters, Results, Verdict, shown, verdict
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.judging import under, worst_of
from marginbandits.experiments.claims.measuring import control
from marginbandits.theory import Game
from marginbandits.weighting import geometric_moments

__all__ = ["CLAIM"]

UNREPAIRED, OTHER = "the repaired cap is the printed one", "actions come up half as often as they are played"


def measure(K: int, T: int, cap: str, n: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """The bias of a round: exact, and from n simulated rounds; with both bounds and the draws a round takes."""
    M = math.isqrt(T) if cap == "printed" or broken == UNREPAIRED else math.ceil(K * math.sqrt(T))
    mu = 1.0 / (K * math.sqrt(T))
    rare = min(1.0 / (M + 1.0), 0.5 / (K - 1.0))
    play = np.full(K, rare)
    play[0] = 1.0 - (K - 1) * rare
    losses = np.r_[0.0, np.ones(K - 1)]
    psi, q = K * play, policies.explore(play, mu)
    rng = np.random.default_rng([seed, K, T])
    actions = rng.choice(K, size=n, p=q)
    again = 0.5 * q if broken == OTHER else q  # the chance of a fresh draw
    weights = np.minimum(rng.geometric(again[actions]), M)
    estimate = losses[actions] * weights * psi[actions]
    missing = float(losses @ psi) - estimate
    game = Game(K, T, 1.0, float(np.abs(psi - 1.0).max()))
    return {
        "exact": float((losses * psi * (1.0 - q) ** M).sum()),
        "simulated": float(missing.mean()),
        "error": float(missing.std(ddof=1) / math.sqrt(n)),
        "printed": game.hinge_range / (math.e * M),
        "corrected": K * game.largest_sum / (math.e * M * (1.0 - K * mu)),
        "draws": float((q * geometric_moments(again, M)[0]).sum()),
        "regret": T / K * float((losses * psi * (1.0 - q) ** M).sum()) / math.sqrt(T),
        "stated": game.hinge_range / (math.e * K),
    }


def units(quick: bool) -> list[Parameters]:
    """Every K with both caps."""
    n = 200_000 if quick else 4_000_000
    return [
        {"K": K, "T": T, "cap": cap, "n": n, "seed": 0}
        for cap in ("printed", "corrected")
        for T in (1000, 10_000)
        for K in (2, 5, 10, 20)
    ]


def judge(results: Results) -> Finding:
    """The simulated bias against both bounds; the exact one must be inside the simulation's interval."""
    exact, simulated, error = (results.values(name) for name in ("exact", "simulated", "error"))
    agree = bool((np.abs(exact - simulated) <= 4.0 * error).all())  # 16 intervals of 4 standard errors: 1 in 1000
    seen = (Interval(*one) for one in zip(simulated, simulated - 1.96 * error, simulated + 1.96 * error, strict=True))
    each = worst_of(under(one, limit) for one, limit in zip(seen, results.values("printed"), strict=True))
    example = results.where(K=10, T=1000, cap="printed")
    at, half = float(example.values("simulated")[0]), 1.96 * float(example.values("error")[0])
    printed, right = float(example.values("printed")[0]), float(example.values("corrected")[0])
    worst = float((exact / results.values("corrected")).max())
    repaired = each is Verdict.FAILS and worst <= 1.0 and agree
    found = {cap: one.where(T=10_000).values("regret") for cap, one in results.split("cap")}
    limit = {cap: one.where(T=10_000).values("stated") for cap, one in results.split("cap")}
    draws = results.values("draws") / np.array([one.parameters["K"] for one in results])
    lines = [
        Line(
            "The bias of a round is at most (1 + B/γ)/(eM)",
            f"{printed:.3f} at K = 10, T = 1000, M = √T",
            f"{shown(Interval(at, at - half, at + half))} there; at most {worst:.3f} of the corrected bound "
            f"K Z_max/(eM(1 - Kμ)), {right:.3f} there",
            Verdict.CORRECTED if repaired else each,
            len(results),
        ),
        Line(
            "In regret, a K-th of it over T rounds is at most (1 + B/γ)√T/(eK)",
            f"{limit['printed'][-1]:.2f} √T at K = 20",
            f"{found['printed'][-1]:.2f} √T at K = 20 with M = √T, {found['corrected'][-1]:.2f} √T with M = ⌈K√T⌉",
            verdict(
                bool((found["printed"] <= limit["printed"]).all()),
                corrected=bool((found["corrected"] <= limit["corrected"]).all()),
            ),
        ),
        Line(
            "Resampling takes K draws a round at most, whatever M",
            "at most K in expectation",
            f"at most {float(draws.max()):.4f} K",
            verdict(bool(draws.max() <= 1.0 + 1e-9)),
        ),
    ]
    chart = growth(
        "Regret from bias, in units of √T, at T = 10,000",
        {"M = √T": results.where(cap="printed", T=10_000), "M = ⌈K√T⌉": results.where(cap="corrected", T=10_000)},
        over="K",
        bound=None,
        label="regret/√T",
    )
    note = (
        "The example is built to show the bias: all scores are above -γ and K - 1 actions are played with probability "
        f"1/(M + 1). Simulation and closed form {'agree' if agree else 'DISAGREE'} within 4 standard errors everywhere."
    )
    return Finding(lines, [chart], [note])


CLAIM = Claim(
    "resampling",
    "Geometric resampling, its bias and its repair",
    "Algorithm 1 and the analysis of Hinge-LMC, appendix, 'From full information to bandits'",
    "Hinge-LMC cannot compute the probability of its action, so it redraws until the action comes up again, M times at "
    "most. The cap makes estimates too small.",
    measure,
    units,
    judge,
    errata=(9, 10, 11),
    controls=(control(UNREPAIRED, units), control(OTHER, units)),
)
