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
from marginbandits.learners.regression import OracleLearner, vote, vote_every
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
    _mean(votes, law)
    return good


@kernel
def _law_sparse(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    votes, by_column, predicted = state[7], state[8], state[9]
    good = vote_every(by_column, columns, values, starts, mask, votes, predicted)
    _mean(votes, law)
    return good


@kernel
def _mean(votes: Array, law: Array) -> None:
    n_policies = votes.shape[0] - 1
    for a in range(law.shape[0]):
        total = 0.0
        for policy in range(n_policies):
            total += votes[policy, a]
        law[a] = total / n_policies


@kernel
def _learn_one(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    states, totals, span, rounds, rate, work, weighted = state[:7]
    rounds[0] += 1.0
    weight = 1.0 / (states.shape[1] * probability) if weighted else 1.0
    for policy in range(states.shape[0]):
        count = times(noise[policy]) if policy else 1.0
        if count > 0.0:
            learn_row(states[policy, action], totals[policy], span, columns, values, loss, weight * count, rate, work)


class Bag(OracleLearner):
    """Votes of `n_policies` bootstrapped policies."""

    together = True
    _compiled: ClassVar[Any] = compiled_rounds((_law_one, _learn_one), (_law_sparse, _learn_one))

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
        votes, by_column = np.empty((self.n_policies + 1, self.n_actions)), self._oracle.by_column
        return *super()._arrays(), votes, by_column, np.empty(by_column.shape[2])

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
