"""RegCB: confidence bounds of a regression oracle, optimistic or by elimination.

    [low_a, high_a] = losses the oracle could give action a while adding at most β_t squared error
    optimistic      play argmin low_a
    elimination     play uniformly on {a : low_a <= min_b high_b}

with β_t = mellowness · ln(K t). Foster, Agarwal, Dudík, Luo & Schapire (2018), "Practical contextual bandits with
regression oracles".

>>> agent = RegCB(n_actions=3, seed=0)
>>> for _ in range(200):
...     decision = agent.act([1.0])
...     agent.learn([1.0], decision, loss=float(decision.action != 1))
>>> agent.act([1.0]).action
1
"""

import math
from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import OracleLearner
from marginbandits.types import Array
from marginbandits.validation import Choice, Instance, Real, validated

__all__ = ["RegCB"]


class RegCB(OracleLearner):
    """Optimism, or uniform play among what is still plausible; `mellowness` scales the confidence."""

    indifferent = True

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        play: Annotated[str, Choice("optimistic", "elimination")] = "optimistic",
        mellowness: Annotated[float, Real(above=0)] = 0.001,
        learning_rate: Annotated[float, Real(above=0)] = 0.5,
        weighted: Annotated[bool, Instance(bool)] = False,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, learning_rate=learning_rate, weighted=weighted, features=features, **options)
        self.play = play
        self.mellowness = mellowness

    def _ranges(self, one: Batch) -> tuple[Array, Array]:
        delta = self.mellowness * math.log(max(len(one.mask), 2) * max(self._rounds[0], 1.0))
        return self._oracle.ranges(one, delta)

    def _widths(self, batch: Batch) -> Array:
        low, high = self._ranges(batch)
        return 0.5 * (high - low)

    def _law(self, one: Batch) -> Array:
        low, high = self._ranges(one)
        if self.play == "optimistic":
            return laws.greedy(-low, one)
        plausible = one.mask & (low <= np.where(one.mask, high, np.inf).min())
        return np.asarray(plausible / plausible.sum())
