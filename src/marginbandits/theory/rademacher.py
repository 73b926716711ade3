"""Margin regret by sequential Rademacher complexity, and what it gives for linear classes.

    Rad              μ = (Rad/(Tγ))^{2/3}          K (Rad/γ)^{2/3} T^{1/3}
    linear, type 2   Rad = √(bT)                   K (T/γ)^{2/3} for b = 1
    networks, trees  Rad = c√T                     K (cT/γ)^{2/3}
    ℓ_q, q <= 2      min{K (T/γ)^{q/(2q-1)}, K √(dT ln(KT/γ))}

Orders, without constants and logarithms. The first needs Rad >= 1 and B <= 1; a class of K - 1 stacked unit balls has
B = K - 1, so its scores must be rescaled, or centred as `Linear` does (erratum E21). Full information pays Rad at
least, so bandit feedback costs a factor K (T/Rad)^{1/3} at most. Networks are those with layers bounded in the (1, ∞)
group norm, c growing with norms and depth; trees those of bounded depth on finitely many decision functions, c growing
with the depth and the logarithm of their number.

Foster & Krishnamurthy (2018), Examples "rademacher", "linear", the paragraph and the example after; for the complexity
of networks and trees, Rakhlin, Sridharan & Tewari (2015), "Online learning via sequential complexities".

>>> game = Game(n_actions=3, horizon=1000, margin=1.0)
>>> round(rademacher(1000**0.5, game).value), round(linear_type_2(game).value)
(300, 300)
>>> round(lp_linear(1.5, 4, game).value)
533
"""

import dataclasses
import math
from typing import Annotated

from marginbandits.theory.chaining import NOBODY
from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Game
from marginbandits.validation import Count, Positive, Real, validated

__all__ = ["decision_trees", "linear_type_2", "lp_linear", "networks", "price_of_bandit_feedback", "rademacher"]

Complexity = Annotated[float, Real(1e-40, 1e40)]


@validated
def rademacher(complexity: Complexity, game: Game) -> Bound:
    """K (Rad/γ)^{2/3} T^{1/3} for Rad = `complexity`, the largest over actions."""
    K, T, g = game.n_actions, game.horizon, game.margin
    mu = (complexity / (T * g)) ** (2.0 / 3.0)
    return _order(
        "margin rate by sequential Rademacher complexity",
        K * (complexity / g) ** (2.0 / 3.0) * T ** (1.0 / 3.0),
        game,
        {"mu": min(mu, 1.0 / K)},
        {"Rad >= 1": complexity >= 1.0, "B <= 1": game.bound <= 1.0, "μ <= 1/K before clipping": mu <= 1.0 / K},
        "Example rademacher",
        "E21: 6e² in the proof",
    )


@validated
def linear_type_2(game: Game, smoothness: Positive = 1.0) -> Bound:
    """The linear class of a b-smooth Banach space, Rad = √(bT)."""
    T = game.horizon
    return _order(
        "margin rate of linear classes, type 2",
        rademacher(math.sqrt(smoothness * T), game).value,
        game,
        {"smoothness": smoothness},
        {"B <= 1": game.bound <= 1.0},
        "Example linear",
        "E21: K - 1 stacked balls have B = K - 1",
    )


@validated
def networks(game: Game, c: Positive = 1.0) -> Bound:
    """Networks with layers bounded in the (1, ∞) group norm, Rad = c√T."""
    return _after_linear("margin rate of norm-bounded networks", game, c)


@validated
def decision_trees(game: Game, c: Positive = 1.0) -> Bound:
    """Trees of bounded depth on finitely many decision functions, Rad = c√T."""
    return _after_linear("margin rate of decision trees", game, c)


@validated
def lp_linear(q: Annotated[float, Real(above=1, high=2)], dimension: Count, game: Game) -> Bound:
    """Linear predictors over ℓ_q in R^d: the better of the dimension-free and the parametric rate."""
    K, T, g = game.n_actions, game.horizon, game.margin
    free = K * (T / g) ** (q / (2.0 * q - 1.0))
    if not g < K * T:
        raise ValueError(f"margin must be below KT = {K * T}, got {g}")
    finite = K * math.sqrt(dimension * T * math.log(K * T / g))
    which = "dimension-free" if free <= finite else "parametric"
    return _order(
        f"margin rate of ℓ_q linear classes, {which}",
        min(free, finite),
        game,
        {"dimension-free": free, "parametric": finite},
        {},
        "Example after linear",
        "",
    )


@validated
def price_of_bandit_feedback(complexity: Complexity, game: Game) -> float:
    """K (T/Rad)^{1/3}: the most that seeing one loss instead of all costs, as a factor, up to logarithms."""
    return float(game.n_actions * (game.horizon / complexity) ** (1.0 / 3.0))


def _after_linear(name: str, game: Game, c: float) -> Bound:
    general = rademacher(c * math.sqrt(game.horizon), game)
    return dataclasses.replace(general, name=name, reference="the paragraph after Example linear")


def _order(
    name: str,
    value: float,
    game: Game,
    parameters: dict[str, float],
    conditions: dict[str, bool],
    reference: str,
    erratum: str,
) -> Bound:
    return Bound(
        name,
        {"rate": value},
        game.horizon,
        parameters,
        conditions,
        benchmark="inf_f L^γ(f)",
        reference=reference,
        erratum=erratum,
        attained_by=NOBODY,
        order=True,
    )
