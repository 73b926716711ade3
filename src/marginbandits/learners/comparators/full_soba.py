"""SOBA with the whole matrix, as its theorem has it; `SOBA` keeps the diagonal alone, which costs less and proves less.

    ŷ = argmax <w_a, z>,   p = (1 - γ) 1{a = ŷ} + γ/n;   where the action y was right, with ȳ the best other one:
    g = (e_ȳ - e_y) zᵀ/p_y,   q = √p_y g,   m = (<W, q>² + 2<W, g>)/(1 + qᵀA⁻¹q)
    if m + Σ past m >= 0:   A += q qᵀ,   θ -= g,   W = A⁻¹θ

A is Kd x Kd (d x d for K x d contexts), its inverse kept by rank-one updates. With D = Kd, mistakes are at most those
of `theory.soba` over the η-hinge of any U, simultaneously for all η that ‖U‖ allows; `quadratic` is the Σ gᵀA⁻¹g of its
second-order form. With a loss between 0 and 1, g is scaled by the reward, and the theorem says nothing.

Beygelzimer, Orabona & Zhang (2017), "Efficient online bandit multiclass learning with Õ(√T) regret", algorithm 1.

>>> agent = FullSOBA(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.9)
True
"""

from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.projections import ball
from marginbandits.state import SQUARES, Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Real, validated

__all__ = ["FullSOBA"]

LONGEST = 1e6
"""Rows longer than this are shortened to it: beyond, an inverse kept by updates is rounding alone."""


class FullSOBA(Learner):
    """Second-order perceptron steps on rounds that went right; explores a share `gamma`.

    O((Kd)²) a round, 8(Kd)² bytes.
    """

    journals = True
    needs_every_row = True
    competes = False

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        gamma: Annotated[float, Real(above=0, below=1)] = 0.1,
        regularisation: Annotated[float, Real(1e-9, 1e9)] = 1.0,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.gamma, self.regularisation = gamma, regularisation

    @property
    def quadratic(self) -> float:
        """Σ gᵀA⁻¹g so far."""
        return 0.0 if self._map is None else float(self._sums[1])

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._blocks = 1 if shape.shared else self.n_actions
        size = self._blocks * n_features
        self._theta, self._inverse = zeros((size,)), zeros((size, size))
        self._inverse[np.diag_indices(size)] = 1.0 / self.regularisation
        self._sums = np.zeros(2)  # Σ m, Σ gᵀA⁻¹g
        return {
            "theta": Field(self._theta),
            "inverse": Field(self._inverse, -1.0 / self.regularisation, 1.0 / self.regularisation),
            "sums": Field(self._sums, 0.0, SQUARES),
        }

    def _check(self) -> None:
        if np.abs(self._inverse - self._inverse.T).max() > 1e-6 / self.regularisation:
            raise ValueError("inverse must be symmetric")

    def _law(self, one: Batch) -> Array:
        return laws.explored(laws.greedy(self._scores(one), one), one, self.gamma)

    def _scores(self, one: Batch) -> Array:
        weights = (self._inverse @ self._theta).reshape(self._blocks, -1)
        return np.asarray((weights * ball(dense(one.rows), LONGEST)).sum(1))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        others = one.mask & (np.arange(len(one.mask)) != action)
        if loss == 1.0 or not others.any():
            return
        rows, scores = ball(dense(one.rows), LONGEST), self._scores(one)
        step = laws.greedy(scores, Batch(rows, one.shared, one.starts, others))
        step[action] -= 1.0
        scaled = (1.0 - loss) / probability
        g = (step @ rows if one.shared else (step[:, None] * rows).ravel()) * scaled
        root = np.sqrt(probability)
        towards = self._inverse @ g  # A⁻¹g; q = √p g
        spread = 1.0 + probability * float(g @ towards)
        along = float(scores @ step) * scaled  # <W, g>
        m = ((root * along) ** 2 + 2.0 * along) / spread
        if m + self._sums[0] >= 0.0:
            for array in (self._sums, self._inverse, self._theta):
                self._journal.keep(array)
            self._sums += m, float(g @ towards) / spread
            self._inverse -= np.outer(towards, towards) * (probability / spread)
            self._theta -= g
