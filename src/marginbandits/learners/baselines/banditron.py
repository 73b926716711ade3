"""Banditron: the perceptron with bandit feedback.

    ŷ = argmax <w_a, z>,   p = (1 - γ) 1{a = ŷ} + γ/n,   W += (r(a)/p(a)) e_a zᵀ - e_ŷ zᵀ

with r = 1 - ℓ; ties of ŷ share the step. Mistakes grow like T^{2/3} where the data are separable with a margin.

Kakade, Shalev-Shwartz & Tewari (2008), "Efficient bandit algorithms for online multiclass prediction".

>>> agent = Banditron(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.9)
True
"""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits import policies
from marginbandits.features import Features
from marginbandits.learners.base import Learner
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Real, Seed, validated

__all__ = ["Banditron"]


class Banditron(Learner):
    """A perceptron that explores a share `gamma` of the time; O(Kd) a round."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        gamma: Annotated[float, Real(above=0, below=1)] = 0.1,
        features: Features = "raw",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.gamma = gamma

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._weights = np.zeros((n_blocks, n_features))

    def _scores(self, rows: Array) -> Array:
        return np.asarray((self._weights * rows).sum(1))

    def _distribution(self, rows: Array, available: Mask) -> Array:
        guess = policies.greedy(self._scores(rows), available)
        return policies.explore(guess, self.gamma / available.sum(), available)

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        steps = -policies.greedy(self._scores(rows))
        steps[action] += (1.0 - loss) / probability
        if len(self._weights) > 1:
            self._weights += steps[:, None] * rows
        else:
            self._weights += steps @ rows

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"weights": self._weights}
