"""Linear Thompson sampling that knows the probability of every action.

The posterior of action a's score is normal: s_a ~ N(<θ_a, z>, v² zᵀA_a⁻¹z). Thompson sampling plays a with the
probability that s_a is the largest. For vector contexts the K scores are independent, so that probability is

    P(a) = ∫ n(u) Π_{b≠a} N((m_a + σ_a u - m_b)/σ_b) du

a one-dimensional integral, computed here by the trapezoidal rule, on one grid for all actions; the action is then drawn
from these very numbers, so the logged probability is the true one whatever the rule's error.

For K x d contexts the scores share one θ and are dependent. There the posterior is carried by `n_particles` directions
ξ_j drawn once, θ_j = θ + v Cᵀξ_j, and the law is the share of particles that each action wins: a function of what has
been learnt and of the context alone, so again what is logged is what is played.

Sparse rows of many columns are learnt with a diagonal A (`oracles.diagonal`); there what is predicted is -ℓ, and one
normal moves all scores together, as in `LogisticTS`.

Agrawal & Goyal (2013), "Thompson sampling for contextual bandits with linear payoffs".

>>> agent = LinTS(n_actions=2, seed=0)
>>> for _ in range(50):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, reward=0.5)
>>> bool(agent.act([1.0]).probability > 0.01)
True
"""

import math
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import policies
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.factors import dot, square_norm
from marginbandits.features import Features
from marginbandits.laws import move_together, moved_together
from marginbandits.learners.base import Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import RidgeLearner, learn_ridge, learn_wide
from marginbandits.learners.swift import compiled_rounds
from marginbandits.oracles.diagonal import clipped, score_one
from marginbandits.policies import race_of_normals
from marginbandits.state import Field, zeros
from marginbandits.types import Array, Mask
from marginbandits.validation import Integer, Real, validated

__all__ = ["LinTS"]

Places = npt.NDArray[np.int64]


@kernel
def _law_one(columns: Places, row: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    models, _, _, _, scale, mean, deviation, work = state
    for a in range(mask.shape[0]):
        mean[a] = dot(models[a, -1], row)
        deviation[a] = scale * math.sqrt(square_norm(models[a], row))
    return bool(race_of_normals(mean, deviation, mask, work, law))


@kernel
def _law_wide(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, mean, deviation, scale = state
    score_one(means, precisions, 0.0, columns, clipped(values), mean, deviation)
    for a in range(law.shape[0]):
        deviation[a] *= scale
    return bool(move_together(mean, deviation, starts, mask, law))


class LinTS(RidgeLearner):
    """Posterior sampling on ridge regression; `scale` is v, the posterior's width; `n_particles` is for K x d only."""

    _compiled: ClassVar[Any] = compiled_rounds((_law_one, learn_ridge), (_law_wide, learn_wide))
    live = frozenset({"scale"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        scale: Annotated[float, Real(above=0)] = 0.1,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        n_particles: Annotated[int, Integer(1)] = 64,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, regularisation=regularisation, features=features, **options)
        self.scale = scale
        self.n_particles = n_particles

    def _arrays(self) -> tuple[Any, ...]:
        work = () if self._wide is not None else np.empty((3, self.n_actions))
        return *super()._arrays(), self.scale, *work

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        parts = super()._begin(shape, n_features)
        if self._wide is not None:
            return parts
        self._directions = zeros((self.n_particles if shape.shared else 0, n_features))
        self._rng.standard_normal(out=self._directions)
        return {**parts, "directions": Field(self._directions, -100.0, 100.0)}

    def _law(self, one: Batch) -> Array:
        mean = self._scores(one)
        if self._wide is not None:
            return moved_together(mean, self.scale * self._widths(one), one)
        if not one.shared:
            return policies.largest_of_normals(mean, self.scale * np.sqrt(self._ridge.variance(one)), one.mask)
        draws = mean + self.scale * self._directions @ (dense(one.rows) @ self._ridge.factor[0].T).T
        return np.asarray(policies.greedy(draws, one.mask).mean(0))
