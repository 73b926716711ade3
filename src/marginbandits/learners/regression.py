"""Learners that predict each action's reward by online ridge regression and differ only in how they play it.

A subclass fills one hole, `_distribution`, from `self._ridge`: one model per action for vector contexts, one shared by
all for K x d contexts, of the reward 1 - ℓ.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.learners.base import Learner
from marginbandits.oracles.ridge import Ridge
from marginbandits.scores.features import FeatureMap
from marginbandits.types import Array

__all__ = ["RidgeLearner"]


class RidgeLearner(Learner):
    """Ridge regression of the reward: O(Kd²) a round, 8Kd² bytes (K = 1 where the model is shared)."""

    def __init__(
        self,
        n_actions: int,
        *,
        regularisation: float,
        features: str | FeatureMap,
        seed: int | np.random.Generator | None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.regularisation = regularisation

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._ridge = Ridge(n_blocks, n_features, self.regularisation)

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        self._ridge.learn(rows, action, 1.0 - loss)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return self._ridge.arrays()
