"""Learners that predict each action's loss or reward by regression, and differ in how they play it.

A subclass fills one hole, `_distribution`: from `self._ridge` (ridge regression of the reward, exact, O(d²)) or from
`self._oracle` (online regression of the loss, O(d)). Either has one model per action for vector contexts, one shared by
all for K x d contexts.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from marginbandits.features import FeatureMap
from marginbandits.learners.base import Learner
from marginbandits.oracles.online_regression import OnlineRegression
from marginbandits.oracles.ridge import Ridge
from marginbandits.types import Array

__all__ = ["OracleLearner", "RidgeLearner"]


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


class OracleLearner(Learner):
    """Online regression of the loss, O(Kd) a round. Subclasses choose the play.

    Every round counts alike, as in the theory of regression oracles. `weighted` counts it as Vowpal Wabbit does:
    1/(Kp), right on average even where the regression cannot be, but with more variance; or, where the explorer is
    `indifferent` to p, 1/K, which is a learning rate smaller by √K.
    """

    n_policies = 1
    indifferent: ClassVar[bool] = False

    def __init__(
        self,
        n_actions: int,
        *,
        learning_rate: float,
        weighted: bool,
        features: str | FeatureMap,
        seed: int | np.random.Generator | None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.learning_rate = learning_rate
        self.weighted = weighted

    def _importance(self, probability: float) -> float:
        if not self.weighted:
            return 1.0
        return 1.0 / (self.n_actions * (1.0 if self.indifferent else probability))

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._oracle = OnlineRegression(self.n_policies, n_blocks, n_features, self.learning_rate)
        self._rounds = np.zeros(1)

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        self._rounds += 1.0
        self._oracle.learn(rows, action, loss, self._importance(probability))

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**self._oracle.arrays(), "rounds": self._rounds}
