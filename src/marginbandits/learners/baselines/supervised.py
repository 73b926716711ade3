"""The skyline: ridge regression that is shown the loss of every action after each round, and plays greedily.

Not a bandit: `simulate` hands it all losses where the environment knows them. The gap to it is the price of seeing one
loss instead of K. Given one loss only, it learns from that one.

>>> agent = Supervised(n_actions=3, seed=0)
>>> agent.learn_all([1.0, 2.0], [0.0, 1.0, 1.0])
>>> agent.act([1.0, 2.0]).action
0
"""

from collections.abc import Sequence
from typing import Annotated, Unpack

from marginbandits import laws
from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import RidgeLearner
from marginbandits.types import Array, Context
from marginbandits.validation import Real, validated

__all__ = ["Supervised"]


class Supervised(RidgeLearner):
    """Full information: what could be reached with every label."""

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        regularisation: Annotated[float, Real(1e-9)] = 0.1,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, regularisation=regularisation, features=features, **options)
        self._rest: list[float] = []  # losses of the actions after the first, while `learn_all` runs

    def learn_all(self, context: Context, losses: Sequence[float] | Array) -> None:
        """Learn the losses of all K actions of one round."""
        with self._lock:
            law = self._law_of(*self._read(context, None))
            one, _ = self._read(context, None)
            costs = self._read_losses(losses, None, len(one.mask))
            if len(costs) != len(one.mask):
                raise ValueError(f"losses must be {len(one.mask)} numbers, got {len(costs)}")
            self._rest[:] = costs[1:]  # copies of the learner share it
            try:
                self._whole([(one, 0, costs[0], 1.0)], several=True, lost=[float(law @ costs)])  # by what it plays
            finally:
                self._rest.clear()

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        for other, cost in enumerate([loss, *self._rest], action):
            super()._update(one, other, cost, probability)

    def _laws(self, batch: Batch) -> Array:
        return laws.greedy(self._ridge.predict(batch), batch)
