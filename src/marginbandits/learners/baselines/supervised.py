"""The skyline: ridge regression that is shown the loss of every action after each round, and plays greedily.

Not a bandit: `simulate` hands it all losses where the environment knows them. The gap to it is the price of seeing one
loss instead of K. Given one loss only, it learns from that one.

>>> agent = Supervised(n_actions=3, seed=0)
>>> agent.learn_all([1.0, 2.0], [0.0, 1.0, 1.0])
>>> agent.act([1.0, 2.0]).action
0
"""

from collections.abc import Sequence
from typing import Annotated

import numpy.typing as npt

from marginbandits import policies
from marginbandits.features import Features
from marginbandits.learners.regression import RidgeLearner
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Real, Seed, validated

__all__ = ["Supervised"]


class Supervised(RidgeLearner):
    """Full information: what could be reached with every label."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        features: Features = "raw",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, regularisation=regularisation, features=features, seed=seed)

    def learn_all(self, context: npt.ArrayLike, losses: Sequence[float] | Array) -> None:
        """Learn the losses of all K actions of one round."""
        costs = [self._loss(loss, None) for loss in losses]
        if len(costs) != self.n_actions:
            raise ValueError(f"losses must be {self.n_actions} numbers, got {len(costs)}")
        rows = self._rows(context)
        self._learn(rows, 0, costs[0], 1.0)
        assert self._map is not None
        features = self._map.transform(rows)
        for action in range(1, self.n_actions):
            self._update(features, action, costs[action], 1.0)

    def _distribution(self, rows: Array, available: Mask) -> Array:
        return policies.greedy(self._ridge.predict(rows), available)
