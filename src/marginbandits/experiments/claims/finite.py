"""What claims about finite classes share: linear regressors, worlds to play them in, and one run against a bound.

Contexts are the K corners of a regular simplex. Every assignment of actions to corners is a linear regressor of norm 1
that has its full margin on them, scores (K - 1)γ and -γ; the class is all K! of them, and random ones. So surrogates
cost little where a regressor is right, and a bound can be exceeded.

Regret is what was played, minus the least surrogate total in the class: (1/K) min_f Σ <ℓ, ψ(f)> for the hinge,
min_f Σ <ℓ, s_f> for the others. The bound is the learner's own, every constant included. It is for losses fixed
beforehand; where losses react to what was played, the bound is on E Σ ℓ - min_f E Σ <ℓ, s_f>, the expectation inside
(`to_the_mean`), and nothing is promised of E[Σ ℓ - min_f Σ <ℓ, s_f>], which is larger.

The adversary that reacts (`Watching`) charges the favourite, but only in the cell of the first context; in the others
labels are those of the stochastic world. One that charged the favourite in all rounds would leave uniform play under
every bound, as nobody loses less than 1/K a round there. In one cell of K = 3 that costs uniform play no regret, and in
the other two it loses 2/3 a round where the best of the class loses 1/10: regret of about 0.38 T, above bounds of
0.16 T to 0.27 T at T = 500.
"""

import itertools
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from typing import cast

import numpy as np

from marginbandits.environments import AdaptiveAdversary, HingeRealizable, Oblivious
from marginbandits.experiments.claims.claim import Measured, Results
from marginbandits.experiments.claims.measuring import limits, played
from marginbandits.learners import ExponentialWeights
from marginbandits.projections import ball
from marginbandits.surrogates import Hinge, Ramp, RelativeMargin
from marginbandits.types import Array, Environment, Round

__all__ = [
    "MARGIN",
    "SURROGATES",
    "K",
    "N",
    "Watching",
    "environment",
    "linear_class",
    "play",
    "random_class",
    "surrogate_totals",
    "surrogate_values",
    "to_the_mean",
]

K, N = 3, 8
MARGIN = 1.0 / ((K - 1) * K**0.5)
"""The widest that linear scores of norm 1 can have."""

NOISE, FIRST = 0.1, 0.6
SURROGATES = ("ramp", "hinge", "relative", "policy")
_KINDS: dict[str, Callable[[float], Callable[[Array], Array]]] = {
    "ramp": Ramp,
    "hinge": Hinge,
    "relative": RelativeMargin,
}


def _stage(T: int, seed: int) -> HingeRealizable:
    return HingeRealizable(K, K - 1, T, margin=MARGIN, noise=NOISE, seed=seed)


def linear_class(seed: int) -> Array:
    """N x K x d weights of norm 1, centred: first every assignment of actions to corners, the right one first."""
    corners = _stage(1, seed).weights
    assigned = [corners[list(order)] for order in itertools.permutations(range(K))]
    return np.concatenate([assigned, random_class(N - len(assigned), K, corners.shape[1], seed)])


def random_class(n: int, K: int, d: int, seed: int) -> Array:
    """N x K x d weights of norm 1, centred, in random directions."""
    weights = np.random.default_rng([seed, 7]).standard_normal((n, K, d))
    weights -= weights.mean(1, keepdims=True)
    return np.asarray(weights / np.linalg.norm(weights, axis=(1, 2), keepdims=True))


def environment(name: str, T: int, seed: int) -> Environment:
    """One law, 10% of labels wrong; the same with actions exchanged after 60% of the rounds; or an adversary."""
    stage = _stage(T, seed)
    if name == "stochastic":
        return stage
    if name == "switching":
        late = np.arange(T) >= FIRST * T
        return Oblivious.of(stage.contexts, np.where(late[:, None], np.roll(stage.losses, 1, axis=1), stage.losses))
    return Watching(stage, seed)


class Watching:
    """In the cell of the first context the favourite is charged, once it is known; elsewhere losses are the stage's."""

    n_actions = K

    def __init__(self, stage: Oblivious, seed: int) -> None:
        self.stage, self.n_rounds = stage, len(stage.losses)
        self.watched = np.isclose(stage.contexts, stage.contexts[0]).all(1)
        self._adversary = AdaptiveAdversary(K, K - 1, self.n_rounds, seed=seed)
        self._adversary.contexts = stage.contexts

    def __iter__(self) -> Iterator[Round]:
        each = zip(self._adversary, self.stage, self.watched, strict=True)
        return (watching if watched else plain for watching, plain, watched in each)

    @property
    def at_random(self) -> Array:
        """What uniform play meets, in expectation: where it is watched, ties are at random, and all are charged 1/K."""
        return np.where(self.watched[:, None], 1.0 / K, self.stage.losses)


def surrogate_values(weights: Array, contexts: Array, surrogate: str, margin: float) -> Array:
    """s_f(x): contexts x regressors x actions."""
    scores = np.einsum("nad,td->tna", weights, ball(contexts, 1.0))
    if surrogate == "policy":
        return np.asarray(scores == scores.max(-1, keepdims=True), float)
    return np.asarray(_KINDS[surrogate](margin)(scores))


def surrogate_totals(weights: Array, contexts: Array, losses: Array, surrogate: str, margin: float) -> Array:
    """What each regressor is charged."""
    totals = np.einsum("ta,tna->n", losses, surrogate_values(weights, contexts, surrogate, margin))
    return np.asarray(totals / (losses.shape[1] if surrogate == "hinge" else 1))


def play(
    agent: ExponentialWeights, weights: Array, world: Environment, margins: list[float], broken: str = ""
) -> Mapping[str, float]:
    """One run: regret against the best regressor at the best of the margins, and the bound.

    Uniform play's regret is over the same benchmark, on the same rounds. The totals of all are there, too.
    """
    trace = played(agent, world, broken)
    contexts, losses = np.stack([one.context for one in world]), trace.all_losses
    if losses is None:
        raise ValueError("the environment must tell all losses afterwards")
    each = [surrogate_totals(weights, contexts, losses, agent.surrogate, margin) for margin in margins]
    totals = np.concatenate(each).tolist()
    benchmark = min(totals)
    loss, uniform = float(trace.losses.sum()), float(losses.mean(1).sum())
    found = {"loss": loss, "regret": loss - benchmark, **limits(agent.bound, len(losses), uniform - benchmark)}
    return {**found, "least": benchmark, **{f"total {n}": total for n, total in enumerate(totals)}}


def to_the_mean(runs: Results, n: int = N) -> Results:
    """The same runs of one world, regret being over the regressor whose mean total is the least: min_f E Σ <ℓ, s_f>."""
    star = f"total {int(np.argmin([runs.values(f'total {i}').mean() for i in range(n)]))}"

    def moved(one: Measured) -> Measured:
        more = one.values[star] - one.values["least"]
        own = {"regret": one.values["regret"] - more}
        return Measured(one.parameters, ChainMap(own, cast(dict[str, float], one.values)))

    return Results(map(moved, runs))
