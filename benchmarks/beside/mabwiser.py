"""MABWiser: a ridge regression for each arm, which it inverts anew in every round.

Its ridge must be 1: with another, the covariance it starts from is the precision.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beside.data import Data, ridge_rows
from beside.player import Settings

DISTRIBUTION = "mabwiser"
EXPLORERS: dict[str, list[Settings]] = {
    "LinUCB": [{"alpha": 0.2}, {"alpha": 1.0}],
    "LinTS": [{"alpha": 0.1}, {"alpha": 0.3}],
    "EpsilonGreedy": [{"epsilon": 0.02}],
}
SKIPPED = {("sparse", "LinTS"): "seconds for each round"}


class MABWiser:
    """`fit` on one round, as it asks for, then `partial_fit`."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.explorer, self.settings, self.seed = explorer, settings, seed

    def prepare(self, data: Data) -> Sequence[Any]:
        return [row[None] for row in ridge_rows(data)]

    def start(self, n_actions: int, n_features: int) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        policy = {"EpsilonGreedy": "LinGreedy"}.get(self.explorer, self.explorer)
        rule = getattr(LearningPolicy, policy)(l2_lambda=1.0, **self.settings)
        self.bandit = MAB(list(range(n_actions)), rule, seed=self.seed)
        self.fitted = False

    def round(self, x: Any, losses: list[float]) -> int:
        if not self.fitted:
            self.bandit.fit(np.zeros(1, int), np.array([1.0 - losses[0]]), x)
            self.fitted = True
            return 0
        action = int(self.bandit.predict(x))
        self.bandit.partial_fit([action], [1.0 - losses[action]], x)
        return action


make = MABWiser
