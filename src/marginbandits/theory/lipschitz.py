"""Lipschitz policies on a space of dimension p: rates of follow-the-leader, and of others for reference.

    finitely many actions   μ = (KT)^{-1/(p+1)}    (KT)^{p/(p+1)}     p >= 2; below, μ = (KT)^{-1/3} and (KT)^{2/3}
    actions of dimension q  ε = T^{-1/(p+1+pq)}, K = ε^-q, μ as above:  T^{(p+pq)/(p+pq+1)}
    reference               binning T^{(p+1)/(p+2)}; with actions T^{(p+q+1)/(p+q+2)}; no learner below T^{(p-1)/p};
                            BISTRO √(K T Rad(Π))

Orders. The theorem states no condition on p, but its proof needs p >= 2 (erratum E17); K enters the entropy by a factor
that the paper does not follow. Lipschitz actions beat binning iff q < 1/(p - 1). Foster & Krishnamurthy (2018),
appendix "lipschitz".

>>> round(lipschitz_ftl(3.0, Game(n_actions=2, horizon=5000, margin=1.0)).value)
1000
>>> sorted(lipschitz_references(2.0))
['binning', 'lower bound']
"""

from typing import Annotated

from marginbandits.theory.entropy import Dimension
from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Game
from marginbandits.theory.tuning import lipschitz_actions_radius, lipschitz_ftl_floor, lipschitz_ftl_radius
from marginbandits.validation import Horizon, Positive, Real, validated

__all__ = ["bistro", "lipschitz_actions", "lipschitz_ftl", "lipschitz_references"]

LIPSCHITZ_FTL = "LipschitzFTL.from_theory, stochastic setting"


@validated
def lipschitz_ftl(p: Dimension, game: Game) -> Bound:
    """Policy regret against all 1-Lipschitz g: X → Δ(A)."""
    K, T = game.n_actions, game.horizon
    power = p / (p + 1.0) if p >= 2.0 else 2.0 / 3.0
    return Bound(
        "Lipschitz follow-the-leader, rate",
        {"rate": (K * T) ** power},
        T,
        {"mu": lipschitz_ftl_floor(K, lipschitz_ftl_radius(K, T, p=p)), "exponent": power},
        benchmark="inf over 1-Lipschitz policies",
        reference="Theorem of appendix lipschitz",
        erratum="E17" if p >= 2.0 else "E17: p < 2 needs another μ",
        attained_by=LIPSCHITZ_FTL,
        order=True,
    )


@validated
def lipschitz_actions(p: Annotated[float, Real(2, 1e3)], q: Dimension, horizon: Horizon) -> Bound:
    """A continuum of actions of dimension q: a net of them, then follow-the-leader; needs p >= 2.

    Its exponent is below that of binning iff q < 1/(p - 1); the theorem does not ask for that.
    """
    fineness = lipschitz_actions_radius(horizon, p=p, q=q)
    K = fineness**-q
    power = (p + p * q) / (p + p * q + 1.0)
    return Bound(
        "Lipschitz actions, rate",
        {"rate": horizon**power},
        horizon,
        {
            "epsilon": fineness,
            "K": K,
            "mu": min((K * horizon) ** (-1.0 / (p + 1.0)), 1.0 / K),
            "exponent": power,
            "exponent of binning": lipschitz_references(p, q)["binning"],
        },
        benchmark="inf over 1-Lipschitz policies",
        reference="appendix lipschitz",
        erratum="E17",
        attained_by=LIPSCHITZ_FTL,
        order=True,
    )


@validated
def lipschitz_references(p: Dimension, q: Annotated[float, Real(0, 1e3)] = 0.0) -> dict[str, float]:
    """Exponents of T to compare with: binning (actions of dimension q), and what no learner can beat."""
    return {"binning": (p + q + 1.0) / (p + q + 2.0), "lower bound": max(0.5, (p - 1.0) / p)}


@validated
def bistro(complexity: Positive, game: Game) -> float:
    """√(K T Rad(Π)), BISTRO's policy regret, up to constants."""
    return float((game.n_actions * game.horizon * complexity) ** 0.5)
