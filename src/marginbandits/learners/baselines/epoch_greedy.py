"""Epoch-Greedy: explore one round uniformly, exploit the next few, in epochs that grow.

Epoch m explores once and then plays the best action by regression for ⌈√m⌉ rounds; only explored rounds are learnt
from, so the sample is uniform. Over T rounds that explores about T^{2/3} of them.

Langford & Zhang (2008), "The epoch-greedy algorithm for multi-armed bandits with side information".

>>> agent = EpochGreedy(n_actions=2, seed=0)
>>> agent.act([1.0]).probability
0.5
"""

import math
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits import policies
from marginbandits.learners.regression import RidgeLearner
from marginbandits.scores.features import Features
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Real, Seed, validated

__all__ = ["EpochGreedy"]


class EpochGreedy(RidgeLearner):
    """Pure exploration and pure exploitation in turn. A round counts as explored if its action was not certain."""

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

    def _begin(self, n_blocks: int, n_features: int) -> None:
        super()._begin(n_blocks, n_features)
        self._clock = np.zeros(2)  # epochs begun, rounds left to exploit in this one

    def _distribution(self, rows: Array, available: Mask) -> Array:
        if self._clock[1] > 0:
            return policies.greedy(self._ridge.predict(rows), available)
        return policies.uniform(self.n_actions, available)

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        if self._clock[1] > 0:
            self._clock[1] -= 1
        else:
            self._clock[0] += 1
            self._clock[1] = math.ceil(math.sqrt(self._clock[0]))
        if probability < 1.0:
            super()._update(rows, action, loss, probability)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**super()._arrays(), "clock": self._clock}
