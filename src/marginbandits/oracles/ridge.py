"""Online ridge regression in square-root form: the square-loss oracle behind LinUCB, LinTS and ε-greedy.

One model per block (per action, or one shared by all), each with

    A = λI + Σ z zᵀ,   θ = A⁻¹ Σ r z,   A⁻¹ = CᵀC  with C lower triangular.

A round updates C and θ in O(d²) (`factors`): A⁻¹ is never stored, only its factor, which is symmetric and positive
definite by construction, whatever the rounding. The variance of a prediction is zᵀA⁻¹z = ‖Cz‖².

>>> import numpy as np
>>> ridge = Ridge(n_blocks=1, n_features=2, regularisation=1.0)
>>> ridge.learn(np.array([[1.0, 0.0]]), at=0, block=0, target=0.5)
>>> ridge.theta
array([[0.25, 0.  ]])
>>> ridge.covariance(0)
array([[0.5, 0. ],
       [0. , 1. ]])
"""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, dense
from marginbandits.factors import carlson, dot, square_norm
from marginbandits.state import COUNT, Field, Journal, Record, zeros
from marginbandits.types import Array

__all__ = ["Ridge"]

Places = npt.NDArray[np.int64]


class Ridge(Record):
    """`n_blocks` independent ridge regressions on rows of `n_features`; memory 8·n_blocks·n_features² bytes."""

    def __init__(self, n_blocks: int, n_features: int, regularisation: float) -> None:
        self.models = zeros((n_blocks, n_features + 1, n_features))  # of each block C, then θ
        self.regularisation = regularisation
        self.begin()
        # The last observation: its block as it was, the gain, room for `carlson`; then variance, stamp and block.
        self._last = np.zeros(0)  # made when first needed
        self.attach(Journal())

    def begin(self) -> None:
        """A = λI and θ = 0, as before the first round."""
        each = range(self.models.shape[2])
        self.models[:] = 0.0
        self.factor[:, each, each] = 1.0 / math.sqrt(self.regularisation)

    @property
    def factor(self) -> Array:
        """C of every block."""
        return self.models[:, :-1]

    @property
    def theta(self) -> Array:
        """θ of every block."""
        return self.models[:, -1]

    def learn(self, rows: Array, at: int, block: int, target: float) -> None:
        """Add row `at` as one observation to a block."""
        if not self._last.size:
            d = self.models.shape[2]
            self._last = np.zeros(d * (d + 5) + 3)
        _update(self.models, rows, at, block, target, self._last, self.journal.stamp)

    def last(self) -> tuple[Array, float]:
        """Of the last observation: the gain (A + zzᵀ)⁻¹z, and zᵀA⁻¹z for the A before it."""
        d = self.theta.shape[1]
        return self._last[d * (d + 1) : d * (d + 2)], float(self._last[-3])

    def undo(self, stamp: int) -> None:
        """Put back the block of the last observation."""
        if self._last.size and self._last[-2] == stamp:
            d, block = self.theta.shape[1], int(self._last[-1])
            self.models[block] = self._last[: d * (d + 1)].reshape(d + 1, d)

    def predict(self, batch: Batch) -> Array:
        """<θ, z> for each action of each context."""
        out = np.empty(len(batch.mask))
        _predict(self.models, dense(batch.rows), batch.shared, batch.starts, out)
        return out

    def variance(self, batch: Batch) -> Array:
        """zᵀA⁻¹z for each action of each context."""
        out = np.empty(len(batch.mask))
        _variance(self.models, dense(batch.rows), batch.shared, batch.starts, out)
        return out

    def covariance(self, block: int) -> Array:
        """A⁻¹ of one block."""
        return np.asarray(self.factor[block].T @ self.factor[block])

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        begun = np.eye(self.factor.shape[1]) / math.sqrt(self.regularisation)
        return {"theta": Field(self.theta), "factor": Field(self.factor, initial=begun, triangular=True)}

    def check(self) -> None:
        """A⁻¹ only shrinks, so its diagonal is at most 1/λ; and λ‖θ‖² <= θᵀAθ <= Σ r², which is at most the rounds."""
        first = 1.0 / math.sqrt(self.regularisation)
        if (self.factor.diagonal(axis1=1, axis2=2) < 0.0).any():
            raise ValueError("factor must not be negative on its diagonal")
        if not (np.linalg.norm(self.factor, axis=1) <= (1.0 + 1e-6) * first).all():
            raise ValueError("factor must have columns no longer than 1/√regularisation")
        if not (np.linalg.norm(self.theta, axis=1) <= 10.0 * math.sqrt(COUNT) * first).all():
            raise ValueError("theta must be what rewards within ±1 can lead to")
        if np.triu(self.factor, 1).any():
            raise ValueError("factor must be lower triangular")


@kernel
def _predict(models: Array, rows: Array, shared: bool, starts: Places, out: Array) -> None:
    for i in range(starts.shape[0] - 1):
        for a in range(starts[i + 1] - starts[i]):
            k = starts[i] + a
            out[k] = dot(models[0, -1], rows[k]) if shared else dot(models[a, -1], rows[i])


@kernel
def _variance(models: Array, rows: Array, shared: bool, starts: Places, out: Array) -> None:
    for i in range(starts.shape[0] - 1):
        for a in range(starts[i + 1] - starts[i]):
            k = starts[i] + a
            out[k] = square_norm(models[0], rows[k]) if shared else square_norm(models[a], rows[i])


@kernel
def _update(models: Array, rows: Array, at: int, block: int, target: float, last: Array, stamp: int) -> None:
    row, d = rows[at], rows.shape[1]
    model, weights, gain = models[block], models[block, d], last[d * (d + 1) : d * (d + 2)]
    for i in range(d):
        for j in range(i + 1):  # the rest is 0, then as now
            last[i * d + j] = model[i, j]
        last[d * d + i], gain[i] = weights[i], 0.0
    last[-2], last[-1] = stamp, block
    last[-3] = carlson(model, row, gain, last[d * (d + 2) : d * (d + 5)])
    residual = target - dot(weights, row)
    for i in range(d):
        weights[i] += gain[i] * residual
