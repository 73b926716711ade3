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
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits import policies
from marginbandits.features import Features
from marginbandits.learners.base import Learner
from marginbandits.oracles.leader import Followed
from marginbandits.oracles.ridge import Ridge
from marginbandits.samplers.reservoir import Reservoir
from marginbandits.theory import epoch_end
from marginbandits.types import Array, Mask, Oracle
from marginbandits.validation import ActionCount, Instance, Integer, OneOf, Real, Seed, validated

__all__ = ["EpochGreedy"]


class EpochGreedy(Learner):
    """Pure exploration and pure exploitation in turn. A round counts as explored if its action was not certain.

    `regularisation` is for ridge regression, `growth` and `memory` are for an oracle.
    """

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        oracle: Annotated[Oracle | None, OneOf(Instance(Oracle), Instance(type(None)))] = None,
        growth: Annotated[float, Real(above=1)] = 1.2,
        memory: Annotated[int, Integer(1)] = 10_000,
        features: Features = "raw",
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=features, seed=seed)
        self.regularisation = regularisation
        self.oracle = oracle
        self.growth = growth
        self.memory = memory

    def _begin(self, n_blocks: int, n_features: int) -> None:
        self._clock = np.zeros(2)  # epochs begun, rounds left to exploit in this one
        self._explored: Ridge | _Explored = Ridge(n_blocks, n_features, self.regularisation)
        if self.oracle is not None:
            self._explored = _Explored(Followed(self.oracle, n_blocks, n_features), self.memory, self.growth)

    def _distribution(self, rows: Array, available: Mask) -> Array:
        if self._clock[1] > 0:
            return policies.greedy(self._explored.predict(rows), available)
        return policies.uniform(self.n_actions, available)

    def _update(self, rows: Array, action: int, loss: float, probability: float) -> None:
        if self._clock[1] > 0:
            self._clock[1] -= 1
        else:
            self._clock[0] += 1
            self._clock[1] = math.ceil(math.sqrt(self._clock[0]))
        if probability == 1.0:
            return
        if isinstance(self._explored, Ridge):
            self._explored.learn(rows, action, 1.0 - loss)
        else:
            self._explored.learn(rows, action, loss, probability, self._rng)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**self._explored.arrays(), "clock": self._clock}


class _Explored:
    """A sample of the explored rounds, and the leader of those there were when they had last grown enough."""

    def __init__(self, followed: Followed, memory: int, growth: float) -> None:
        self.followed, self.growth = followed, growth
        self.kept = Reservoir(1, memory, followed.shape[1])
        self.blocks, self.weights = np.zeros(memory, np.int64), np.zeros(memory)
        self.refit_at = np.ones(1, np.int64)

    def learn(self, rows: Array, action: int, loss: float, probability: float, rng: np.random.Generator) -> None:
        slot = self.kept.slot(0, rng)
        if slot >= 0:
            self.kept.rows[0, slot], self.blocks[slot] = self.followed.round(rows, action)
            self.kept.losses[0, slot], self.weights[slot] = loss, 1.0 / max(probability, 1e-100)
        seen, n = int(self.kept.seen[0]), self.kept.held(0)
        if seen >= self.refit_at[0]:
            self.refit_at[0] = epoch_end(seen, self.growth)
            self.followed.refit(self.kept.rows[0, :n], self.blocks[:n], self.kept.losses[0, :n], self.weights[:n])

    def predict(self, rows: Array) -> Array:
        return self.followed.scores(rows)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        kept = {f"kept.{name}": array for name, array in self.kept.arrays().items()}
        own = {"blocks": self.blocks, "weights": self.weights, "refit_at": self.refit_at}
        return {**kept, **own, **self.followed.arrays()}
