"""contextualbandits, row by row: its closed-form regressions, which learn one row without the others.

Thompson sampling draws from the interval of a prediction (`sample_from="ci"`). Nothing is smoothed and no arm
has a prior of its own, so that all play the same game.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beside.data import Data, ridge_rows
from beside.player import Settings

DISTRIBUTION = "contextualbandits"
EXPLORERS: dict[str, list[Settings]] = {
    "LinUCB": [{"alpha": 0.2}, {"alpha": 1.0}],
    "LinTS": [{"v_sq": 0.01}, {"v_sq": 0.1}],
    "EpsilonGreedy": [{"explore_prob": 0.02}],
    "Bag": [{"percentile": 80}, {"percentile": 50}],
}


class ContextualBandits:
    """`predict` and `partial_fit` of one row each."""

    def __init__(self, explorer: str, settings: Settings, seed: int) -> None:
        self.explorer, self.settings, self.seed = explorer, settings, seed

    def prepare(self, data: Data) -> Sequence[Any]:
        return [row[None] for row in ridge_rows(data)]

    def start(self, n_actions: int, n_features: int) -> None:
        from contextualbandits import online
        from contextualbandits.linreg import LinearRegression

        base = LinearRegression(lambda_=1.0, fit_intercept=False, method="sm")
        shared = {"nchoices": n_actions, "random_state": self.seed + 1, "beta_prior": None, **self.settings}
        linear = {"lambda_": 1.0, "fit_intercept": False, "method": "sm", "njobs": 1, **shared}
        if self.explorer == "LinUCB":
            self.bandit = online.LinUCB(**linear)
        elif self.explorer == "LinTS":
            self.bandit = online.LinTS(sample_from="ci", **linear)
        elif self.explorer == "EpsilonGreedy":
            self.bandit = online.EpsilonGreedy(base, decay=None, batch_train=True, njobs=1, **shared)
        else:
            self.bandit = online.BootstrappedUCB(
                base, nsamples=8, batch_train=True, njobs_arms=1, njobs_samples=1, **shared
            )
        self.fitted = False

    def round(self, x: Any, losses: list[float]) -> int:
        action = int(np.asarray(self.bandit.predict(x)).item()) if self.fitted else 0
        self.bandit.partial_fit(x, np.array([action]), np.array([1.0 - losses[action]]))
        self.fitted = True
        return action


make = ContextualBandits
