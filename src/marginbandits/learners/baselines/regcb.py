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
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.laws import greedy_each
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import OracleLearner, learn_oracle
from marginbandits.learners.swift import compiled_rounds
from marginbandits.oracles.loss_ranges import loss_ranges, range_one
from marginbandits.types import Array, Mask
from marginbandits.validation import Choice, Instance, Real, validated

__all__ = ["RegCB"]

Places = npt.NDArray[np.int64]


@kernel
def _play(least: Array, most: Array, starts: Places, mask: Mask, optimistic: bool) -> bool:
    """The law in place of the least losses: on the least of them, or uniform where they are plausible."""
    for i in range(starts.shape[0] - 1):
        bound = np.inf
        for k in range(starts[i], starts[i + 1]):
            if mask[k] and not optimistic:
                bound = min(bound, most[k])
        for k in range(starts[i], starts[i + 1]):
            least[k] = -least[k] if optimistic else 1.0 if least[k] <= bound else 0.0
    return greedy_each(least, starts, mask, least)


@kernel
def _law_one(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    states, totals, _, rounds, rate, _, _, mellowness, optimistic, most = state
    delta = mellowness * math.log(max(mask.shape[0], 2) * max(rounds[0], 1.0))
    range_one(states[0], totals[0], columns, values, delta, rate, law, most)
    return bool(_play(law, most, starts, mask, optimistic))


class RegCB(OracleLearner):
    """Optimism, or uniform play among what is still plausible; `mellowness` scales the confidence."""

    indifferent = True
    _compiled: ClassVar[Any] = compiled_rounds((_law_one, learn_oracle), (_law_one, learn_oracle))
    live = frozenset({"mellowness"})

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

    def _arrays(self) -> tuple[Any, ...]:
        optimistic = self.play == "optimistic"
        return *super()._arrays(), self.mellowness, optimistic, np.empty(0 if optimistic else self.n_actions)

    def _ranges(self, one: Batch) -> tuple[Array, Array]:
        delta = self.mellowness * math.log(max(len(one.mask), 2) * max(self._rounds[0], 1.0))
        return loss_ranges(self._oracle, one, delta)

    def _widths(self, batch: Batch) -> Array:
        low, high = self._ranges(batch)
        return 0.5 * (high - low)

    def _law(self, one: Batch) -> Array:
        low, high = self._ranges(one)
        if not _play(low, high, one.starts, one.mask, self.play == "optimistic"):
            raise FloatingPointError("the model's numbers are no longer finite")
        return low
