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
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import OracleLearner, learn_offer, learn_oracle
from marginbandits.learners.swift import compiled_rounds
from marginbandits.learners.swift_offers import compiled_offers
from marginbandits.oracles.online_regression import predict_all, predict_one
from marginbandits.types import Array, Mask
from marginbandits.validation import Instance, Real, validated

__all__ = ["SquareCB"]

Places = npt.NDArray[np.int64]
BEYOND = 0.3
"""How much of what a prediction is beyond [0, 1] counts."""


@kernel
def _weigh(losses: Array, starts: Places, mask: Mask, gamma: float, clip: bool) -> bool:
    """Predicted losses become the law, in place; the best share what the others leave. False, and NaN, at a NaN."""
    for i in range(starts.shape[0] - 1):
        least, n = np.inf, 0
        for k in range(starts[i], starts[i + 1]):
            if mask[k] and np.isnan(losses[k]):
                losses[:] = np.nan
                return False
            if clip:
                within = min(max(losses[k], 0.0), 1.0)
                losses[k] = within + BEYOND * (losses[k] - within)
            if mask[k]:
                least = min(least, losses[k])
                n += 1
        left, best = 1.0, 0
        for k in range(starts[i], starts[i + 1]):
            if not mask[k]:
                losses[k] = 0.0
            elif losses[k] == least:
                losses[k] = -1.0
                best += 1
            else:
                losses[k] = 1.0 / (n + gamma * (losses[k] - least))
                left -= losses[k]
        for k in range(starts[i], starts[i + 1]):
            if losses[k] < 0.0:
                losses[k] = left / best
    return True


@kernel
def _law_one(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    predict_one(state[0][0], columns, values, law)
    return bool(_weigh(law, starts, mask, state[7] * math.sqrt(state[3][0]), not state[6]))


@kernel
def _law_rows(columns: Places, values: Array, ends: Places, starts: Places, mask: Mask, state: Any, law: Array) -> None:
    predict_all(state[0][0], columns, values, ends, True, starts, law)
    _weigh(law, starts, mask, state[7] * math.sqrt(state[3][0]), not state[6])


class SquareCB(OracleLearner):
    """Inverse gap weighting: an action's probability falls with its predicted excess loss; `scale` sets how fast.

    What a prediction is beyond [0, 1] counts for less, but it counts: else all that are expected to lose would be
    alike. `weighted` leaves predictions as they are, as Vowpal Wabbit does.
    """

    indifferent = True
    _compiled: ClassVar[Any] = compiled_rounds((_law_one, learn_oracle), (_law_one, learn_oracle))
    _compiled_offers: ClassVar[Any] = compiled_offers(_law_rows, learn_offer)
    live = frozenset({"scale"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        scale: Annotated[float, Real(above=0)] = 30.0,
        learning_rate: Annotated[float, Real(above=0)] = 0.5,
        weighted: Annotated[bool, Instance(bool)] = False,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, learning_rate=learning_rate, weighted=weighted, features=features, **options)
        self.scale = scale

    def _arrays(self) -> tuple[Any, ...]:
        return *super()._arrays(), self.scale

    def _laws(self, batch: Batch) -> Array:
        laws = self._oracle.predict(batch)
        _weigh(laws, batch.starts, batch.mask, self.scale * math.sqrt(self._rounds[0]), not self.weighted)
        return laws
