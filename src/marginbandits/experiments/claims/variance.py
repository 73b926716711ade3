"""Lemma "ips_variance": the second moment of the importance-weighted surrogate, and where its constants are attained.

    E_{a ~ P^μ} E_s <s, ℓ̂>² <= K (simplex)    K² (ramp, relative margin)    K²(1 + B/γ)² (hinge)

with P(a) = E_s s(a)/Σ_b s(b). Random posteriors over scores, losses and μ (0 among them) are tried, and posteriors at
which constants are attained: point masses, zero scores, and for the hinge two opposite score vectors of ±B. For the
hinge the sharp constant is K(1 + B/γ) Z_max, Z_max = K max(1, (1 + B/γ)/2): half of the printed one from B = γ on.

Weighting by the sampled regressor's own probability instead of P is unbiased too, and has no such bound (erratum E26):
that is the control.
"""

from collections.abc import Callable, Mapping

import numpy as np

from marginbandits import policies
from marginbandits.experiments.claims.claim import Claim, Finding, Line, Parameters, Results, verdict
from marginbandits.experiments.claims.figures import curves
from marginbandits.experiments.claims.measuring import control
from marginbandits.experiments.marks import PALETTE
from marginbandits.experiments.svg import Axis
from marginbandits.experiments.svg import Line as Curve
from marginbandits.surrogates import Hinge, Ramp, RelativeMargin, centred
from marginbandits.theory import Game, second_moment
from marginbandits.types import Array

__all__ = ["CLAIM"]

REGRESSORS = 6
OWN = "weights by the regressor's own probability"
STATED = {"simplex": "K", "ramp": "K²", "relative margin": "K²", "hinge": "K²(1 + B/γ)²"}


def measure(K: int, ratio: float, n: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """The largest second moment over its bound, at margin 1 and B = `ratio`."""
    rng = np.random.default_rng([seed, K, int(10 * ratio)])
    game = Game(K, 1, 1.0, max(ratio, 1e-12))
    moment_of = _own if broken else _moment
    found = dict.fromkeys((*STATED, "hinge, sharp"), 0.0)
    zero, opposite = np.zeros((1, K)), ratio * np.stack([np.arange(K) % 2 * 2.0 - 1.0, 1.0 - np.arange(K) % 2 * 2.0])
    for i in range(n):
        scores = centred(rng.standard_normal((REGRESSORS, K)) * 10.0 ** rng.uniform(-1, 1, (REGRESSORS, 1)))
        scores *= ratio / max(np.abs(scores).max(), 1e-12)
        posterior = rng.dirichlet(np.full(REGRESSORS, 10.0 ** rng.uniform(-1, 1)))
        losses, mu = rng.random(K) ** rng.choice([0.1, 1.0]), float(rng.choice([0.0, rng.uniform(0, 1 / K), 1 / K]))
        simplex = rng.dirichlet(np.full(K, 0.3), REGRESSORS)
        if i < 2:  # where the constants are attained; the opposite scores sum to zero for even K
            scores, simplex = (zero if i == 0 or K % 2 else opposite), np.eye(K)
            posterior, losses, mu = np.full(len(scores), 1.0 / len(scores)), np.ones(K), 0.0
        values = {
            "ramp": Ramp(1.0)(scores),
            "relative margin": RelativeMargin(1.0)(scores),
            "hinge": Hinge(1.0)(scores),
        }
        moment = {name: moment_of(one, posterior, losses, mu) for name, one in values.items()}
        moment["simplex"] = moment_of(simplex, np.full(len(simplex), 1.0 / len(simplex)), losses, mu)
        for name, value in moment.items():
            limit = {"simplex": K, "hinge": second_moment("hinge", game, sharp=False)}.get(name, K**2)
            found[name] = max(found[name], value / limit)
        found["hinge, sharp"] = max(found["hinge, sharp"], moment["hinge"] / second_moment("hinge", game))
    return {**found, **_trap(moment_of)}


def _moment(values: Array, posterior: Array, losses: Array, mu: float) -> float:
    """Σ_a ℓ(a)² E s(a)²/P^μ(a); an action that is never played has s(a) = 0 throughout, and adds nothing."""
    P = policies.explore(posterior @ policies.proportional(values), mu)
    squares = posterior @ values**2 * losses**2
    return float((squares[P > 0.0] / P[P > 0.0]).sum())


def _own(values: Array, posterior: Array, losses: Array, mu: float) -> float:
    """Σ_a ℓ(a)² E s(a)² E 1/p^μ(a): the estimate is divided by the probability of the regressor that was sampled."""
    own = policies.explore(policies.proportional(values), mu)
    inverse = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0.0)
    return float(((posterior @ values**2) * losses**2 * (posterior @ inverse)).sum())


def _trap(moment_of: Callable[[Array, Array, Array, float], float]) -> dict[str, float]:
    """Three actions, two regressors that disagree, μ = 0.001/K: weights of the regressor's own, and marginal."""
    values, posterior = Hinge(1.0)(np.array([[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0]])), np.full(2, 0.5)
    bound = second_moment("hinge", Game(3, 1, 1.0, 2.0), sharp=False)
    own, marginal = (one(values, posterior, np.ones(3), 1e-3 / 3) for one in (_own, moment_of))
    return {"own": own, "marginal": marginal, "bound": bound}


def units(quick: bool) -> list[Parameters]:
    """More posteriors in full."""
    n = 500 if quick else 10_000
    return [{"K": K, "ratio": r, "n": n, "seed": 0} for K in (2, 3, 4, 10) for r in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)]


def judge(results: Results) -> Finding:
    """No ratio above 1; where one reaches 1 the constant is attained."""
    cases = sum(results.each("n")) * len(results)
    lines = []
    for name, stated in STATED.items():
        largest = float(results.values(name).max())
        attained = "attained" if largest > 1 - 1e-6 else "not attained"
        words = f"at most {largest:.4f} of it in {cases:,} posteriors: {attained}"
        if name == "hinge":
            wide = max(float(results.where(ratio=r).values(name).max()) for r in results.each("ratio") if r >= 1.0)
            words += f" at B = 0, from B = γ on at most {wide:.4f} of it"
        claim = f"The second moment of the {name}" if name != "simplex" else "The second moment of policies"
        lines.append(Line(claim, f"at most {stated}", words, verdict(largest <= 1.0 + 1e-9)))
    sharp = results.values("hinge, sharp")
    even = [float(results.where(ratio=r).values("hinge, sharp").max()) for r in results.each("ratio") if r >= 1.0]
    attained = "attained for every B >= γ" if min(even) > 1 - 1e-6 else "not attained for some B >= γ"
    lines.append(
        Line(
            "The hinge's sharp constant (not in the paper)",
            "at most K(1 + B/γ) Z_max",
            f"at most {float(sharp.max()):.4f} of it; {attained}",
            verdict(float(sharp.max()) <= 1.0 + 1e-9),
        )
    )
    own, marginal, bound = (float(results.values(name)[0]) for name in ("own", "marginal", "bound"))
    lines.append(
        Line(
            "Estimates must be weighted by the marginal probability (E26)",
            f"at most {bound:.0f} with P^μ; nothing with the regressor's own",
            f"{marginal:.0f} with P^μ, {own:,.0f} with the regressor's own probability",
            verdict(marginal <= bound < own),
        )
    )
    ratios = results.each("ratio")
    drawn = [
        Curve(words, ratios, [float(results.where(ratio=r).values(name).max()) for r in ratios], colour, dots=True)
        for (name, words), colour in zip(
            {"hinge": "hinge, of the printed bound", "hinge, sharp": "hinge, of the sharp one", "ramp": "ramp"}.items(),
            PALETTE,
            strict=False,
        )
    ]
    axis = Axis.of(ratios, "B/γ", marks=ratios)
    return Finding(lines, [curves("Largest second moment found, as a share of its bound", drawn, axis, "share")])


CLAIM = Claim(
    "variance",
    "What importance weighting costs",
    "Lemma 'ips_variance', section 2",
    "Playing the average of the normalised surrogate vectors keeps the variance of the loss estimates bounded, without "
    "any uniform exploration: this is what makes the reduction to full information work.",
    measure,
    units,
    judge,
    errata=(26,),
    controls=(control(OWN, units),),
)
