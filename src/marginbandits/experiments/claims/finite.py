"""What claims about finite classes share: a random linear class, its surrogate values, and one run against a bound.

Regret is what was played, minus the least surrogate total in the class: (1/K) min_f Σ <ℓ, ψ(f)> for the hinge,
min_f Σ <ℓ, s_f> for the others. The bound is the learner's own, every constant included.
"""

from collections.abc import Callable, Mapping

import numpy as np

from marginbandits.environments import AdaptiveAdversary, LinearRealizable, Switching
from marginbandits.experiments.simulate import simulate
from marginbandits.learners import ExponentialWeights
from marginbandits.projections import ball
from marginbandits.surrogates import Hinge, Ramp, RelativeMargin
from marginbandits.types import Array, Environment

__all__ = ["SURROGATES", "environment", "least_total", "linear_class", "play", "surrogate_values"]

SURROGATES = ("ramp", "hinge", "relative", "policy")
_KINDS: dict[str, Callable[[float], Callable[[Array], Array]]] = {
    "ramp": Ramp,
    "hinge": Hinge,
    "relative": RelativeMargin,
}


def linear_class(n: int, K: int, d: int, seed: int) -> Array:
    """N random N x K x d weights of norm 1, centred."""
    weights = np.random.default_rng([seed, 7]).standard_normal((n, K, d))
    weights -= weights.mean(1, keepdims=True)
    return np.asarray(weights / np.linalg.norm(weights, axis=(1, 2), keepdims=True))


def environment(name: str, K: int, d: int, T: int, seed: int) -> Environment:
    """Losses from one law, from laws that change, or from an adversary that watches the learner."""
    if name == "stochastic":
        return LinearRealizable(K, d, T, seed=seed)
    return Switching(K, d, T, n_switches=3, seed=seed) if name == "switching" else AdaptiveAdversary(K, d, T, seed=seed)


def surrogate_values(weights: Array, contexts: Array, surrogate: str, margin: float) -> Array:
    """s_f(x): contexts x regressors x actions."""
    scores = np.einsum("nad,td->tna", weights, ball(contexts, 1.0))
    if surrogate == "policy":
        return np.asarray(scores == scores.max(-1, keepdims=True), float)
    return np.asarray(_KINDS[surrogate](margin)(scores))


def least_total(weights: Array, contexts: Array, losses: Array, surrogate: str, margin: float) -> float:
    """The benchmark."""
    totals = np.einsum("ta,tna->n", losses, surrogate_values(weights, contexts, surrogate, margin))
    return float(totals.min()) / (losses.shape[1] if surrogate == "hinge" else 1)


def play(agent: ExponentialWeights, weights: Array, world: Environment, margins: list[float]) -> Mapping[str, float]:
    """One run: regret against the best regressor at the best of the margins, and the bound."""
    trace = simulate(agent, world)
    contexts, losses = np.stack([one.context for one in world]), trace.all_losses
    if losses is None:
        raise ValueError("the environment must tell all losses afterwards")
    benchmark = min(least_total(weights, contexts, losses, agent.surrogate, margin) for margin in margins)
    loss = float(trace.losses.sum())
    return {"loss": loss, "regret": loss - benchmark, "bound": agent.bound(len(losses)).value}
