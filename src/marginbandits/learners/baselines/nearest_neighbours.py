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
import numpy.typing as npt

from marginbandits import laws
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.reservoir import Reservoir
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["NearestNeighbours"]

Places = npt.NDArray[np.int64]


@kernel
def _means(
    rows: Array, losses: Array, seen: Places, given: Array, shared: bool, starts: Places, near: Array, out: Array
) -> None:
    """ℓ̂ of each action of each context; `near` is for the distances and losses of the k nearest so far, in order."""
    k = near.shape[1]
    for i in range(starts.shape[0] - 1):
        for a in range(starts[i + 1] - starts[i]):
            block, x = (0, given[starts[i] + a]) if shared else (a, given[i])
            n, total = min(seen[block], losses.shape[1]), 1.0
            for j in range(k):
                near[0, j], near[1, j] = np.inf, 0.0
            for t in range(n):
                far = 0.0
                for j in range(x.shape[0]):
                    far += (rows[block, t, j] - x[j]) * (rows[block, t, j] - x[j])
                if far < near[0, k - 1]:
                    at = k - 1
                    while at > 0 and far < near[0, at - 1]:
                        near[0, at], near[1, at] = near[0, at - 1], near[1, at - 1]
                        at -= 1
                    near[0, at], near[1, at] = far, losses[block, t]
            for j in range(min(n, k)):
                total += near[1, j]
            out[starts[i] + a] = total / (min(n, k) + 2.0)


class NearestNeighbours(Learner):
    """k nearest rounds per action (of all alike for K x d contexts), greedy but for a share ε. O(K·memory·d)."""

    journals = True
    changes_actions = True
    live = frozenset({"epsilon"})

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

    def _laws(self, batch: Batch) -> Array:
        return laws.explored(laws.greedy(-self._predicted(batch), batch), batch, self.epsilon)

    def _predicted(self, batch: Batch) -> Array:
        kept, near, out = self._reservoir, np.empty((2, min(self.k, self.memory))), np.empty(len(batch.mask))
        _means(kept.rows, kept.losses, kept.seen, dense(batch.rows), batch.shared, batch.starts, near, out)
        return out

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        block = one.block(action)
        self._reservoir.keep(block, dense(one.rows)[one.row(action)], loss, self._chance().standard_normal())
