"""A policy that was learnt elsewhere: linear scores, played greedily.

    law(x) = uniform on the arg max of <w_a, z> + b_a,   z = features of x

It has all that learners have but learning: laws, decisions with their probabilities, files. What a log was too short
to tell from the best constant is W = 0.
"""

from typing import ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.contexts import CODES, Batch, Shape, Sparse, dense
from marginbandits.features import Features
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.oracles.ridge import predict
from marginbandits.state import Field, zeros
from marginbandits.types import Array
from marginbandits.validation import validated

__all__ = ["LearntPolicy"]


class LearntPolicy(Learner):
    """What `MarginPolicy` has learnt, to be asked, served, and saved; rounds are refused."""

    competes: ClassVar[bool] = False

    @validated
    def __init__(
        self, n_actions: MaybeActionCount = None, *, features: Features = "raw", **options: Unpack[Options]
    ) -> None:
        super().__init__(n_actions, features=features, **options)

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        self._weights, self._bias = zeros((self.n_actions, 1, n_features)), zeros((self.n_actions,))
        return {"weights": Field(self._weights), "bias": Field(self._bias)}

    def _laws(self, batch: Batch) -> Array:
        scores = np.empty(len(batch.mask))
        predict(self._weights, dense(batch.rows), False, batch.starts, scores)
        return laws.greedy(scores + np.tile(self._bias, len(batch)), batch)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        raise ValueError("a LearntPolicy stays as it is: fit a MarginPolicy on a longer log")

    def _read_log(self, contexts: object) -> Array:
        """Vectors of a log as features, whose scales are learnt from all of them."""
        _, rows, together = self._reader.many(contexts, None)
        if together or rows is None or len(rows) == 0:
            raise ValueError("contexts must be one or more vectors, or mappings, one for each round")
        width = rows.shape[1]
        if width != CODES and isinstance(rows, Sparse):
            rows = rows.dense()
        self._start(Shape(False, width, False, width == CODES))
        assert self._map is not None
        if self._names is not None:
            assert isinstance(rows, Sparse)
            for i in range(len(rows)):  # as learners learn them: one round claims columns at a time
                self._names._observe(rows.between(slice(i, i + 1)))
            rows = self._names._transform(rows)
        self._map.observe(rows)
        return dense(self._map.transform(rows))

    def _follow(self, weights: Array, bias: npt.NDArray[np.float64]) -> None:
        """From now on, play these."""
        self._weights[:, 0], self._bias[:] = weights, bias
