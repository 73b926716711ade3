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

from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import OracleLearner
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, Real, validated

__all__ = ["Bag"]


class Bag(OracleLearner):
    """Votes of `n_policies` bootstrapped policies."""

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

    def _laws(self, batch: Batch) -> Array:
        losses = (self._oracle.predict(batch, policy) for policy in range(self.n_policies))
        return np.asarray(sum(laws.greedy(-one, batch) for one in losses) / self.n_policies)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._count()
        counts = self._chance().poisson(1.0, self.n_policies)
        counts[0] = 1
        weight = self._importance(len(one.mask), probability)
        for policy, count in enumerate(counts.tolist()):
            if count:
                self._oracle.learn(one, action, loss, weight * count, policy)
