"""LinUCB: play the action of largest upper confidence bound on the reward.

    argmax_a <θ_a, z> + α √(zᵀ A_a⁻¹ z),   A_a = λI + Σ z zᵀ,   θ_a = A_a⁻¹ Σ (1 - ℓ) z

One ridge regression per action for vector contexts ("disjoint"), one shared by all for K x d contexts. Ties are
broken at random, so probabilities are 1, or 1/n among n tied actions.

A width costs d² and a mean d, and most actions need no width to be seen to lose: with c_j the j-th diagonal entry of
A⁻¹, √(zᵀA⁻¹z) <= Σ |z_j| √c_j. Compiled rounds take the exact width of the action of largest mean first, and then of
those only which that bound does not put below it. A⁻¹ only shrinks, so c may lag behind it, and what is played is the
same to the bit.

Sparse rows of many columns are learnt with a diagonal A (`oracles.diagonal`), and there what is predicted is -ℓ: most
of what a row holds was never seen, and of a reward it would be predicted to win nothing.

Li, Chu, Langford & Schapire (2010), "A contextual-bandit approach to personalized news article recommendation".

>>> agent = LinUCB(n_actions=3, seed=0)
>>> for x in [-1.0, 1.0] * 30:
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x > 0)))
>>> agent.act([1.0]).action, agent.act([-1.0]).action
(1, 0)
"""

from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, dense
from marginbandits.factors import dot, square_norm
from marginbandits.features import Features
from marginbandits.laws import greedy, greedy_each
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import RidgeLearner, learn_ridge, learn_wide
from marginbandits.learners.swift import compiled_rounds
from marginbandits.oracles.diagonal import clipped, score_one
from marginbandits.types import Array, Mask
from marginbandits.validation import Real, validated

__all__ = ["LinUCB"]

Places = npt.NDArray[np.int64]
SLACK = 1e-9
"""What rounding could take too much from a bound on variances, as a share of 1/λ: no more than 1/λ is ever taken, and
each part of it is right to a multiple of 1e-16."""


@kernel
def _play(
    models: Array,
    rows: Array,
    shared: bool,
    starts: Places,
    alpha: float,
    mask: Mask,
    laws: Array,
) -> bool:
    for i in range(starts.shape[0] - 1):
        for a in range(starts[i + 1] - starts[i]):
            k = starts[i] + a
            model, row = models[0 if shared else a], rows[k if shared else i]
            laws[k] = dot(model[-1], row) + alpha * np.sqrt(square_norm(model, row))
    return greedy_each(laws, starts, mask, laws)


@kernel
def _law_one(columns: Places, row: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    models, _, _, _, alpha, _, _, roots = state
    best, first = -np.inf, -1
    for a in range(law.shape[0]):
        law[a] = dot(models[a, -1], row)
        if mask[a] and law[a] > best:
            best, first = law[a], a
    if first >= 0:
        law[first] += alpha * np.sqrt(square_norm(models[first], row))
        best = law[first]
    for a in range(law.shape[0]):
        if a != first and mask[a]:
            most = 0.0
            for j in range(row.shape[0]):
                most += abs(row[j]) * roots[a, j]
            if not law[a] + alpha * most < best:
                law[a] += alpha * np.sqrt(square_norm(models[a], row))
                best = max(best, law[a])
    return bool(greedy_each(law, starts, mask, law))


@kernel
def _learn_one(
    columns: Places, row: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    learn_ridge(columns, row, action, loss, probability, mask, noise, state)
    room, least, own, roots = state[1], state[5], state[6][action], state[7][action]
    for j in range(row.shape[0]):
        own[j] = max(own[j] - (1.0 + room[-1]) * room[j] * room[j], least)
        roots[j] = np.sqrt(own[j])


@kernel
def _law_wide(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, _, deviation, alpha = state
    score_one(means, precisions, 0.0, columns, clipped(values), law, deviation)
    for a in range(law.shape[0]):
        law[a] += alpha * deviation[a]
    return bool(greedy_each(law, starts, mask, law))


class LinUCB(RidgeLearner):
    """Optimism on ridge regression: `alpha` widths of confidence, `regularisation` λ."""

    _compiled: ClassVar[Any] = compiled_rounds((_law_one, _learn_one), (_law_wide, learn_wide))
    live = frozenset({"alpha"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        alpha: Annotated[float, Real(0)] = 0.2,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, regularisation=regularisation, features=features, **options)
        self.alpha = alpha

    def _arrays(self) -> tuple[Any, ...]:
        if self._wide is not None:
            return *super()._arrays(), self.alpha
        ridge = self._ridge
        factor, most = ridge.factor, 1.0 / ridge.regularisation
        slack = SLACK * most
        variances = np.full(ridge.theta.shape, most + slack)
        for block in ridge.touched():
            variances[block] = np.einsum("ij,ij->j", factor[block], factor[block]) + slack
        return *super()._arrays(), self.alpha, slack, variances, np.sqrt(variances)

    def _widths(self, batch: Batch) -> Array:
        return self.alpha * super()._widths(batch)

    def _laws(self, batch: Batch) -> Array:
        if self._wide is not None:
            return greedy(self._scores(batch) + self._widths(batch), batch)
        laws = np.empty(len(batch.mask))
        rows = dense(batch.rows)
        if not _play(self._ridge.models, rows, batch.shared, batch.starts, self.alpha, batch.mask, laws):
            raise FloatingPointError("the model's numbers are no longer finite")
        return laws
