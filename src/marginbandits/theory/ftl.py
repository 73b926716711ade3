"""Smoothed follow-the-leader in the stochastic setting: uniform deviations of the weighted hinge, then regret.

    Dev(n)   (1/γ) inf_b {2Kb + 12 ∫_b^{2B} [√(2K ln(n N(ε))/(nμ)) + 3 ln(n N(ε))/(nμ)] dε}     printed
             (1/γ) inf_b {8Kb + 24 ∫ …}                                                           as the proof shows
    regret   1 + μKT + (1/K) Σ_{m=1}^{⌊log₂ T⌋} 2^{m+1} Dev(2^{m-1})

The infimum is where the integrand meets the slope of the first term, because entropy falls with ε. Rates, with B = 1:

    p >= 2   μ = K^-1 γ^{-p/(p+1)} T^{-1/(p+1)}     (T/γ)^{p/(p+1)}     the statement's μ lacks γ: T^{p/(p+1)}/γ
    p < 2    μ = K^-1 (γ²T)^{-1/3}                  (T/γ)^{2/3}

Foster & Krishnamurthy (2018), Theorem "ftl"; errata E15 and E16.

>>> round(ftl_rate(3.0, Game(n_actions=3, horizon=10_000, margin=1.0)).value)
1000
>>> game = Game(n_actions=3, horizon=10_000, margin=0.5)
>>> ftl_deviation(Power(3.0), game, n=4096, mu=0.05) < ftl_deviation(Power(3.0), game, n=1024, mu=0.05)
True
"""

import itertools
import math
from typing import Annotated

from scipy import integrate, optimize

from marginbandits.theory.entropy import Dimension, Entropy, Power
from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Game
from marginbandits.theory.tuning import smooth_ftl_floor
from marginbandits.validation import Choice, Horizon, Instance, OneOf, Real, validated

__all__ = ["ftl", "ftl_deviation", "ftl_rate"]

Version = Annotated[str, Choice("printed", "proof")]
_CONSTANTS = {"printed": (2.0, 12.0), "proof": (8.0, 24.0)}
SMOOTH_FTL = "FaithfulSmoothFTL, stochastic setting"


@validated
def ftl_deviation(
    entropy: Entropy,
    game: Game,
    *,
    n: Horizon,
    mu: Annotated[float, Real(1e-300, 1)],
    version: Version = "proof",
) -> float:
    """Dev(n), in hinge units: the integral by quadrature, the infimum at its stationary point."""
    K, B = game.n_actions, game.bound
    line, area = _CONSTANTS[version]

    def integrand(scale: float) -> float:
        size = (math.log(n) + entropy._at(scale)) / (n * mu)
        return math.sqrt(2.0 * K * size) + 3.0 * size

    def excess(log_scale: float) -> float:
        # The logarithms' difference: the integrand may be too large for a float, and the search needs a finite one.
        return math.log(min(max(area * integrand(math.exp(log_scale)), 1e-300), 1e300)) - math.log(line * K)

    top, bottom = math.log(2.0 * B), math.log(2.0 * B) - 60.0
    if excess(top) >= 0.0:
        best = 2.0 * B
    elif excess(bottom) <= 0.0:
        best = 0.0
    else:
        best = math.exp(optimize.brentq(excess, bottom, top, xtol=1e-12))
    total = 0.0
    edges = sorted({best, 2.0 * B, *(one for one in (entropy.radius,) if best < one < 2.0 * B)})
    for low, high in itertools.pairwise(edges):
        ends = math.log(max(low, 2.0 * B * math.exp(-60.0))), math.log(high) - 1e-15
        total += integrate.quad(lambda u: math.exp(u) * integrand(math.exp(u)), *ends)[0]
    return float((line * K * best + area * total) / game.margin)


@validated
def ftl(
    entropy: Entropy,
    game: Game,
    *,
    mu: Annotated[float | None, OneOf(Real(1e-300, 1), Instance(type(None)))] = None,
    version: Version = "proof",
) -> Bound:
    """Regret of SmoothFTL over (1/K) inf_f T E<ℓ, ψ(f)>, constants and all."""
    K, T = game.n_actions, game.horizon
    if mu is None:
        mu = _mu(entropy.p if isinstance(entropy, Power) else 0.0, game)
    if mu * K > 1.0 + 1e-12:
        raise ValueError(f"mu must be at most 1/K = {1 / K:g}, got {mu}")
    epochs = range(1, T.bit_length())
    deviations = (2 ** (m + 1) * ftl_deviation(entropy, game, n=2 ** (m - 1), mu=mu, version=version) for m in epochs)
    return Bound(
        "smoothed follow-the-leader",
        {"first round": 1.0, "exploration": mu * K * T, "deviation": math.fsum(deviations) / K},
        T,
        {"mu": mu},
        {"i.i.d. rounds": True, "B <= 1": game.bound <= 1.0},
        benchmark="(1/K) inf_f T E<ℓ, ψ(f)>",
        reference="Theorem ftl, its proof",
        erratum="E15: γ in μ; E16: 8Kb + 24∫, and the first round" if version == "proof" else "E15: γ in μ",
        attained_by=SMOOTH_FTL,
    )


@validated
def ftl_rate(p: Dimension, game: Game) -> Bound:
    """(T/γ)^{p/(p+1)}, or (T/γ)^{2/3} below p = 2."""
    T, g = game.horizon, game.margin
    power = p / (p + 1.0) if p >= 2.0 else 2.0 / 3.0
    return Bound(
        "smoothed follow-the-leader, rate",
        {"rate": (T / g) ** power},
        T,
        {"mu": _mu(p, game), "exponent": power},
        {"T >= γ^-p": math.log(T) >= -max(p, 2.0) * math.log(g) - 1e-12, "B <= 1": game.bound <= 1.0},
        benchmark="(1/K) inf_f T E<ℓ, ψ(f)>",
        reference="Theorem ftl",
        erratum="E15: γ in μ" if p >= 2.0 else "not in the paper: its proof at p < 2",
        attained_by=SMOOTH_FTL,
        order=True,
    )


def _mu(p: float, game: Game) -> float:
    return smooth_ftl_floor(game.n_actions, game.horizon, game.margin, p=p)
