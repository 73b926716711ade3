"""Online bagging: several policies, each on its own bootstrap of the stream; play their votes.

    p(a) = share of policies whose predicted best action is a

Each round counts Poisson(1) times for every policy but the first, which sees it once ("greedified").

Agarwal, Hsu, Kale, Langford, Li & Schapire (2014), "Taming the monster"; Oza & Russell (2001), "Online bagging and
boosting".

>>> agent = Bag(n_actions=3, n_policies=8, seed=0)
>>> agent.learn([1.0], agent.act([1.0]), loss=1.0)
>>> len(agent.act([1.0]).distribution)
3
"""

import math
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import OracleLearner, vote
from marginbandits.learners.swift import compiled_rounds
from marginbandits.oracles.online_regression import learn_row
from marginbandits.types import Array, Mask
from marginbandits.validation import Instance, Integer, Real, validated

__all__ = ["Bag"]

Places = npt.NDArray[np.int64]


@kernel
def times(draw: float) -> float:
    """How often a round counts: the Poisson(1) number whose distribution function first exceeds the draw."""
    n, share = 0.0, math.exp(-1.0)
    below = share
    while draw >= below and share > 1e-20:
        n += 1.0
        share /= n
        below += share
    return n


@kernel
def _law_one(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    states, votes = state[0], state[7]
    good = vote(states, columns, values, starts, mask, votes)
    for a in range(mask.shape[0]):
        total = 0.0
        for policy in range(states.shape[0]):
            total += votes[policy, a]
        law[a] = total / states.shape[0]
    return good


@kernel
def _learn_one(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    states, totals, span, rounds, rate, work, weighted, _ = state
    rounds[0] += 1.0
    weight = 1.0 / (states.shape[1] * probability) if weighted else 1.0
    for policy in range(states.shape[0]):
        count = times(noise[policy]) if policy else 1.0
        if count > 0.0:
            learn_row(states[policy, action], totals[policy], span, columns, values, loss, weight * count, rate, work)


class Bag(OracleLearner):
    """Votes of `n_policies` bootstrapped policies."""

    _compiled: ClassVar[Any] = compiled_rounds((_law_one, _learn_one), (_law_one, _learn_one))

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        n_policies: Annotated[int, Integer(1)] = 8,
        learning_rate: Annotated[float, Real(above=0)] = 0.5,
        weighted: Annotated[bool, Instance(bool)] = False,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, learning_rate=learning_rate, weighted=weighted, features=features, **options)
        self.n_policies = n_policies

    def _arrays(self) -> tuple[Any, ...]:
        return *super()._arrays(), np.empty((self.n_policies + 1, self.n_actions))

    @property
    def noisy(self) -> int:  # type: ignore[override]  # as many as there are policies
        """Draws of a compiled round: how often it counts for each policy; the first pays no heed to its own."""
        return self.n_policies

    def _laws(self, batch: Batch) -> Array:
        losses = (self._oracle.predict(batch, policy) for policy in range(self.n_policies))
        return np.asarray(sum(laws.greedy(-one, batch) for one in losses) / self.n_policies)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._count()
        draws = self._chance().random(self.n_policies).tolist()
        weight = self._importance(len(one.mask), probability)
        for policy, count in enumerate([1.0, *map(times, draws[1:])]):
            if count:
                self._oracle.learn(one, action, loss, weight * count, policy)
