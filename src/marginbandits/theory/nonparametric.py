"""Nonparametric learners that the paper is compared with: contextual zooming, hierarchical weights, covers.

    contextual zooming   Σ_r N_r (c² ln T/r² + 1) min(14 r, Δ) + what finer balls may lose, radii r = 1, 1/2, 1/4, …
    weights on a cover   K √(2T ln N) + Kε T/γ over inf_f Σ <ℓ, φ(f)>, f 1-Lipschitz, N functions that are ε-near;
                         √(2KT ln N) + ε T/γ over inf_f Σ <ℓ, π_ramp(f)>, for two actions

Slivkins (2014) states zooming's bound with O(·); the constants here are what the argument gives. If every ball's mean
is within r + conf of its centre's (but with probability 2T^{2-c²}, by Hoeffding), then a play from a ball of radius r
loses at most 14 r, and one that activates a ball of radius r at most 12 r; a ball is played c² ln T/r² times until it
is sure, and centres of one radius r are more than r apart. N_r counts balls of radius r whose centre loses at most 12 r
and that hold a pair that is not best: at most so many points lie more than r apart there.

The cover is the paper's example on Lipschitz contextual bandits, made constructive: its bound is that of exponential
weights over N functions, and what the nearest of them adds, the ramp being 1/γ-Lipschitz in each of K scores, and so
is π_ramp in the one score of two actions: that is its policy regret.

>>> zooming = contextual_zooming([1, 1, 1, 1], 100_000, least_gap=0.9)
>>> round(zooming.value), zooming.vacuous
(15662, False)
>>> round(lipschitz_cover_bound(1000, 0.1, Game(n_actions=2, horizon=10_000, margin=1.0)).per_round, 3)
0.274
"""

import math
from typing import Annotated

from marginbandits.theory.finite import exponential_weights
from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Game
from marginbandits.validation import Choice, Horizon, Integer, ListOf, Positive, Real, validated

__all__ = ["contextual_zooming", "lipschitz_cover_bound"]


@validated
def contextual_zooming(
    packing: Annotated[list[float], ListOf(Real(0, 1e30))],
    horizon: Horizon,
    *,
    confidence: Annotated[float, Real(above=0, high=1e6)] = 4.0,
    gap: Annotated[float, Real(0, 1)] = 1.0,
    least_gap: Annotated[float, Real(0, 1)] = 0.0,
) -> Bound:
    """Regret to the best action of every context; `packing` has N_r for r = 1, 1/2, 1/4, …, as many as are known.

    No play loses more than `gap`, and none that loses anything less than `least_gap`: balls too small to hold such a
    play cost nothing. The best number of radii is taken, and finer balls are charged what they may lose.
    """
    log_T, c2 = math.log(horizon), confidence**2
    coarse, best = 0.0, min(gap, 14.0) * horizon
    chosen = 0
    terms = {"balls": 0.0, "finer": best}
    for i, count in enumerate(packing):
        radius = 0.5**i
        if 14.0 * radius >= least_gap:
            coarse += count * (c2 * log_T / radius**2 + 1.0) * min(14.0 * radius, gap)
        finer = 7.0 * radius
        left = min(finer, gap) * horizon if finer >= least_gap else 0.0
        if coarse + left < best:
            best, chosen, terms = coarse + left, i + 1, {"balls": coarse, "finer": left}
    unclean = min(1.0, 2.0 * math.exp((2.0 - c2) * log_T)) * gap * horizon
    return Bound(
        "contextual zooming",
        {**terms, "unclean": unclean},
        horizon,
        {"confidence": confidence, "radii": float(chosen)},
        {"c² >= 3, so that no ball misleads": c2 >= 3.0},
        benchmark="Σ min_a E ℓ(a), of every context",
        reference="Slivkins (2014), theorem 4.1; constants reconstructed from its proof",
        attained_by="ContextualZooming, losses drawn independently",
    )


@validated
def lipschitz_cover_bound(
    size: Annotated[int, Integer(1, 10**300)],
    epsilon: Positive,
    game: Game,
    *,
    surrogate: Annotated[str, Choice("ramp", "advice")] = "ramp",
) -> Bound:
    """Exponential weights over a cover: N functions, one within ε of any 1-Lipschitz f in every score."""
    ramp = surrogate == "ramp"
    if not ramp and game.n_actions != 2:
        raise ValueError(f"game must have two actions for surrogate='advice', got {game.n_actions}")
    weights = exponential_weights(size, game, surrogate="ramp" if ramp else "policy")
    missed = (game.n_actions if ramp else 1) * epsilon / game.margin
    return Bound(
        f"{'ramp' if ramp else 'policy'} weights on a Lipschitz cover",
        {**weights.terms, "cover": missed * game.horizon},
        game.horizon,
        dict(weights.parameters),
        benchmark=f"inf Σ <ℓ, {'φ' if ramp else 'π_ramp'}(f)> over 1-Lipschitz f",
        reference="Example lipschitz_cb, by Hedge on a cover",
        attained_by="ExponentialWeights.on_lipschitz_cover",
    )
