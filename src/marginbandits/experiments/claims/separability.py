"""Cost-sensitive and multiclass hinge: zero of the one implies zero of the other, not conversely from K = 3 on.

    CC^γ = Σ_{y ≠ y*} ψ(f_y) = 0   implies   MC^{Kγ} = max(1 - (f_y* - max_{y ≠ y*} f_y)/(Kγ), 0) = 0

The converse is false for K >= 3 (printed: K >= 0; for K = 2 the two losses are one, CC^γ = MC^{2γ}), and MC grows with
γ only where the label's score is largest (printed: always). `MulticlassSeparable` makes a problem of it: labels in
order along a line, multiclass margin for some linear scores, yet the least cost-sensitive hinge grows with T. What is
reported is the dual bound of the hinge oracle over scores of norm up to 500γ: nothing there costs less.
"""

from collections.abc import Mapping

import numpy as np

from marginbandits.environments import HingeRealizable, MulticlassSeparable
from marginbandits.experiments.claims.claim import (
    Claim,
    Finding,
    Line,
    Parameters,
    Results,
    Verdict,
    shown,
    slope,
    verdict,
)
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.judging import at_least
from marginbandits.experiments.claims.measuring import control
from marginbandits.experiments.simulate import simulate
from marginbandits.learners import HingeLMC
from marginbandits.oracles.hinge_erm import HingeERM
from marginbandits.surrogates import (
    centred,
    cost_sensitive_hinge,
    multiclass_hinge,
    multiclass_margin,
    realizable_scores,
)

__all__ = ["CLAIM"]

OTHER = "wide margins, and scores and problems that are separable in both senses"


def measure(kind: str, K: int, seed: int, n: int = 0, T: int = 0, broken: str = "") -> Mapping[str, float]:
    """`kind` "losses": the inequalities over n random cases. `kind` "problem": T rounds of the separable problem."""
    return _losses(K, n, seed, bool(broken)) if kind == "losses" else _problem(K, T, seed, bool(broken))


def _losses(K: int, n: int, seed: int, broken: bool) -> Mapping[str, float]:
    rng = np.random.default_rng([seed, K])
    margin = 10.0 ** rng.uniform(-1, 1)
    scores, label = rng.standard_normal((n, K)) * margin, rng.integers(K, size=n)
    helped = scores.copy()  # about half of these have cost-sensitive hinge 0
    helped[np.arange(n), label] += K * (margin + scores.max(1) - scores.min(1)) * rng.uniform(0.0, 1.5, n)
    zero = cost_sensitive_hinge(helped, label, margin) == 0.0
    implied = multiclass_hinge(helped, label, multiclass_margin(K, (10.0 if broken else 1.0) * margin))[zero]
    other = 10.0 ** rng.uniform(-2, 2, n)
    corner = np.zeros((n, K))
    corner[:, 0], corner[:, -1] = margin, -margin  # (c, 0, …, 0, -c): for K = 2, (c, -c)
    if broken:
        corner[:] = realizable_scores(1.0 - np.eye(K)[0], margin)
    converse = np.array([cost_sensitive_hinge(one, 0, g) for one, g in zip(corner[:2000], other, strict=False)])
    small, large = (multiclass_hinge(scores, label, g) for g in (margin, 2.0 * margin))
    leads = (scores.argmax(1) == label) ^ broken
    return {
        "cases": zero.sum(),
        "implied": implied.max(),
        "converse": converse.min(),
        "multiclass": multiclass_hinge(corner[0], 0, margin),
        "falls": (large < small - 1e-12).mean(),
        "falls where the label leads": (large < small - 1e-12)[leads].mean(),
    }


def _problem(K: int, T: int, seed: int, broken: bool) -> Mapping[str, float]:
    env: MulticlassSeparable | HingeRealizable
    env = HingeRealizable(K, K, T, seed=seed) if broken else MulticlassSeparable(K, T, seed=seed)
    scores, labels = centred(env.contexts @ env.weights.T), env.losses.argmin(1)
    fit = HingeERM(0.02, radius=10.0, tolerance=1e-3).minimise(env.contexts, env.losses)
    trace = simulate(HingeLMC(K, seed=seed), env)
    return {
        "multiclass": multiclass_hinge(scores, labels, env.margin).sum(),
        "cost-sensitive": max(fit.value - fit.gap, 0.0) / K,
        "mistakes": trace.losses.sum(),
    }


def units(quick: bool) -> list[Parameters]:
    """Random cases for every K, then problems of three and five actions."""
    n, horizons, seeds = (20_000, (300, 1000), 4) if quick else (400_000, (300, 1000, 3000, 10_000), 6)
    cases = [{"kind": "losses", "K": K, "n": n, "seed": 0} for K in (2, 3, 5, 10)]
    runs = [{"kind": "problem", "K": K, "T": T, "seed": s} for K in (3, 5) for T in horizons for s in range(seeds)]
    return [*cases, *runs]


def _few(quick: bool) -> list[Parameters]:
    return [one for one in units(quick) if one["seed"] < 2]


def judge(results: Results) -> Finding:
    """Counts of violations; the least cost-sensitive total against T."""
    cases, runs = results.where(kind="losses"), results.where(kind="problem")
    many, two = (Results(one for one in cases if (one.parameters["K"] >= 3) is large) for large in (True, False))
    total = int(cases.values("cases").sum())
    converse = float(many.values("converse").min())
    lines = [
        Line(
            "No cost-sensitive hinge loss at margin γ implies no multiclass hinge loss at Kγ",
            "CC^γ = 0 implies MC^{Kγ} = 0",
            f"largest multiclass hinge {float(cases.values('implied').max()):.1e} in {total:,} cases of no CC",
            verdict(float(cases.values("implied").max()) <= 1e-9 and total > 0),
        ),
        Line(
            "The converse fails for every K",
            "some scores have MC = 0 and CC >= 1 at every margin",
            f"K >= 3: (c, 0, …, -c) has MC = {float(many.values('multiclass').max()):.0f} and CC >= {converse:.2f}; "
            f"K = 2: CC falls to {float(two.values('converse').min()):.2f}",
            verdict(
                converse >= 1.0 - 1e-9 and float(two.values("converse").min()) >= 1.0 - 1e-9,
                corrected=converse >= 1.0 - 1e-9 and float(many.values("multiclass").max()) == 0.0,
            ),
        ),
        Line(
            "The multiclass hinge grows with γ",
            "always",
            f"it falls in {float(cases.values('falls').mean()):.0%} of random cases, in "
            f"{float(cases.values('falls where the label leads').mean()):.0%} where the label's score is largest",
            verdict(not cases.values("falls").any(), corrected=not cases.values("falls where the label leads").any()),
        ),
    ]
    for K, mine in runs.split("K"):
        exponent, T = slope(mine, "T", "cost-sensitive"), max(mine.each("T"))
        last = mine.where(T=T)
        rate = last.interval("cost-sensitive")
        lines.append(
            Line(
                f"Separable with multiclass margin, yet the cost-sensitive benchmark is linear in T (K = {K})",
                "MC = 0 for some linear scores; CC at least cT for all of norm up to 500γ: exponent 1, not 1/2",
                f"MC = {float(mine.values('multiclass').max()):.0f}; CC/K at least {shown(rate, 0)} at T = {T:,}, "
                f"exponent {shown(exponent, 2)}; HingeLMC makes {last.interval('mistakes').mean:.0f} mistakes",
                at_least(exponent, 1.0, rival=0.5)
                if float(mine.values("multiclass").max()) <= 1e-9
                else Verdict.UNSEEN,
                1,
            )
        )
    charts = [
        growth(
            f"The separable problem, K = {K}",
            {"least cost-sensitive hinge/K": mine},
            over="T",
            of="cost-sensitive",
            bound="mistakes",
            label="total (dashed: mistakes of HingeLMC)",
        )
        for K, mine in runs.split("K")
    ]
    return Finding(lines, charts)


CLAIM = Claim(
    "separability",
    "Cost-sensitive versus multiclass hinge",
    "Proposition 'cc_to_mc', appendix 'Comparing Multiclass Loss Functions and Notions of Realizability'",
    "The paper's benchmark for bandit multiclass prediction is a cost-sensitive hinge. Separability in its sense is "
    "stronger than in the multiclass SVM's.",
    measure,
    units,
    judge,
    errata=(22,),
    controls=(control(OTHER, _few),),
)
