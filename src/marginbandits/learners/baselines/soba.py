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

from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, filled
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.state import SQUARES, Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Real, validated

__all__ = ["SOBA"]


class SOBA(Learner):
    """Second-order perceptron steps on rounds that went right; explores a share `gamma`.

    O(Kd) a round, d being what is filled.
    """

    journals = True
    changes_actions = True
    takes_sparse = True
    live = frozenset({"gamma"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        gamma: Annotated[float, Real(above=0, below=1)] = 0.1,
        regularisation: Annotated[float, Real(1e-9)] = 1.0,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.gamma = gamma
        self.regularisation = regularisation

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._theta, self._diagonal = zeros((2, 1 if shape.shared else self.n_actions, n_features))
        self._diagonal[...] = self.regularisation
        self._balance = np.zeros(1)
        begun = np.full(n_features, self.regularisation)
        diagonal = Field(self._diagonal, self.regularisation, SQUARES, initial=begun, per_block=True)
        return {"theta": Field(self._theta, per_block=True), "diagonal": diagonal, "balance": Field(self._balance, 0.0)}

    def _check(self) -> None:
        if (np.abs(self._theta) > 1e20 * np.sqrt(self._diagonal)).any():
            raise ValueError("theta must be a sum of steps whose squares are in the diagonal")

    def _law(self, one: Batch) -> Array:
        columns, rows = filled(one.rows)
        scores = (self._theta[:, columns] / self._diagonal[:, columns] * rows).sum(1)
        return laws.explored(laws.greedy(scores, one), one, self.gamma)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        others = one.mask & (np.arange(len(one.mask)) != action)
        if loss == 1.0 or not others.any():
            return
        columns, rows = filled(one.rows)
        where = (slice(None), columns)
        diagonal = self._diagonal[where]
        weights = self._theta[where] / diagonal
        step = laws.greedy((weights * rows).sum(1), Batch(rows, one.shared, one.starts, others))
        step[action] -= 1.0
        g = ((step @ rows)[None] if one.shared else step[:, None] * rows) * (1.0 - loss) / probability
        q = np.sqrt(probability) * g
        m = ((weights * q).sum() ** 2 + 2.0 * (weights * g).sum()) / (1.0 + (q**2 / diagonal).sum())
        if m + self._balance[0] >= 0.0:
            self._journal.keep(self._balance)
            self._journal.keep(self._diagonal, where)
            self._journal.keep(self._theta, where)
            self._balance += m
            self._diagonal[where] += q**2
            self._theta[where] -= g
