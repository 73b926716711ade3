"""Epoch-Greedy: explore one round uniformly, exploit the next few, in epochs that grow.

Epoch m explores once and then plays the best action by what was explored for ⌈√m⌉ rounds; only explored rounds are
learnt from, so the sample is uniform but for ties. Over T rounds that explores about T^{2/3} of them.

What is best is told by ridge regression of the reward, updated in every explored round, or by the leader of any
`oracle` (`types.Oracle`), found again from all explored rounds whenever their number has grown by the factor `growth`.
Then the rounds are kept, at most `memory` of them, a uniform sample of all, in 8(d + 3) bytes each.

Langford & Zhang (2008), "The epoch-greedy algorithm for multi-armed bandits with side information".

>>> agent = EpochGreedy(n_actions=2, seed=0)
>>> agent.act([1.0]).probability
0.5
"""

import math
from collections.abc import Mapping
from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.inputs import HEAVIEST
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.oracles.leader import Followed
from marginbandits.oracles.ridge import Ridge
from marginbandits.reservoir import Reservoir
from marginbandits.state import COUNT, Field, Journal, Record, zeros
from marginbandits.theory import epoch_end
from marginbandits.types import Array, Oracle
from marginbandits.validation import Instance, Integer, OneOf, Real, validated

__all__ = ["EpochGreedy"]


class EpochGreedy(Learner):
    """Pure exploration and pure exploitation in turn. A round counts as explored if its action was not certain.

    `regularisation` is for ridge regression, `growth` and `memory` are for an oracle.
    """

    journals = True

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        oracle: Annotated[Oracle | None, OneOf(Instance(Oracle), Instance(type(None)))] = None,
        growth: Annotated[float, Real(above=1, high=100)] = 1.2,
        memory: Annotated[int, Integer(1)] = 10_000,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.regularisation = regularisation
        self.oracle = oracle
        self.growth = growth
        self.memory = memory

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        n_blocks = 1 if shape.shared else self.n_actions
        self._clock = np.zeros(2)  # epochs begun, rounds left to exploit in this one
        self._explored: Ridge | _Explored = Ridge(n_blocks, n_features, self.regularisation)
        if self.oracle is not None:
            self._explored = _Explored(Followed(self.oracle, n_blocks, n_features), self.memory, self.growth)
        return {"explored": self._explored, "clock": Field(self._clock, 0.0, COUNT)}

    def _law(self, one: Batch) -> Array:
        return laws.greedy(self._explored.predict(one), one) if self._clock[1] > 0 else laws.uniform(one)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._journal.keep(self._clock)
        if self._clock[1] > 0:
            self._clock[1] -= 1
        else:
            self._clock[0] += 1
            self._clock[1] = math.ceil(math.sqrt(self._clock[0]))
        if probability == 1.0:
            return
        if isinstance(self._explored, Ridge):
            self._explored.learn(dense(one.rows), one.row(action), one.block(action), 1.0 - loss)
        else:
            self._explored.learn(one, action, loss, probability, self._chance())


class _Explored(Record):
    """A sample of the explored rounds, and the leader of those there were when they had last grown enough."""

    def __init__(self, followed: Followed, memory: int, growth: float) -> None:
        self.followed, self.growth = followed, growth
        self.kept = Reservoir(1, memory, followed.shape[1])
        self.blocks, self.weights = zeros((memory,), np.int64), zeros((memory,))
        self.refit_at = np.ones(1, np.int64)

    def attach(self, journal: Journal) -> None:
        super().attach(journal)
        self.kept.attach(journal)
        self.followed.attach(journal)

    def learn(self, one: Batch, action: int, loss: float, probability: float, rng: np.random.Generator) -> None:
        row, block = self.followed.round(dense(one.rows), one.shared, action)
        slot = self.kept.keep(0, row, loss, rng.standard_normal())
        if slot >= 0:
            self.journal.keep(self.blocks, slot)
            self.journal.keep(self.weights, slot)
            self.blocks[slot], self.weights[slot] = block, 1.0 / probability
        seen, n = int(self.kept.seen[0]), self.kept.held(0)
        if seen >= self.refit_at[0]:
            self.journal.keep(self.refit_at)
            self.refit_at[0] = epoch_end(seen, self.growth)
            self.followed.refit(self.kept.rows[0, :n], self.blocks[:n], self.kept.losses[0, :n], self.weights[:n])

    def predict(self, one: Batch) -> Array:
        return self.followed.scores(dense(one.rows), one.shared)

    def refuse_saving(self) -> None:
        self.followed.refuse_saving()

    def fields(self) -> Mapping[str, Field]:
        kept = {f"kept.{name}": field for name, field in self.kept.fields().items()}
        return {
            **kept,
            "blocks": Field(self.blocks, 0, self.followed.shape[0] - 1),
            "weights": Field(self.weights, 0.0, HEAVIEST),
            "refit_at": Field(self.refit_at, 1, 2**62),
            **self.followed.fields(),
        }
