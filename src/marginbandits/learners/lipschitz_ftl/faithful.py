"""Lipschitz follow-the-leader as the paper analyses it: no parameters, only a metric on contexts.

    epoch m    rounds 2^m … 2^{m+1} - 1; epoch 0 plays uniformly
    leader     g_{m-1} = argmin Σ ℓ(a)/p(a) g(x)_a over 1-Lipschitz g: X → Δ(A), rounds of epoch m - 1 only
    play       p = (1 - Kμ) g_{m-1}(x) + μ,    μ = (KT)^{-1/(p+1)}, p the covering dimension; (KT)^{-1/3} for p < 2;
               (C/KT)^{…} where nets have C β^-p centres

The leader is sought on a net of radius β = μ, before μ is cut at 1/K (`scores.lipschitz`), by a linear program
(`oracles.lipschitz_erm`), and played at the nearest centre: that costs β/2 a round, less than μ does. On a `Cube` the
net is a grid of all of it; in a `MetricSpace` it is made of the epoch's own contexts. With `prediction="extension"` the
leader is extended between the centres instead.

The guarantee is for contexts and losses drawn independently from one law: regret to the best 1-Lipschitz policy is of
order (KT)^{p/(p+1)}, and (KT)^{2/3} for p < 2 (`theory.lipschitz_ftl`). The printed μ needs p >= 2, and a leader's
extension is 1-Lipschitz for two actions only: `from_theory` refuses the rest, but for `outside_theory=True`.

If a program is not solved in time, or the metric fails between an epoch's contexts when their leader is sought, the
last leader goes on: a warning says so, `epochs` records it, and no round is lost. A context that has no distance to a
centre is refused. A sample of each epoch's contexts is checked for the triangle inequality.

Actions may be a metric space too, a box (`Cube`) or any finite one by its distances (`FiniteSpace`):
`from_theory(actions=...)` plays the centres of a net of it, of radius ε = T^{-1/(p+1+pq)} for actions of dimension q,
and its decisions carry the `point` that is played.

What `epochs` records is honest about the net: no 1-Lipschitz policy costs less than value - gap - off_net, where gap is
the program's own certificate, on the net, and off_net = ½ Σ ℓ(a)/p(a) ρ(x, nearest centre) is the way to it.

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", appendix on Lipschitz contextual bandits.

>>> space = Cube([0.0], [1.0], lipschitz=8.0)
>>> agent = from_theory(space=space, n_actions=2, horizon=1000, seed=0)
>>> rng = np.random.default_rng(0)
>>> for x in rng.random((600, 1)):
...     decision = agent.act(x)
...     agent.learn(x, decision, loss=float(decision.action != (x[0] > 0.5)))
>>> agent.act([0.9]).distribution.round(2)
array([0.13, 0.87])
>>> [epoch.solved for epoch in agent.epochs()]
[True, True, True, True, True, True, True, True, True]
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features, Identity
from marginbandits.learners.base import Parts
from marginbandits.learners.conditions import Condition, OutsideTheory
from marginbandits.learners.epochs import EpochLearner
from marginbandits.learners.metric import MetricContexts
from marginbandits.learners.offers import Names
from marginbandits.oracles.lipschitz_erm import LipschitzERM, UnsolvedError
from marginbandits.scores.finite_space import FiniteSpace
from marginbandits.scores.lipschitz import Cube, MetricSpace, NotAMetricError, Space, extension
from marginbandits.scores.nets import Net
from marginbandits.state import Field, zeros
from marginbandits.theory import lipschitz_actions_radius, lipschitz_ftl_floor, lipschitz_ftl_radius
from marginbandits.types import Array, Decision, PlacedDecision
from marginbandits.validation import ActionCount, Choice, Instance, Integer, OneOf, Real, Seed, validated

__all__ = ["FaithfulLipschitzFTL", "from_theory"]


class FaithfulLipschitzFTL(MetricContexts, EpochLearner):
    """Follow-the-leader over 1-Lipschitz policies on `space`; `p` is its covering dimension, where it has none itself.

    `points` are what the K actions stand for, one row each, if they stand for any.
    """

    exempt: ClassVar[Mapping[str, str]] = {
        "better_than_uniform": "in the check's units no two contexts are near, so a 1-Lipschitz policy can be any",
        "relabelling_permutes_the_law": "a linear program may have many solutions; which one is found depends on names",
    }
    theorem = "the theorem on Lipschitz policies"
    long_contexts = "keep"

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        space: Annotated[Space, Instance(Space)] = MetricSpace("chebyshev", dimension=2.0),  # noqa: B008  # a recipe
        horizon: Annotated[int, Integer(1, 2**53)] = 1000,
        p: Annotated[float | None, OneOf(Real(above=0), Instance(type(None)))] = None,
        version: Annotated[str, Choice("proof", "printed")] = "proof",
        prediction: Annotated[str, Choice("nearest", "extension")] = "nearest",
        points: Annotated[Array | None, OneOf(Instance(np.ndarray), Instance(type(None)))] = None,
        oracle: Annotated[LipschitzERM, Instance(LipschitzERM)] = LipschitzERM(),  # noqa: B008  # a recipe
        outside_theory: OutsideTheory = None,
        features: Features = Identity(),  # noqa: B008  # a recipe, never changed
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.space, self.horizon, self.p, self.version = space, horizon, p, version
        self.prediction, self.points, self.oracle = prediction, points, oracle
        self.n_features, self._space, self.outside_theory = None, space, outside_theory
        if points is not None and (points.ndim != 2 or len(points) != n_actions or not np.isfinite(points).all()):
            raise ValueError(f"points must be n_actions={n_actions} rows of finite numbers, got shape {points.shape}")
        dimension = _dimension(space, p)
        self.radius = lipschitz_ftl_radius(n_actions, horizon, p=dimension, size=space.size, version=version)
        self.mu = lipschitz_ftl_floor(n_actions, self.radius)
        self._hold_to_theory()

    def _needs(self, shared: bool) -> Iterable[Condition]:
        p, extended = _dimension(self.space, self.p), self.prediction == "extension"
        yield Condition("p >= 2 for the printed μ", self.version == "proof" or p >= 2.0, f"p={p:g}")
        yield Condition(
            "1-Lipschitz play",
            not extended or self.n_actions == 2,
            f"prediction='extension' of {self.n_actions} actions",
        )

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        width = self._point_width(shape, n_features)
        epochs = self._begin_epochs(width)
        self._centres = zeros((self.space.most(self.radius, len(self._seen)), width))
        self._policy = zeros((len(self._centres), self.n_actions))
        self._policy[...] = 1.0 / self.n_actions
        self._size = np.zeros(1, np.int64)  # centres of the leader's net; 0 before the first leader
        self._net: Net | None = None
        begun = np.full(self.n_actions, 1.0 / self.n_actions)
        return {
            **epochs,
            "centres": Field(self._centres),
            "policy": Field(self._policy, -1e-6, 1.0 + 1e-6, initial=begun),
            "size": Field(self._size, 0, len(self._centres)),
        }

    def _law(self, one: Batch) -> Array:
        values = np.maximum(self._leader(dense(one.rows).reshape(1, -1)), 0.0)
        return laws.floored(laws.proportional(values, one), one, self.mu)

    def _leader(self, point: Array) -> Array:
        n = int(self._size[0])
        if n == 0:
            return np.asarray(self._policy[0])
        if self.prediction == "extension":
            distances = self.space.distances(point[0], self._centres[:n])
            return np.asarray(extension(distances[None], self._policy[:n])[0])
        if self._net is None:
            self._net = self.space.net(self._centres[:n], self.radius)
        return np.asarray(self._policy[self._net.nearest(point)[0]])

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._keep(dense(one.rows).ravel(), action, loss, probability)

    def _lead(
        self, rows: Array, actions: npt.NDArray[np.int64], losses: Array, weights: Array
    ) -> tuple[float, float | None, float, bool]:
        try:
            doubts = self.space.doubts(rows)
            if doubts:
                warnings.warn(f"the metric is none: {doubts}", stacklevel=6)
            net = self.space.net(self.space.cover(rows, self.radius), self.radius)
            costs, at = np.zeros((len(net.centres), self.n_actions)), net.nearest(rows)
            np.add.at(costs, (at, actions), weights * losses)
            fit = self.oracle.minimise(costs, *net.pairs())
            off = self._off_net(rows, net.centres, at) @ (weights * losses)
        except (UnsolvedError, NotAMetricError) as error:
            warnings.warn(f"the last leader goes on: {error}", stacklevel=6)
            return 0.0, None, 0.0, False
        n = len(net.centres)
        self._journal.keep_attribute(self, "_net")
        for array in (self._centres, self._policy, self._size):
            self._journal.keep(array)
        self._net = None  # made again from the centres kept
        self._centres[:n], self._policy[:n], self._size[0] = net.centres, fit.policy, n
        return fit.value, fit.gap, float(off), True

    def _off_net(self, rows: Array, centres: Array, at: npt.NDArray[np.int64]) -> Array:
        """By how much a coordinate may differ between each row and its centre: ρ/2 if 1-Lipschitz, Kρ/4 extended."""
        way = np.empty(len(rows))
        for centre in np.unique(at):
            mine = at == centre
            way[mine] = self.space._distances(centres[centre], rows[mine])
        return np.asarray(way * (0.5 + (0.25 * self.n_actions if self.prediction == "extension" else 0.0)))

    def _decided(self, action: int, probability: float, law: Array, names: Names | None) -> Decision:
        if self.points is None:
            return super()._decided(action, probability, law, names)
        return PlacedDecision(action, probability, law, self.points[action])


@validated
def from_theory(
    *,
    space: Annotated[Space, Instance(Space)],
    horizon: Annotated[int, Integer(1)],
    n_actions: Annotated[int | None, OneOf(Integer(2), Instance(type(None)))] = None,
    actions: Annotated[Cube | FiniteSpace | None, Instance(Cube, FiniteSpace, type(None))] = None,
    p: Annotated[float | None, OneOf(Real(above=0), Instance(type(None)))] = None,
    version: Annotated[str, Choice("proof", "printed")] = "proof",
    prediction: Annotated[str, Choice("nearest", "extension")] = "nearest",
    oracle: Annotated[LipschitzERM, Instance(LipschitzERM)] = LipschitzERM(),  # noqa: B008  # a recipe, never changed
    outside_theory: bool = False,
    seed: Seed = None,
) -> FaithfulLipschitzFTL:
    """Lipschitz follow-the-leader with the paper's parameters, for `n_actions` actions or for a metric space of them.

    >>> prices = Cube([0.0], [100.0], lipschitz=0.01)
    >>> agent = from_theory(space=Cube([0.0], [1.0]), actions=prices, horizon=1000, seed=0)
    >>> agent.n_actions, agent.act([0.3]).point.round(1)
    (2, array([24.9]))
    >>> tours = FiniteSpace([[0.0, 0.1, 1.0], [0.1, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> agent = from_theory(space=Cube([0.0], [1.0]), actions=tours, horizon=1000, seed=0)
    >>> agent.n_actions, agent.points.tolist()
    (2, [[0.0], [2.0]])
    """
    points = None
    if (n_actions is None) == (actions is None):
        raise ValueError(f"give either n_actions or actions, got {n_actions!r} and {actions!r}")
    if actions is not None:
        resolution = lipschitz_actions_radius(horizon, p=_dimension(space, p), q=_dimension(actions, None))
        points = (actions.grid if isinstance(actions, Cube) else actions.net_of)(resolution).centres
        n_actions = len(points)
        if n_actions < 2:
            raise ValueError(f"actions must have two points further than {resolution:g} apart, got {actions!r}")
    assert n_actions is not None
    return FaithfulLipschitzFTL(
        n_actions,
        space=space,
        horizon=horizon,
        p=p,
        version=version,
        prediction=prediction,
        points=points,
        oracle=oracle,
        outside_theory=outside_theory,
        seed=seed,
    )


def _dimension(space: Space, p: float | None) -> float:
    found = space.dimension if p is None else p
    if found is None:
        raise ValueError("p must be given for a space without a dimension; covering_dimension estimates it")
    return found
