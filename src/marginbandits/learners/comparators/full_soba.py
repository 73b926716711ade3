"""SOBA with the whole matrix, as its theorem has it; `SOBA` keeps the diagonal alone, which costs less and proves less.

    ŷ = argmax <w_a, z>,   p = (1 - γ) 1{a = ŷ} + γ/n;   where the action y was right, with ȳ the best other one:
    g = (e_ȳ - e_y) zᵀ/p_y,   q = √p_y g,   m = (<W, q>² + 2<W, g>)/(1 + qᵀA⁻¹q)
    if m + Σ past m >= 0:   A += q qᵀ,   θ -= g,   W = A⁻¹θ

A is Kd x Kd (d x d for K x d contexts), its inverse kept by rank-one updates. With D = Kd, mistakes are at most those
of `theory.soba` over the η-hinge of any U, simultaneously for all η that ‖U‖ allows; `quadratic` is the Σ gᵀA⁻¹g of its
second-order form, and `bound` has all of it. With a loss between 0 and 1, g is scaled by the reward, and the theorem
says nothing; nor does it of decisions less likely than γ/n, which are not its own.

Beygelzimer, Orabona & Zhang (2017), "Efficient online bandit multiclass learning with Õ(√T) regret", algorithm 1.

>>> agent = FullSOBA(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0] * 100:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> bool(agent.act([1.0]).distribution[1] > 0.9)
True
>>> bound = agent.bound(norm=0.7, eta=0.5)  # with the bias, rows are longer than 1
>>> bound.holds, agent.bound(norm=0.7).holds, bound.value < 100
(True, False, True)
"""

import math
from dataclasses import replace
from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.projections import ball
from marginbandits.state import COUNT, SQUARES, Field, zeros
from marginbandits.theory import Bound, soba
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

    @validated
    def bound(
        self, *, norm: Annotated[float, Real(0, 1e30)] = 1.0, eta: Annotated[float, Real(1e-6, 1)] = 1.0
    ) -> Bound:
        """What the theory promises of the rounds learnt, over the η-hinge of every U of this norm: its second order."""
        if self._map is None:
            raise ValueError("bound must wait for the first round learnt: it is made of what was met")
        rounds, longest, outside = self._met.tolist()
        bound = soba(
            len(self._theta),
            self.n_actions,
            max(int(rounds), 1),
            eta=eta,
            norm=norm,
            context=max(longest, 1e-9) * (1.0 if self._blocks > 1 else math.sqrt(2.0)),  # ‖z_ȳ - z_y‖ <= 2X
            gamma=self.gamma,
            regularisation=self.regularisation,
            quadratic=self.quadratic,
        )
        return replace(bound, conditions={**bound.conditions, "one right action, drawn by its own law": not outside})

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._blocks = 1 if shape.shared else self.n_actions
        size = self._blocks * n_features
        self._theta, self._inverse = zeros((size,)), zeros((size, size))
        self._inverse[np.diag_indices(size)] = 1.0 / self.regularisation
        self._sums = np.zeros(2)  # Σ m, Σ gᵀA⁻¹g
        self._met = np.zeros(3)  # rounds, the longest row, and rounds that the theorem does not cover
        return {
            "theta": Field(self._theta),
            "inverse": Field(self._inverse, -1.0 / self.regularisation, 1.0 / self.regularisation),
            "sums": Field(self._sums, 0.0, SQUARES),
            "met": Field(self._met, 0.0, COUNT),
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
        rows, others = ball(dense(one.rows), LONGEST), one.mask & (np.arange(len(one.mask)) != action)
        self._journal.keep(self._met)
        self._met[0] = min(self._met[0] + 1.0, COUNT)
        self._met[1] = max(self._met[1], float(np.sqrt(np.square(rows).sum(1)).max()))
        least = self.gamma / max(int(one.mask.sum()), 1)
        self._met[2] = min(self._met[2] + (0.0 < loss < 1.0 or probability < least * (1.0 - 1e-9)), COUNT)
        if loss == 1.0 or not others.any():
            return
        scores = self._scores(one)
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
