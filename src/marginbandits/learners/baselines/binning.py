"""Uniform binning: one bandit per cell of a net, each on its own.

In the cell of a context, with n(a) rounds of action a of mean loss ℓ̄(a) and n in all, played is the least

    ℓ̄(a) - α √(ln n/n(a))

the best by upper confidence. Where losses are Lipschitz in the context and cells have radius T^{-1/(p+2)}
(`theory.binning_radius`), regret to the best action of every context is of order T^{(p+1)/(p+2)}. A `Cube` is cut into
a grid; in a `MetricSpace` a context becomes the centre of a new cell if no other is within the radius, until there are
`most`.

Rigollet & Zeevi (2010), "Nonparametric bandits with covariates".

>>> agent = Binning(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> agent.act([1.0]).action
1
"""

import math
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits import policies
from marginbandits.learners.base import Learner
from marginbandits.scores.features import Features
from marginbandits.scores.growing import GrowingNet
from marginbandits.scores.lipschitz import MetricSpace, Space
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Instance, Integer, Real, Seed, validated

__all__ = ["Binning"]


class Binning(Learner):
    """Upper confidence in each cell of radius `radius` alone. O(cells) a round."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        space: Annotated[Space, Instance(Space)] = MetricSpace(),  # noqa: B008  # a recipe, never changed
        radius: Annotated[float, Real(above=0)] = 0.5,
        alpha: Annotated[float, Real(0)] = 0.3,
        most: Annotated[int, Integer(1)] = 1000,
        features: Features = "raw",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.space, self.radius, self.alpha, self.most = space, radius, alpha, most

    def _begin(self, n_blocks: int, n_features: int) -> None:
        width = n_features if n_blocks > 1 else n_features * self.n_actions
        self._net = GrowingNet(self.space, self.radius, self.most, width)
        self._counts = np.zeros((len(self._net.centres), self.n_actions))
        self._losses = np.zeros((len(self._net.centres), self.n_actions))

    def _distribution(self, rows: Array, available: Mask) -> Array:
        cell, _ = self._net.nearest(rows.ravel())
        if cell < 0:
            return policies.uniform(self.n_actions, available)
        n = self._counts[cell]
        width = self.alpha * np.sqrt(math.log(max(n.sum(), 1.0)) / np.maximum(n, 1.0))
        return policies.greedy(np.where(n > 0, width - self._losses[cell] / np.maximum(n, 1.0), np.inf), available)

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        cell = self._net.learn(rows.ravel())
        self._counts[cell, action] += 1.0
        self._losses[cell, action] += loss

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**self._net.arrays(), "counts": self._counts, "losses": self._losses}
