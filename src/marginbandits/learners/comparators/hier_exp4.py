"""Hierarchical exponential weights: a tree of cells and values, a Hedge at every node, for Lipschitz policies.

A 1-Lipschitz policy g: X → Δ(K) on a box is a path of values: v_0 for the whole box, v_1 for the half (quarter, …)
that the context is in, each within reach of the one before, down to a leaf that is played. Of a node, a cell c of level
m + 1 and a value v of level m, the predictions of the values v' within reach are mixed:

    P(c, v) = Σ_{v'} q(v') P(c', v'),      q(v') ∝ exp(-η_t Σ <P(c', v') - min, ℓ̂>),      P(leaf) = its value
    play      (1 - Kμ) P(root) + μ,        ℓ̂ = ℓ(a) e_a/p(a)

A node is charged only how far its children differ, which is little far down the tree: that is the chaining, and why
regret is T^{p/(p+1)} (T^{2/3} for p <= 2) against all 1-Lipschitz policies, for any losses. Levels, rates η_t and every
constant are `theory.hier_exp4`'s; depth and μ are tuned for the horizon there, unless they are given.

The paper's HierExp4 mixes over a tree of covers of functions with real values; this is that idea for finitely many
actions, on a tree of the box itself, where the nodes of all functions that agree on a cell are one. Levels, rates and
bound are reconstructed for this case: `theory.hierarchical` has the derivation, step by step, and the tests its steps
as numbers.

Without a `space` contexts are standardised and cut off at ±3; then the box has as many dimensions as they have columns.
The tree is as deep as the bound wants and `most` numbers allow, which at short horizons, with several actions or with
several columns is a root: then contexts are not looked at. `bound().parameters["depth"]` tells; `depth` overrules it.

Cesa-Bianchi, Gaillard, Gentile & Gerchinovitz (2017), "Algorithmic chaining and the role of partial feedback in online
nonparametric learning".

>>> from marginbandits.scores import Cube
>>> agent = HierExp4(n_actions=2, space=Cube([0.0], [1.0], lipschitz=4.0), horizon=2000, depth=2, mu=0.1, seed=0)
>>> for x in [0.1, 0.9] * 1000:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0.5)))
>>> agent.law([0.1]).round(1), agent.law([0.9]).round(1)
(array([0.9, 0.1]), array([0.1, 0.9]))
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
from marginbandits.features import MaybeFeatures, Standardise
from marginbandits.learners.base import Parts
from marginbandits.learners.metric import MetricContexts, default_features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.scores.lipschitz import Cube, MetricSpace
from marginbandits.state import COUNT, Field, zeros
from marginbandits.theory.hierarchical import (
    chain_levels,
    hier_exp4,
    largest_moment,
    lattice,
    log_near,
    root_moment,
)
from marginbandits.theory.record import Bound
from marginbandits.types import Array, Mask
from marginbandits.validation import Instance, Integer, OneOf, Real, validated

__all__ = ["HierExp4"]

FARTHEST = 1e200
WIDE = 3.0
"""Standardised contexts are cut off here."""

Places = npt.NDArray[np.int64]


class HierExp4(MetricContexts):
    """A Hedge at every node of a tree over cells and values. O(nodes of one path) a round, however many rounds were.

    `most` is how many numbers the tree may have, where its `depth` is not given.
    """

    competes = False
    journals = True
    exempt: ClassVar[Mapping[str, str]] = {
        "better_than_uniform": "its floor and rates are for the worst losses, and need more rounds than the check has"
    }

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        space: Annotated[Cube | None, OneOf(Instance(Cube), Instance(type(None)))] = None,
        horizon: Annotated[int, Integer(2, COUNT)] = 10_000,
        depth: Annotated[int | None, OneOf(Integer(0, 12), Instance(type(None)))] = None,
        mu: Annotated[float | None, OneOf(Real(1e-9, 0.5), Instance(type(None)))] = None,
        most: Annotated[int, Integer(1)] = 1_000_000,
        features: MaybeFeatures = None,
        **options: Unpack[Options],
    ) -> None:
        usual = Standardise() if features is None and space is None else features
        super().__init__(n_actions, features=default_features(usual, space), **options)
        self.space, self.horizon, self.depth, self.mu, self.most = space, horizon, depth, mu, most
        self._space = MetricSpace("chebyshev") if space is None else space
        if mu is not None and mu * self.n_actions > 1.0:
            raise ValueError(f"mu must be at most 1/n_actions = {1 / self.n_actions:g}, got {mu}")

    def bound(self) -> Bound:
        """What the theory promises for the horizon, once the tree is built."""
        if self._map is None:
            raise ValueError("bound must wait for the first round learnt: the tree is built for its contexts")
        bound = self._tuned(len(self._low), len(self._near) - 1, self._floor, 0)
        return replace(bound, conditions={"T rounds at most": int(self._visits[0][0]) <= self.horizon})

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        width, K = self._point_width(shape, n_features), self.n_actions
        box = self.space
        self._low = np.full(width, -WIDE) if box is None else np.array(box.low)
        self._side = np.full(width, 2.0 * WIDE) if box is None else np.array(box.high) - box.low
        self._radius = 0.5 * (1.0 if box is None else box.lipschitz) * float(self._side.max())
        tuned = self._tuned(width, self.depth, self.mu, self._deepest(width))
        depth, self._floor = int(tuned.parameters["depth"]), tuned.parameters["mu"]
        levels = chain_levels(K, self._radius, depth)
        self._values = [lattice(K, level.fineness) for level in levels]
        below = [_within(self._values[m], self._values[m + 1], levels[m].reach) for m in range(depth)]
        self._near = [np.arange(len(self._values[0]))[None], *below]  # the root's are all
        moment = largest_moment(K, self._floor)
        chained = [log_near(K, levels[m], levels[m + 1]) / (levels[m].tail ** 2 * moment) for m in range(depth)]
        self._rates = np.sqrt([math.log(len(self._values[0])) / root_moment(K, self._floor), *chained])
        self._costs = [zeros((2 ** (width * m), *near.shape)) for m, near in enumerate(self._near)]
        self._visits = [zeros((len(one),), np.int64) for one in self._costs]
        costs = {f"costs{m}": Field(one, 0.0, FARTHEST) for m, one in enumerate(self._costs)}
        return {**costs, **{f"visits{m}": Field(one, 0, COUNT) for m, one in enumerate(self._visits)}}

    def _law(self, one: Batch) -> Array:
        law = self._predictions(self._cells(dense(one.rows).ravel()), one.mask)[0][0]
        return laws.floored(laws.proportional(law, one), one, self._floor)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        cells = self._cells(dense(one.rows).ravel())
        predicted = self._predictions(cells, one.mask)
        for m, cell in enumerate(cells):
            self._journal.keep(self._costs[m], cell)
            self._journal.keep(self._visits[m], cell)
            self._visits[m][cell] = min(self._visits[m][cell] + 1, COUNT)
            if loss > 0.0:
                said = np.ascontiguousarray(predicted[m + 1][:, action])
                _charge(self._costs[m][cell], self._near[m], said, loss / probability, FARTHEST)

    def _predictions(self, cells: list[int], mask: Mask) -> list[Array]:
        """P of the root, and of every value of every level in the context's cells; leaves keep to the available."""
        found = [self._values[-1] if mask.all() else _kept_to(mask, self._values[-1])]
        for m in range(len(cells) - 1, -1, -1):
            above = np.empty((len(self._near[m]), len(mask)))
            rate = self._rates[m] / math.sqrt(self._visits[m][cells[m]] + 1.0)
            _mix(self._costs[m][cells[m]], self._near[m], rate, found[-1], above)
            found.append(above)
        return found[::-1]

    def _cells(self, point: Array) -> list[int]:
        """The one cell of the root's values, and the context's cell at every level below."""
        share = np.clip((point - self._low) / self._side, 0.0, 1.0)
        found = [0]
        for m in range(1, len(self._near)):
            at = np.minimum((share * 2**m).astype(np.int64), 2**m - 1)
            found.append(int(at @ (2 ** (m * np.arange(len(at))))))
        return found

    def _tuned(self, width: int, depth: int | None, mu: float | None, deepest: int) -> Bound:
        return hier_exp4(
            self.n_actions, self.horizon, p=width, radius=self._radius, depth=depth, mu=mu, deepest=deepest
        )

    def _deepest(self, width: int) -> int:
        """The depth at which the tree has as many numbers as are allowed."""
        K, depth, numbers = self.n_actions, 0, 0.0
        while depth < 12 and width * (depth + 1) < 60:
            here, below = chain_levels(K, self._radius, depth + 1)[-2:]
            values = math.comb(here.fineness + K - 1, K - 1)
            numbers += 2.0 ** (width * (depth + 1)) * values * math.exp(log_near(K, here, below))
            if numbers > self.most:
                break
            depth += 1
        return depth


def _kept_to(mask: Mask, values: Array) -> Array:
    """Distributions over available actions alone; uniform where nothing is left."""
    total = (values * mask).sum(1, keepdims=True)
    return np.where(total > 0.0, values * mask / np.where(total > 0.0, total, 1.0), mask / mask.sum())


def _within(values: Array, below: Array, reach: float) -> Places:
    """For each value the rows of those below within reach in ℓ_1, padded with -1."""
    near = np.abs(values[:, None] - below).sum(-1) <= reach + 1e-9
    order = np.argsort(~near, axis=1, kind="stable")[:, : int(near.sum(1).max())]
    return np.where(np.take_along_axis(near, order, 1), order, -1)


@kernel
def _mix(costs: Array, near: Places, rate: float, below: Array, out: Array) -> None:
    """Σ_n q_n P_n for each row of costs, q ∝ exp(-rate · costs), over the rows of `below` that `near` names."""
    for v in range(near.shape[0]):
        total = 0.0
        out[v] = 0.0
        for n in range(near.shape[1]):
            if near[v, n] >= 0:
                weight = math.exp(-rate * costs[v, n])
                total += weight
                for a in range(out.shape[1]):
                    out[v, a] += weight * below[near[v, n], a]
        out[v] /= total


@kernel
def _charge(costs: Array, near: Places, said: Array, estimate: float, farthest: float) -> None:
    """Add ℓ̂ P_n(a) to every cost, then take the least of its row off; `said` is P(a) of every value below."""
    for v in range(near.shape[0]):
        least = math.inf
        for n in range(near.shape[1]):
            if near[v, n] >= 0:
                costs[v, n] = min(costs[v, n] + estimate * said[near[v, n]], farthest)
                least = min(least, costs[v, n])
        for n in range(near.shape[1]):
            if near[v, n] >= 0:
                costs[v, n] -= least
