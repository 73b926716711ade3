"""SOBA, the second-order Banditron: a passive-aggressive choice of which right guesses to learn from. Diagonal form.

    ŷ = argmax <w_a, z>,   p = (1 - γ) 1{a = ŷ} + γ/n;   where the action y was right, with ȳ the best other one:
    g = (e_ȳ - e_y) zᵀ/p_y,   q = √p_y g,   m = (<W, q>² + 2<W, g>)/(1 + qᵀA⁻¹q)
    if m + Σ past m >= 0:   A += q qᵀ,   θ -= g,   W = A⁻¹θ

With a loss between 0 and 1, g is scaled by the reward.

Beygelzimer, Orabona & Zhang (2017), "Efficient online bandit multiclass learning with Õ(√T) regret".

>>> agent = SOBA(n_actions=2, seed=0)
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

__all__ = ["SOBA"]


class SOBA(Learner):
    """Second-order perceptron steps on rounds that went right; explores a share `gamma`; O(Kd) a round."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        gamma: Annotated[float, Real(above=0, below=1)] = 0.1,
        regularisation: Annotated[float, Real(1e-9)] = 1.0,
        features: Features = "raw",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.gamma = gamma
        self.regularisation = regularisation

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._theta = np.zeros((n_blocks, n_features))
        self._diagonal = np.full((n_blocks, n_features), self.regularisation)
        self._balance = np.zeros(1)

    def _distribution(self, rows: Array, available: Mask) -> Array:
        scores = (self._theta / self._diagonal * rows).sum(1)
        return policies.explore(policies.greedy(scores, available), self.gamma / available.sum(), available)

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        if loss == 1.0:
            return
        weights = self._theta / self._diagonal
        step = policies.greedy((weights * rows).sum(1), np.arange(self.n_actions) != action)
        step[action] -= 1.0
        g = (step[:, None] * rows if len(weights) > 1 else (step @ rows)[None]) * (1.0 - loss) / probability
        q = np.sqrt(probability) * g
        m = ((weights * q).sum() ** 2 + 2.0 * (weights * g).sum()) / (1.0 + (q**2 / self._diagonal).sum())
        if m + self._balance[0] >= 0.0:
            self._balance += m
            self._diagonal += q**2
            self._theta -= g

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"theta": self._theta, "diagonal": self._diagonal, "balance": self._balance}
