"""ε-greedy on ridge regression: play the action of least predicted loss, and each action at random with share ε/n.

    p = (1 - ε) 1{a = argmax <θ_a, z>} + ε/n,   θ_a = ridge regression of -ℓ

What was never played is predicted to lose nothing, and so is tried: of the reward 1 - ℓ it would be predicted to win
nothing. Sparse rows of many columns are learnt with a diagonal A (`oracles.diagonal`).

>>> agent = EpsilonGreedy(n_actions=2, epsilon=0.1, seed=0)
>>> for _ in range(20):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, loss=float(decision.action == 0))
>>> agent.act([1.0]).distribution
array([0.05, 0.95])
"""

from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import RidgeLearner, learn_ridge, learn_wide
from marginbandits.learners.swift import compiled_rounds
from marginbandits.oracles.diagonal import clipped
from marginbandits.oracles.ridge import predict
from marginbandits.types import Array, Mask
from marginbandits.validation import Real, validated

__all__ = ["EpsilonGreedy"]

Places = npt.NDArray[np.int64]


@kernel
def _law_one(columns: Places, row: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    models, _, _, _, epsilon = state
    predict(models, row.reshape((1, row.shape[0])), False, starts, law)
    if not laws.greedy_each(law, starts, mask, law):
        return False
    laws.explore_each(law, starts, mask, epsilon, -1.0)
    return True


@kernel
def _law_wide(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, _, _, _, epsilon = state
    row = clipped(values)
    for a in range(law.shape[0]):
        total = 0.0
        for k in range(row.shape[0]):
            total += means[a, columns[k]] * row[k]
        law[a] = total
    if not laws.greedy_each(law, starts, mask, law):
        return False
    laws.explore_each(law, starts, mask, epsilon, -1.0)
    return True


class EpsilonGreedy(RidgeLearner):
    """Ridge regression per action (shared for K x d contexts), greedy but for a fixed share ε of exploration."""

    best = 0.0
    _compiled: ClassVar[Any] = compiled_rounds((_law_one, learn_ridge), (_law_wide, learn_wide))
    live = frozenset({"epsilon"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        epsilon: Annotated[float, Real(0, 1)] = 0.02,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, regularisation=regularisation, features=features, **options)
        self.epsilon = epsilon

    def _arrays(self) -> tuple[Any, ...]:
        return *super()._arrays(), self.epsilon

    def _laws(self, batch: Batch) -> Array:
        return laws.explored(laws.greedy(self._scores(batch), batch), batch, self.epsilon)
