"""Contextual zooming: balls of pairs (context, action), finer where pairs are good and where contexts come.

In a similarity space mean rewards μ of two pairs differ by no more than
D((x, a), (x', a')) = min(1, ρ(x, x') + ρ_A(a, a')). Active balls B have a centre, a radius r, and n rounds of mean
reward ν; there is one of radius 1 to begin with.

    conf(B) = c √(ln T/(1 + n))           pre(B) = ν + r + conf(B)
    index(B) = r + min over active B' with r' >= r of pre(B') + D(centre, centre')
    domain     a pair belongs to the smallest balls that hold it
    play       of the balls to which some (x, a) belongs that of largest index, and an action that belongs to it
    activate   where conf(B) <= r already, the pair just played becomes the centre of a ball of radius r/2

Regret to the best action of every context is of order T^{(d+1)/(d+2)}, d the zooming dimension: that of the pairs that
are nearly best, at most the space's own (`theory.contextual_zooming`, with the constants that the paper's proof gives).

The published c is 4, and T is known. Distances between actions are 1, unless `similarity`, a `FiniteSpace` of all
actions, says otherwise. When `most` balls are active no more are activated, and the guarantee ends; so it does after T
rounds, and without a `space` there is none. `bound` says which of these is so.

Slivkins (2014), "Contextual bandits with similarity information", algorithm 1.

>>> from marginbandits.scores import Cube
>>> agent = ContextualZooming(n_actions=2, space=Cube([-1.0], [1.0]), confidence=0.3, seed=0)
>>> for x in [-1.0, 1.0] * 150:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> agent.act([1.0]).action
1
>>> agent.radii().max(), bool(agent.radii().min() < 0.5)
(np.float64(1.0), True)
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import MaybeFeatures
from marginbandits.learners.base import Parts
from marginbandits.learners.metric import MetricContexts, default_features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.scores.finite_space import FiniteSpace
from marginbandits.scores.growing import FARTHEST
from marginbandits.scores.lipschitz import MetricSpace, Space
from marginbandits.state import COUNT, Field, zeros
from marginbandits.theory import Bound, contextual_zooming
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, ListOf, OneOf, Real, validated

__all__ = ["ContextualZooming"]

FINEST = 1000
"""Balls are halved no more often."""

Places = npt.NDArray[np.int64]


class ContextualZooming(MetricContexts):
    """Optimistic balls of pairs that halve where they are sure.

    O(balls·(d + K)) a round: it grows with the balls. 8·most² bytes.

    `confidence` is c; 1 or less is what practice wants. A space that is given sees contexts as they are; without one
    they are standardised, and the metric is Euclidean times 0.25.
    """

    competes = False
    journals = True
    exempt: ClassVar[Mapping[str, str]] = {
        "better_than_uniform": "with the published confidence no ball is sure of anything within the check's rounds"
    }

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        space: Annotated[Space | None, OneOf(Instance(Space), Instance(type(None)))] = None,
        similarity: Annotated[FiniteSpace | None, OneOf(Instance(FiniteSpace), Instance(type(None)))] = None,
        horizon: Annotated[int, Integer(2, COUNT)] = 10_000,
        confidence: Annotated[float, Real(above=0, high=1e6)] = 4.0,
        most: Annotated[int, Integer(1)] = 1000,
        features: MaybeFeatures = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=default_features(features, space), **options)
        self.space, self.similarity, self.horizon = space, similarity, horizon
        self.confidence, self.most = confidence, most
        self._space = MetricSpace(lipschitz=0.25) if space is None else space
        self._unsure = confidence * math.sqrt(math.log(horizon))
        self._apart = 1.0 - np.eye(self.n_actions)
        if similarity is not None:
            if len(similarity) != self.n_actions:
                raise ValueError(f"similarity must be of n_actions={self.n_actions} points, got {len(similarity)}")
            self._apart = np.array([similarity.distances(one, similarity.points) for one in similarity.points])

    def radii(self) -> Array:
        """The radius of every active ball."""
        return np.empty(0) if self._map is None else 0.5 ** self._halvings[: self._size[0]]

    @validated
    def bound(
        self,
        packing: Annotated[list[float], ListOf(Real(0, 1e30))],
        *,
        gap: Annotated[float, Real(0, 1)] = 1.0,
        least_gap: Annotated[float, Real(0, 1)] = 0.0,
    ) -> Bound:
        """What the theory promises for the horizon, of a problem with so many balls of each radius, and such gaps."""
        bound = contextual_zooming(packing, self.horizon, confidence=self.confidence, gap=gap, least_gap=least_gap)
        begun = self._map is not None
        met = {
            "a metric is given": self.space is not None,
            "T rounds at most": not begun or int(self._counts.sum()) <= self.horizon,
            "room for all balls": not begun or int(self._size[0]) < self.most,
        }
        return replace(bound, conditions={**bound.conditions, **met})

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._centres = zeros((self.most, self._point_width(shape, n_features)))
        self._way = zeros((self.most, self.most))  # ρ between the contexts of two centres
        self._rewards = zeros((self.most,))
        self._actions, self._halvings, self._counts = (zeros((self.most,), np.int64) for _ in range(3))
        self._size = np.zeros(1, np.int64)
        return {
            "centres": Field(self._centres, -FARTHEST, FARTHEST),
            "way": Field(self._way, 0.0),
            "actions": Field(self._actions, 0, self.n_actions - 1),
            "halvings": Field(self._halvings, 0, FINEST),
            "counts": Field(self._counts, 0, COUNT),
            "rewards": Field(self._rewards, 0.0, COUNT),
            "size": Field(self._size, 0, self.most),
        }

    def _law(self, one: Batch) -> Array:
        if self._size[0] == 0:
            return laws.uniform(one)
        return laws.greedy(self._chosen(dense(one.rows).ravel())[0], one)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        point = dense(one.rows).ravel()
        self._journal.keep(self._size)
        if self._size[0] == 0:
            self._activate(point, action, 0)
        ball = int(self._chosen(point)[1][action])
        halvings = int(self._halvings[ball])
        sure = self._unsure / math.sqrt(1.0 + self._counts[ball]) <= 0.5**halvings
        for array in (self._counts, self._rewards):
            self._journal.keep(array, ball)
        self._counts[ball] = min(self._counts[ball] + 1, COUNT)
        self._rewards[ball] += 1.0 - loss
        if sure and self._size[0] < self.most and halvings < FINEST:
            self._activate(point, action, halvings + 1)

    def _activate(self, point: Array, action: int, halvings: int) -> None:
        n = int(self._size[0])
        for array in (self._centres, self._actions, self._halvings, self._way):
            self._journal.keep(array, n)
        self._journal.keep(self._way, (slice(None), n))
        self._centres[n], self._actions[n], self._halvings[n] = point, action, halvings
        self._way[n, : n + 1] = self._way[: n + 1, n] = np.minimum(self._from(point, n + 1), 1.0)
        self._size[0] += 1

    def _from(self, point: Array, n: int) -> Array:
        return self._space._distances(point, self._centres[:n])

    def _chosen(self, point: Array) -> tuple[Array, Places]:
        """Of every action the largest index of a ball that (x, a) belongs to, and which ball that is."""
        n = int(self._size[0])
        index, ball = np.empty(self.n_actions), np.empty(self.n_actions, np.int64)
        _indices(
            self._from(point, n),
            self._way,
            self._apart,
            self._actions,
            0.5 ** self._halvings[:n],
            self._rewards,
            self._counts,
            self._unsure,
            index,
            ball,
        )
        return index, ball


@kernel
def _indices(
    near: Array,
    way: Array,
    apart: Array,
    actions: Places,
    radius: Array,
    rewards: Array,
    counts: Places,
    scale: float,
    index: Array,
    ball: Places,
) -> None:
    """The largest index for each action; `near` is ρ to the centres, `apart` ρ_A, `scale` c √(ln T)."""
    n = near.shape[0]
    for a in range(apart.shape[0]):
        smallest = np.inf
        for i in range(n):
            if min(near[i] + apart[actions[i], a], 1.0) <= radius[i] * (1.0 + 1e-9):  # rounding, on the border
                smallest = min(smallest, radius[i])
        index[a], ball[a] = -np.inf, -1
        for i in range(n):
            if radius[i] == smallest and min(near[i] + apart[actions[i], a], 1.0) <= radius[i] * (1.0 + 1e-9):
                hope = np.inf
                for j in range(n):
                    if radius[j] >= radius[i]:
                        pre = rewards[j] / max(counts[j], 1) + radius[j] + scale / math.sqrt(1.0 + counts[j])
                        hope = min(hope, pre + min(way[i, j] + apart[actions[i], actions[j]], 1.0))
                if radius[i] + hope > index[a]:
                    index[a], ball[a] = radius[i] + hope, i
