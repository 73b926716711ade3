"""Uniform binning: one bandit per cell of a net, each on its own.

In the cell of a context, with n(a) rounds of action a of mean loss ℓ̄(a) and n in all, played is the least

    ℓ̄(a) - α √(ln n/n(a))

the best by upper confidence. Where losses are Lipschitz in the context and cells have radius T^{-1/(p+2)}
(`theory.binning_radius`), regret to the best action of every context is of order T^{(p+1)/(p+2)}. A `Cube` is cut into
a grid; in a `MetricSpace` a context becomes the centre of a new cell if no other is within the radius, until there are
`most`.

Rigollet & Zeevi (2010), "Nonparametric bandits with covariates".

>>> from marginbandits.scores import Cube
>>> agent = Binning(n_actions=2, space=Cube([-1.0], [1.0]), radius=0.5, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> agent.act([1.0]).action
1
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import MaybeFeatures
from marginbandits.learners.base import Parts
from marginbandits.learners.metric import MetricContexts, default_features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.scores.growing import GrowingNet
from marginbandits.scores.lipschitz import MetricSpace, Space
from marginbandits.state import COUNT, Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, OneOf, Real, validated

__all__ = ["Binning"]


class Binning(MetricContexts):
    """Upper confidence in each cell of radius `radius` alone. O(cells) a round.

    A space that is given sees contexts as they are; without one they are standardised, and the metric is Euclidean.
    """

    journals = True
    exempt: ClassVar[Mapping[str, str]] = {
        "better_than_uniform": "cells that know nothing of each other need more rounds than the check has"
    }
    live = frozenset({"alpha"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        space: Annotated[Space | None, OneOf(Instance(Space), Instance(type(None)))] = None,
        radius: Annotated[float, Real(above=0)] = 1.0,
        alpha: Annotated[float, Real(0)] = 0.3,
        most: Annotated[int, Integer(1)] = 1000,
        features: MaybeFeatures = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=default_features(features, space), **options)
        self.space, self.radius, self.alpha, self.most = space, radius, alpha, most
        self._space = MetricSpace() if space is None else space

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        width = self._point_width(shape, n_features)
        self._net = GrowingNet(self._space, width, self.most, self._space.cover(np.empty((0, width)), self.radius))
        self._counts, self._losses = zeros((2, len(self._net.centres), self.n_actions))
        return {"net": self._net, "counts": Field(self._counts, 0.0, COUNT), "losses": Field(self._losses, 0.0, COUNT)}

    def _law(self, one: Batch) -> Array:
        cell, _ = self._net.nearest(dense(one.rows).ravel())
        if cell < 0:
            return laws.uniform(one)
        n = self._counts[cell]
        width = self.alpha * np.sqrt(math.log(max(n.sum(), 1.0)) / np.maximum(n, 1.0))
        return laws.greedy(np.where(n > 0, width - self._losses[cell] / np.maximum(n, 1.0), np.inf), one)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        cell = self._net.learn(dense(one.rows).ravel(), self.radius)
        self._journal.keep(self._counts, cell)
        self._journal.keep(self._losses, cell)
        self._counts[cell, action] += 1.0
        self._losses[cell, action] += loss
