"""The skyline: ridge regression that is shown the loss of every action after each round, and plays greedily.

Not a bandit: `simulate` hands it all losses where the environment knows them. The gap to it is the price of seeing one
loss instead of K. All actions see the same rows, so of vectors there is one A = λI + Σ zzᵀ for all: O(d² + Kd) a round.
Given one loss only, it learns that one, and takes the others to be as predicted.

>>> agent = Supervised(n_actions=3, seed=0)
>>> agent.learn_all([1.0, 2.0], [0.0, 1.0, 1.0])
>>> agent.act([1.0, 2.0]).action
0
"""

from collections.abc import Sequence
from typing import Annotated, Unpack

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.oracles.ridge import Ridge
from marginbandits.state import Field, zeros
from marginbandits.types import Array, Context
from marginbandits.validation import Real, validated

__all__ = ["Supervised"]


class Supervised(Learner):
    """Full information: what could be reached with every label."""

    journals = True

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.regularisation = regularisation
        self._rest: list[float] = []  # losses of the actions after the first, while `learn_all` runs

    def learn_all(self, context: Context, losses: Sequence[float] | Array) -> None:
        """Learn the losses of all K actions of one round."""
        with self._lock:
            law = None if self.window is None else self._law_of(*self._read(context, None))
            one, _ = self._read(context, None)
            costs = self._read_losses(losses, None, len(one.mask))
            if len(costs) != len(one.mask):
                raise ValueError(f"losses must be {len(one.mask)} numbers, got {len(costs)}")
            lost = None if law is None else [float(law @ costs)]  # by what it plays
            self._rest[:] = costs[1:]  # copies of the learner share it
            try:
                self._whole([(one, 0, costs[0], 1.0)], several=one.shared, lost=lost)
            finally:
                self._rest.clear()

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._ridge = Ridge(1, n_features, self.regularisation)
        if shape.shared:
            return {"ridge": self._ridge}
        self._theta = zeros((self.n_actions, n_features))
        return {"ridge": self._ridge, "theta": Field(self._theta)}

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        rows, rewards = dense(one.rows), 1.0 - np.array([loss, *self._rest])
        if one.shared:
            for at, reward in enumerate(rewards.tolist(), action):
                self._ridge.learn(rows, at, 0, reward)
            return
        self._journal.keep(self._theta)
        known = self._theta[action : action + len(rewards)]
        pulls = rewards - known @ rows[0]
        self._ridge.step(rows[0], _ONE, _NONE)
        known += np.multiply.outer(pulls, self._ridge.last()[0])

    def _rewards(self, batch: Batch) -> Array:
        return self._ridge.predict(batch) if batch.shared else (dense(batch.rows) @ self._theta.T).ravel()

    def _predicted(self, batch: Batch) -> Array:
        return 1.0 - self._rewards(batch)

    def _laws(self, batch: Batch) -> Array:
        return laws.greedy(self._rewards(batch), batch)


_ONE, _NONE = np.ones(1), np.zeros(1)
"""The rows count for A; what is learnt of them is Supervised's own."""
