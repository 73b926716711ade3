"""Networks as an expert: an ensemble of perceptrons, which joins a mixture when the run is long.

Networks see every round, but learn from none before round `after`: until then they only keep them, which costs next to
nothing. From then on they take a step every so many rounds, and are asked, and judged, once they have taken `WARM`.
Before that they sleep: one that must pay for what it predicted while it knew nothing would never be believed again
(`Mixture` says how one that sleeps is carried along). Runs of fewer rounds than `after` are as if there were none.

The prediction of an action is the mean over the networks of (1 + s/γ)/2 within [0, 1], s being its score. How far off
it may be is left for others to say: the deviation of networks that were taught the same rounds explores too little.

A step costs three products of all weights with a minibatch. There is one every `every` rounds, and rarer ones where
networks are so wide that a round would cost more than `ROOM` multiplications otherwise. With one every k rounds the
501st is made in round k⌈after/k⌉ + 500k, and they are asked from the next one on: 3,001 where k is 1. In the background
(`Networks`) that is when they join at the earliest.

See `oracles.ensembles` for how they learn.

>>> import numpy as np
>>> from marginbandits.contexts import per_action
>>> expert = NetworksExpert(after=1)._start(n_blocks=2, n_features=1)
>>> expert._asleep()
True
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.contexts import Batch, dense
from marginbandits.experts.expert import Expert
from marginbandits.features import Maps
from marginbandits.oracles.ensembles import Ensemble
from marginbandits.scores import Networks
from marginbandits.state import Field, Journal
from marginbandits.surrogates import TWO_SIDED
from marginbandits.types import Array
from marginbandits.validation import Choice, Instance, Integer, Real, validated

__all__ = ["NetworksExpert"]

WARM = 500
"""Steps after which they are asked, from the next one on."""
ROOM = 2e7
"""Weights times rows of a minibatch, for each round: one to two milliseconds of one core."""


class NetworksExpert(Expert):
    """The `networks` of a recipe, from round `after` on, with the `surrogate` and its `margin`."""

    @validated
    def __init__(
        self,
        *,
        networks: Annotated[Networks, Instance(Networks)] = Networks(),  # noqa: B008  # a recipe, never changed
        after: Annotated[int, Integer(1, 10**9)] = 2500,
        surrogate: Annotated[str, Choice(*TWO_SIDED)] = "squared_error",
        margin: Annotated[float, Real(1e-6, 1e6)] = 1.0,
        features: Maps = "raw",
    ) -> None:
        networks.refuse_a_bag()
        self.networks = networks
        self.after = after
        self.surrogate = surrogate
        self.margin = margin
        self.features = features

    def _begin(self, n_blocks: int, n_features: int) -> None:
        size = self.networks._shaped(n_features, n_blocks).dimension * self.networks.minibatch
        self._ensemble = Ensemble(
            self.networks,
            n_features,
            n_blocks,
            seed=0,
            surrogate=self.surrogate,
            margin=self.margin,
            begin=self.after,
            every=1 + int(size / ROOM),
        )

    def attach(self, journal: Journal) -> None:
        """The journal is the ensemble's too."""
        super().attach(journal)
        self._ensemble.attach(journal)

    def _asleep(self) -> bool:
        """Until they have taken enough steps."""
        return self._ensemble.steps <= WARM

    def _predict(self, batch: Batch) -> Array:
        """The mean over the networks, 0.5 while they sleep."""
        if self._asleep():
            return np.full(len(batch.mask), 0.5)
        scores = self._ensemble.scores(dense(batch.rows)).astype(float)
        return np.asarray(np.clip(0.5 + (0.5 / self.margin) * scores, 0.0, 1.0).mean(0).ravel())

    def _width(self, batch: Batch) -> None:
        """Not known."""

    def _learn(self, one: Batch, action: int, loss: float) -> float:
        """Put a round by; take a step if it is time."""
        predicted = 0.5 if self._asleep() else float(self._predict(one)[action])
        self._ensemble.learn(dense(one.rows)[one.row(action)], one.block(action), loss)
        return predicted

    def _forget(self) -> None:
        """As the networks were drawn."""
        self._ensemble.begin()

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return self._ensemble.fields()

    def _adopt(self, before: "NetworksExpert", places: npt.NDArray[np.int64]) -> None:
        """The networks, for the actions that remain."""
        self._ensemble._adopt(before._ensemble, places)

    def check(self) -> None:
        """Only what rounds could have left."""
        self._ensemble.check()
