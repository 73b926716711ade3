"""LinUCB: play the action of largest upper confidence bound on the reward.

    argmax_a <θ_a, z> + α √(zᵀ A_a⁻¹ z),   A_a = λI + Σ z zᵀ,   θ_a = A_a⁻¹ Σ (1 - ℓ) z

One ridge regression per action for vector contexts ("disjoint"), one shared by all for K x d contexts. Ties are
broken at random, so probabilities are 1, or 1/n among n tied actions.

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
from marginbandits.laws import greedy_each
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import RidgeLearner, learn_ridge
from marginbandits.learners.swift import compiled_rounds
from marginbandits.types import Array, Mask
from marginbandits.validation import Real, validated

__all__ = ["LinUCB"]

Places = npt.NDArray[np.int64]


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
    models, _, _, alpha = state
    return bool(_play(models, row.reshape((1, row.shape[0])), False, starts, alpha, mask, law))


class LinUCB(RidgeLearner):
    """Optimism on ridge regression: `alpha` widths of confidence, `regularisation` λ."""

    _compiled: ClassVar[Any] = compiled_rounds((_law_one, learn_ridge))

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
        return *super()._arrays(), self.alpha

    def _widths(self, batch: Batch) -> Array:
        return self.alpha * super()._widths(batch)

    def _laws(self, batch: Batch) -> Array:
        laws = np.empty(len(batch.mask))
        rows = dense(batch.rows)
        if not _play(self._ridge.models, rows, batch.shared, batch.starts, self.alpha, batch.mask, laws):
            raise FloatingPointError("the model's numbers are no longer finite")
        return laws
