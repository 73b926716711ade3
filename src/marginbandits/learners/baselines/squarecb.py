"""SquareCB: inverse gap weighting on an online square-loss oracle.

    p(a) = 1/(n + γ_t (ŷ_a - ŷ_min)) for a ≠ argmin,   the rest on the argmin,   γ_t = scale·√t

Foster & Rakhlin (2020), "Beyond UCB: optimal and efficient contextual bandits with regression oracles".

>>> agent = SquareCB(n_actions=3, seed=0)
>>> for _ in range(200):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, loss=float(decision.action != 1))
>>> bool(agent.act([1.0]).distribution[1] > 0.95)
True
"""

import math
from typing import Annotated

import numpy as np

from marginbandits.features import Features
from marginbandits.learners.regression import OracleLearner
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Instance, Real, Seed, validated

__all__ = ["SquareCB"]


class SquareCB(OracleLearner):
    """Inverse gap weighting: an action's probability falls with its predicted excess loss; `scale` sets how fast.

    Predictions are clipped to [0, 1]; `weighted` leaves them as they are, as Vowpal Wabbit does.
    """

    indifferent = True

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        scale: Annotated[float, Real(above=0)] = 30.0,
        learning_rate: Annotated[float, Real(above=0)] = 0.5,
        weighted: Annotated[bool, Instance(bool)] = False,
        features: Features = "raw",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, learning_rate=learning_rate, weighted=weighted, features=features, seed=seed)
        self.scale = scale

    def _distribution(self, rows: Array, available: Mask) -> Array:
        predicted = self._oracle.predict(rows)
        losses = np.where(available, predicted if self.weighted else np.clip(predicted, 0.0, 1.0), np.inf)
        gamma = self.scale * math.sqrt(self._rounds[0])
        best = losses == losses.min()
        law = np.where(best, 0.0, 1.0 / (available.sum() + gamma * (losses - losses.min())))
        law[best] = (1.0 - law.sum()) / best.sum()
        return law
