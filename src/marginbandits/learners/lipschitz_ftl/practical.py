"""Lipschitz follow-the-leader in its practical form: no horizon, all data so far, a leader that is hopeful.

    net       a context further than r t^{-1/5} from every centre becomes one, up to `most`; each round counts for its
              nearest centre. r and h are in units of the median distance of two centres
    estimate  of the loss of action a at centre c: n and ℓ are the rounds of a and their losses at all centres, weighted
              by exp(-ρ²/2h_t²), h_t = h t^{-1/10}; ℓ̄ is the action's mean loss

                  ℓ̂(c, a) = (ℓ + κℓ̄)/(n + κ) - α √(ln(t + 1)/(n + κ))

    leader    argmin Σ n_c <ℓ̂(c, ·), g_c> over g that are 1-Lipschitz between each centre and its nearest six
              (`oracles.lipschitz_erm`), found anew when the rounds have grown by the factor `growth`
    play      p = (1 - Kμ) g(nearest centre) + μ,    μ = smoothing/(K√t)

Distances ρ are those of `space`: over a distance of 2 a policy may change entirely. By default contexts are
standardised and the metric is Euclidean, times 6. Rounds count alike, whatever their probability.

What the paper proves is for `from_theory`; here the estimates, the hope and the growing net are without proof.

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", appendix on Lipschitz contextual bandits.

>>> agent = LipschitzFTL(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.9)
True
>>> agent.leader()
LeaderInPlay(rounds=177, centres=7, searches=23, unsolved=0)
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import MaybeFeatures
from marginbandits.learners.base import Parts
from marginbandits.learners.lipschitz_ftl import faithful
from marginbandits.learners.metric import MetricContexts, default_features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.oracles.lipschitz_erm import LipschitzERM, UnsolvedError
from marginbandits.scores.growing import GrowingNet
from marginbandits.scores.lipschitz import MetricSpace, NotAMetricError, Space
from marginbandits.state import COUNT, Field, zeros
from marginbandits.theory import epoch_end
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, OneOf, Real, validated

__all__ = ["LeaderInPlay", "LipschitzFTL"]

PATIENT = LipschitzERM(max_iterations=50_000)
"""Gives up after as many steps on every machine, so that the same seed is the same run."""


@dataclass(frozen=True, slots=True)
class LeaderInPlay:
    """The leader in play: after how many rounds it was found, on how many centres; and how many searches failed."""

    rounds: int
    centres: int
    searches: int
    unsolved: int


class LipschitzFTL(MetricContexts):
    """A hopeful Lipschitz policy on a growing net, found anew whenever the rounds have grown by `growth`.

    `radius` and `width` are r and h; `alpha` is how many deviations are hoped for;
    `smoothing` scales the floor. O(most·d) a round, and a linear program over at most `most` centres at each search;
    one that is not solved leaves the last leader in play, with a warning. 8·most·(d + 3K) bytes.
    """

    NEIGHBOURS: ClassVar[int] = 6
    """To how many of the nearest centres a leader's jump is bounded; to all others it is so only by way of these."""

    PRIOR: ClassVar[float] = 0.1
    """κ: rounds that an action's mean loss is worth."""

    constants: ClassVar[Mapping[str, float]] = {"NEIGHBOURS": 1000, "PRIOR": 1e6}
    journals = True
    from_theory = staticmethod(faithful.from_theory)
    live = frozenset({"alpha", "smoothing"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        space: Annotated[Space | None, OneOf(Instance(Space), Instance(type(None)))] = None,
        radius: Annotated[float, Real(above=0)] = 0.12,
        width: Annotated[float, Real(above=0)] = 0.4,
        alpha: Annotated[float, Real(0)] = 0.15,
        smoothing: Annotated[float, Real(0)] = 0.02,
        growth: Annotated[float, Real(above=1, high=100)] = 1.2,
        most: Annotated[int, Integer(1)] = 200,
        oracle: Annotated[LipschitzERM, Instance(LipschitzERM)] = PATIENT,
        features: MaybeFeatures = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=default_features(features, space), **options)
        self.space, self.radius, self.width, self.alpha = space, radius, width, alpha
        self.smoothing, self.growth, self.most, self.oracle = smoothing, growth, most, oracle
        self._space = MetricSpace(lipschitz=6.0) if space is None else space

    def leader(self) -> LeaderInPlay:
        """Which leader is in play."""
        if self._map is None:
            return LeaderInPlay(0, 0, 0, 0)
        _, _, rounds, centres, searches, unsolved = self._clock.tolist()
        return LeaderInPlay(rounds, centres, searches, unsolved)

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._net = GrowingNet(self._space, self._point_width(shape, n_features), self.most)
        self._counts, self._losses, self._policy = zeros((3, self.most, self.n_actions))
        self._policy[...] = 1.0 / self.n_actions
        self._typical = np.zeros(1)  # median distance of two centres
        self._clock = np.array([0, 1, 0, 0, 0, 0], np.int64)  # rounds, when to search next, then `LeaderInPlay`
        begun = np.full(self.n_actions, 1.0 / self.n_actions)
        return {
            "net": self._net,
            "counts": Field(self._counts, 0.0, COUNT),
            "losses": Field(self._losses, 0.0, COUNT),
            "policy": Field(self._policy, -1e-6, 1.0 + 1e-6, initial=begun),
            "typical": Field(self._typical, 0.0),
            "clock": Field(self._clock, 0, 2**62),
        }

    def _check(self) -> None:
        if self._clock[[0, 2, 4, 5]].max() > COUNT:
            raise ValueError(f"clock must count no further than {COUNT}")
        if self._clock[3] > len(self._net.held()):
            raise ValueError(f"clock must name a leader of at most {len(self._net.held())} centres")

    def _law(self, one: Batch) -> Array:
        at, _ = self._net.nearest(dense(one.rows).ravel(), int(self._clock[3]))
        law = laws.proportional(np.maximum(self._policy[max(at, 0)], 0.0), one)
        return laws.floored(law, one, self.smoothing / (self.n_actions * math.sqrt(max(self._clock[0], 1))))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        t = int(self._clock[0]) + 1
        at = self._net.learn(dense(one.rows).ravel(), self.radius * t**-0.2 * self._typical[0])
        self._journal.keep(self._counts, at)
        self._journal.keep(self._losses, at)
        self._journal.keep(self._clock)
        self._clock[0] = min(t, COUNT)
        self._counts[at, action] += 1.0
        self._losses[at, action] += loss
        if t >= self._clock[1]:
            self._clock[1] = epoch_end(t, self.growth)
            self._lead(t)

    def _lead(self, t: int) -> None:
        n = len(self._net.held())
        self._journal.keep(self._policy)
        self._journal.keep(self._typical)
        self._clock[4] += 1
        try:
            near = self._near()
            pairs = _neighbours(near, self.NEIGHBOURS)
            costs = self._counts[:n].sum(1, keepdims=True) * self._estimate(near, t)
            fit = self.oracle.minimise(costs, pairs, near[pairs[:, 0], pairs[:, 1]])
        except (UnsolvedError, NotAMetricError) as error:
            self._clock[5] += 1
            warnings.warn(f"the last leader goes on: {error}", stacklevel=5)
            return
        self._policy[:n] = fit.policy
        self._clock[2:4] = t, n

    def _near(self) -> Array:
        """Distances between all centres."""
        centres = self._net.held()
        near = np.array([self._space._distances(one, centres) for one in centres])
        if len(near) > 1:
            self._typical[0] = np.median(near[np.triu_indices(len(near), 1)])
        return near

    def _estimate(self, near: Array, t: int) -> Array:
        """Hopeful losses of all actions at all centres."""
        counts, losses = self._counts[: len(near)], self._losses[: len(near)]
        ratio = near / max(self.width * t**-0.1 * self._typical[0], 1e-100)
        kernel = np.exp(-0.5 * np.minimum(ratio, 40.0) ** 2)
        means = (losses.sum(0) + 0.5) / (counts.sum(0) + 1.0)
        weight = kernel @ counts + self.PRIOR
        hope = self.alpha * np.sqrt(math.log(t + 1.0) / weight)
        return np.asarray((kernel @ losses + self.PRIOR * means) / weight - hope)


def _neighbours(near: Array, n: int) -> npt.NDArray[np.int64]:
    """Pairs of centres nearer than 2 of which one is among the other's nearest."""
    last = min(n, len(near) - 1)
    few = near <= np.partition(near, last, axis=1)[:, [last]]
    return np.argwhere(np.triu((few | few.T) & (near < 2.0), 1))
