"""The margin bound by how fast entropy grows, at the parameters of the proposition, and the exponents of Figure 1.

    finite       α = β = 0                μ = √(ln N/(KT))                    K √(T ln N)
    parametric   α = β = γ/(KT)           μ = √(d ln(KT/γ)/(KT))              K √(dT ln(KT/γ))
    p <= 2       α = 1/(KT)               μ = (KT)^{-2/(p+4)} γ^{-2p/(p+4)}   K^{4/(p+4)} T^{(p+2)/(p+4)} γ^{-2p/(p+4)}
                 β = γ^{2/(2+p)} (KTμ)^{-1/(2+p)}
    p >= 2       α = (KTμ)^{-1/p}, β = B  μ = (KT)^{-1/(p+1)} γ^{-p/(p+1)}    (KT/γ)^{p/(p+1)}

`entropy_growth` puts these into `margin_ramp`, constants and all; `growth_rate` is the last column, what the best
parameters give. For p <= 2 the paper prints K^{(p+2)/(p+4)}, which no parameters give; its own ones give
K^{(3p+8)/(2p+8)} (erratum E20), and β = (γ²K/√T)^{2/(p+4)}, μ = β^{-p/2}/√T, where variance, exploration and chaining
are equal, K^{4/(p+4)}. μ is clipped to 1/K, which happens exactly where the bound exceeds T. Foster & Krishnamurthy
(2018), Proposition "entropy_growth" and Figure 1.

>>> [round(exponents(p)["margin"], 4) for p in (0, 1, 2, 3, 4, 6, 8)]
[0.5, 0.6, 0.6667, 0.75, 0.8, 0.8571, 0.8889]
>>> round(growth_rate(Power(3.0), Game(n_actions=2, horizon=8000, margin=1.0)).value)
1423
"""

import dataclasses
import math
from typing import Annotated

from marginbandits.theory.chaining import NOBODY, margin_ramp
from marginbandits.theory.entropy import Entropy, FiniteSize, Parametric, Power
from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Game
from marginbandits.validation import Real, quoted, validated

__all__ = ["entropy_growth", "exponents", "growth_rate"]

_REFERENCE = "Proposition entropy_growth"
_E20 = "E20: K^{4/(p+4)}, where the paper prints K^{(p+2)/(p+4)}"


@validated
def entropy_growth(entropy: Entropy, game: Game) -> Bound:
    """`margin_ramp` at the proposition's α, β and μ."""
    K, T, g = game.n_actions, game.horizon, game.margin
    if isinstance(entropy, FiniteSize):
        alpha = beta = 0.0
        mu = math.sqrt(math.log(entropy.size) / (K * T))
    elif isinstance(entropy, Parametric):
        alpha = beta = g / (K * T)
        mu = math.sqrt(entropy.dimension * _log_parametric(game) / (K * T))
    elif isinstance(entropy, Power):
        p = entropy.p
        if p >= 2.0:
            mu = (K * T) ** (-1.0 / (p + 1.0)) * g ** (-p / (p + 1.0))
            alpha, beta = (K * T * _clipped(mu, K)) ** (-1.0 / p), entropy.radius
        else:
            mu = (K * T) ** (-2.0 / (p + 4.0)) * g ** (-2.0 * p / (p + 4.0))
            alpha, beta = 1.0 / (K * T), g ** (2.0 / (2.0 + p)) * (K * T * _clipped(mu, K)) ** (-1.0 / (2.0 + p))
        alpha, beta = min(alpha, beta, 1e100), min(beta, 1e100)
    else:
        raise ValueError(f"entropy must be FiniteSize, Parametric or Power, got {quoted(entropy)}")
    bound = margin_ramp(entropy, game, mu=_clipped(mu, K), alpha=alpha, beta=beta)
    return dataclasses.replace(
        bound,
        name="margin bound, ramp, at the proposition's parameters",
        conditions={"μ <= 1/K before clipping": mu <= (1.0 + 1e-12) / K},
        reference=_REFERENCE,
    )


@validated
def growth_rate(entropy: Entropy, game: Game) -> Bound:
    """How regret grows, constants and logarithms of the nonparametric case left out."""
    K, T, g = game.n_actions, game.horizon, game.margin
    erratum, met = "", {}
    if isinstance(entropy, FiniteSize):
        value = K * math.sqrt(T * math.log(entropy.size))
    elif isinstance(entropy, Parametric):
        value = K * math.sqrt(entropy.dimension * T * _log_parametric(game))
    elif isinstance(entropy, Power) and entropy.p >= 2.0:
        p = entropy.p
        value = (K * T / g) ** (p / (p + 1.0))
        met = {"T >= (K/γ)^p": math.log(T) >= p * math.log(K / g) - 1e-12}
    elif isinstance(entropy, Power):
        p = entropy.p
        value = K ** (4 / (p + 4)) * T ** ((p + 2) / (p + 4)) * g ** (-2 * p / (p + 4))
        met = {"T >= K² γ^-p": math.log(T) >= 2.0 * math.log(K) - p * math.log(g) - 1e-12}
        erratum = _E20
    else:
        raise ValueError(f"entropy must be FiniteSize, Parametric or Power, got {quoted(entropy)}")
    return Bound(
        "margin rate, ramp",
        {"rate": value},
        T,
        conditions=met,
        benchmark="inf_f L^γ(f)",
        reference=_REFERENCE,
        erratum=erratum,
        attained_by="ExponentialWeights" if isinstance(entropy, FiniteSize) else NOBODY,
        order=True,
    )


@validated
def exponents(p: Annotated[float, Real(0, 1e3)]) -> dict[str, float]:
    """Figure 1: the exponent of T against the entropy's p, for margin regret, full information, and square loss."""
    full = 0.5 if p < 2.0 else (p - 1.0) / p
    return {
        "margin": max((p + 2.0) / (p + 4.0), p / (p + 1.0)),
        "full": full,
        "square": (p + 1.0) / (p + 2.0),
    }


def _clipped(mu: float, K: int) -> float:
    return min(max(mu, 1e-300), 1.0 / K)


def _log_parametric(game: Game) -> float:
    size = game.n_actions * game.horizon / game.margin
    if not size > 1.0:
        raise ValueError(f"margin must be below KT = {game.n_actions * game.horizon}, got {game.margin}")
    return math.log(size)
