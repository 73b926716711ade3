"""ε-greedy on nearest neighbours: an action's loss is what it was in the most similar rounds that played it.

    ℓ̂(a) = (1 + Σ of the losses of the k rounds nearest to x that played a)/(k + 2)
    p = (1 - ε) 1{a = argmin ℓ̂} + ε/n

With fewer than k rounds of an action, all of them count; the added 1 and 2 pull few rounds to 1/2. Distances are
Euclidean. At most `memory` rounds of each action are kept, a uniform sample of them.

>>> agent = NearestNeighbours(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> agent.act([1.0]).distribution
array([0.01, 0.99])
"""

from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.reservoir import Reservoir
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["NearestNeighbours"]


class NearestNeighbours(Learner):
    """k nearest rounds per action (of all alike for K x d contexts), greedy but for a share ε. O(K·memory·d)."""

    journals = True
    changes_actions = True

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        k: Annotated[int, Integer(1)] = 3,
        epsilon: Annotated[float, Real(0, 1)] = 0.02,
        memory: Annotated[int, Integer(1)] = 1_000,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.k, self.epsilon, self.memory = k, epsilon, memory

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        n_blocks = 1 if shape.shared else self.n_actions
        self._reservoir = Reservoir(n_blocks, self.memory, n_features)
        return {"reservoir": self._reservoir}

    def _law(self, one: Batch) -> Array:
        return laws.explored(laws.greedy(-self._predicted(one), one), one, self.epsilon)

    def _predicted(self, batch: Batch) -> Array:
        rows = dense(batch.rows)
        return np.array([self._mean(batch.block(a), rows[batch.row(a)]) for a in range(len(batch.mask))])

    def _mean(self, block: int, x: Array) -> float:
        n = self._reservoir.held(block)
        losses = self._reservoir.losses[block, :n]
        if n > self.k:
            far = ((self._reservoir.rows[block, :n] - x) ** 2).sum(1)
            losses = losses[np.argpartition(far, self.k - 1)[: self.k]]
        return float((1.0 + losses.sum()) / (len(losses) + 2.0))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        block = one.block(action)
        self._reservoir.keep(block, dense(one.rows)[one.row(action)], loss, self._chance().standard_normal())
