"""Exponential weights over a finite class: what the learner pays, with every constant.

For non-negative loss estimates, Hedge pays (η/2) Σ E<s, ℓ̂>² + ln N/η at any η > 0, so μ = 0 is legal. With V₁ the
bound of E<s, ℓ̂>² in one round:

    surrogate      V₁                                  regret over
    "ramp"         K²                                  min_f Σ <ℓ, φ(f)> <= min_f L^γ(f)
    "relative"     K²                                  min_f Σ <ℓ, θ(f)>
    "hinge"        K²(1 + B/γ)², or K(1 + B/γ) Z_max   min_f (1/K) Σ <ℓ, ψ(f)>, regret divided by K
    "policy"       K                                   min_π Σ ℓ(π(x)): Exp4

    fixed η = √(2 ln N/(V₁T)): √(2 V₁ T ln N)          anytime η_t = √(ln N/(V₁t)): 2 √(V₁ T ln N)

and μKT where μ > 0. For all but the hinge V₁ does not depend on γ, so Hedge over pairs of a regressor and one of G
margins costs only ln G: N becomes NG. Foster & Krishnamurthy (2018), Example "finite_cb"; Lemma "ips_variance".

>>> game = Game(n_actions=3, horizon=2000, margin=0.5)
>>> [round(exponential_weights(30, game, surrogate=s).value, 1) for s in ("ramp", "hinge", "policy")]
[349.9, 247.4, 202.0]
"""

import math
from typing import Annotated

from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Game
from marginbandits.theory.tuning import SURROGATES, finite_rate, second_moment
from marginbandits.validation import Choice, Count, Integer, Real, validated

__all__ = ["exponential_weights"]

_OVER = {
    "ramp": "min_f Σ <ℓ, φ(f)>",
    "relative": "min_f Σ <ℓ, θ(f)>",
    "hinge": "(1/K) min_f Σ <ℓ, ψ(f)>",
    "policy": "min_π Σ ℓ(π(x))",
}


@validated
def exponential_weights(
    size: Annotated[int, Integer(1, 10**300)],
    game: Game,
    *,
    surrogate: Annotated[str, Choice(*SURROGATES)] = "ramp",
    n_margins: Count = 1,
    anytime: bool = False,
    mu: Annotated[float, Real(0, 1)] = 0.0,
    sharp: bool = True,
) -> Bound:
    """The regret bound of `ExponentialWeights` over N = `size` regressors and G = `n_margins` margins."""
    K, T = game.n_actions, game.horizon
    if mu * K > 1.0 + 1e-12:
        raise ValueError(f"mu must be at most 1/K = {1 / K:g}, got {mu}")
    if n_margins > 1 and surrogate == "hinge":
        raise ValueError(f"n_margins must be 1 for the hinge, whose variance depends on the margin, got {n_margins}")
    scale = 1.0 / K if surrogate == "hinge" else 1.0
    V = second_moment(surrogate, game, sharp=sharp)
    log_size = math.log(size * n_margins)
    eta = finite_rate(log_size, V, T, anytime=anytime)
    root = math.sqrt(V * T * log_size)
    half = scale * root * (1.0 if anytime else math.sqrt(0.5))
    return Bound(
        f"exponential weights, {surrogate}" + (", anytime" if anytime else ""),
        {"class": half, "variance": half, "exploration": mu * K * T},
        T,
        {"eta": eta, "mu": mu, "V1": V},
        benchmark=_OVER[surrogate],
        reference="Example finite_cb, by Hedge",
        attained_by="ExponentialWeights",
    )
