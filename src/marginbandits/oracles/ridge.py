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
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Rows, dense
from marginbandits.factors import carlson, dot, square_norm
from marginbandits.lanes import across
from marginbandits.state import COUNT, Field, Journal, Record, aligned, zeros
from marginbandits.types import Array

__all__ = ["Ridge", "observe", "predict"]

Places = npt.NDArray[np.int64]


class Ridge(Record):
    """`n_blocks` independent ridge regressions on rows of `n_features`; memory 8·n_blocks·n_features² bytes.

    In single precision (`dtype`) half of that, in half the time, and within about 1e-6 of the same.
    """

    def __init__(
        self, n_blocks: int, n_features: int, regularisation: float, dtype: type[np.floating[Any]] = np.float64
    ) -> None:
        self.n_features = n_features
        shape = n_blocks, n_features + 1, across(n_features, dtype)
        self.models: Array = zeros(shape, dtype)  # of each block C, then θ; beyond d 0
        self.regularisation = regularisation
        self._begin()
        self._room = np.zeros(0)  # the gain of the last observation, its row as it counts, and zᵀA⁻¹z
        self._kept = np.zeros((0, 0, 0))  # the blocks that the last observation changed, as they were
        self._changed = np.zeros(0, np.int64)  # the stamp of that, how many they are, and which
        self.attach(Journal())

    def begin(self) -> None:
        """Nothing learnt: A = λI, θ = 0."""
        self.models[self.touched()] = 0.0
        self._begin()

    def _begin(self) -> None:
        """The same, of models that are 0: what is large and was never written to is no memory yet."""
        d = range(self.n_features)
        self.factor[:, d, d] = 1.0 / math.sqrt(self.regularisation)

    def touched(self) -> Places:
        """Blocks that anything was learnt in, as far as numbers tell: a row that counts makes C smaller somewhere."""
        begun = self.models.dtype.type(1.0 / math.sqrt(self.regularisation))
        return np.flatnonzero((self.factor.diagonal(axis1=1, axis2=2) != begun).any(1) | self.theta.any(1))

    @property
    def factor(self) -> Array:
        """C of every block."""
        return self.models[:, :-1, : self.n_features]

    @property
    def theta(self) -> Array:
        """θ of every block."""
        return self.models[:, -1, : self.n_features]

    def learn(self, rows: Array, at: int, block: int, target: float) -> None:
        """Add row `at` as one observation to a block."""
        kept, changed, room = self.room()
        stamp = self.journal.stamp
        learn_row(self.models, rows[at], block, target, kept, changed, room, stamp)

    def room(self) -> tuple[Array, Places, Array]:
        """What `learn_row` keeps and works in."""
        if not len(self._kept):
            self._make_room(1)
        return self._kept, self._changed, self._room

    def step(self, row: Array, weights: Array, pulls: Array) -> None:
        """In every block of weight w > 0, A <- A + w zzᵀ, then θ <- θ + g A⁻¹z, g being the block's pull.

        So one Newton step of any loss of <θ, z> whose slope is -g and whose curvature is w.
        """
        if len(self._kept) < len(weights):
            self._make_room(len(weights))
        _step_each(self.models, row, weights, pulls, self._kept, self._changed, self._room, self.journal.stamp)

    def _make_room(self, n: int) -> None:
        _, rows, width = self.models.shape
        dtype = self.models.dtype
        changed, room, kept = np.zeros(n + 2, np.int64), aligned(2 * width + 1, dtype), aligned((n, rows, width), dtype)
        self._changed, self._room, self._kept = changed, room, kept  # the last is what tells that there is room

    def last(self) -> tuple[Array, float]:
        """Of the last observation: the gain (A + zzᵀ)⁻¹z, and zᵀA⁻¹z for the A before it."""
        return self._room[: self.n_features], float(self._room[-1])

    def undo(self, stamp: int) -> None:
        """Put back the blocks of the last observation."""
        if self._changed.size and self._changed[0] == stamp:
            for kept, block in zip(self._kept, self._changed[2 : 2 + self._changed[1]], strict=False):
                self.models[block] = kept

    def _like(self, rows: Rows) -> Array:
        """Rows in the precision of the models."""
        return dense(rows).astype(self.models.dtype, copy=False)

    def predict(self, batch: Batch) -> Array:
        """<θ, z> for each action of each context."""
        out = np.empty(len(batch.mask))
        predict(self.models, self._like(batch.rows), batch.shared, batch.starts, out)
        return out

    def variance(self, batch: Batch) -> Array:
        """zᵀA⁻¹z for each action of each context."""
        out = np.empty(len(batch.mask))
        _variance(self.models, self._like(batch.rows), batch.shared, batch.starts, out)
        return out

    def covariance(self, block: int) -> Array:
        """A⁻¹ of one block."""
        return np.asarray(self.factor[block].T @ self.factor[block])

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        begun = np.eye(self.factor.shape[1], dtype=self.models.dtype) / math.sqrt(self.regularisation)
        factor = Field(self.factor, initial=begun, triangular=True, per_block=True)
        return {"theta": Field(self.theta, per_block=True), "factor": factor}

    def check(self) -> None:
        """A⁻¹ only shrinks, so its diagonal is at most 1/λ; and λ‖θ‖² <= θᵀAθ <= Σ r², which is at most the rounds."""
        first, slack = 1.0 / math.sqrt(self.regularisation), 1e-6 if self.models.dtype == np.float64 else 1e-3
        if (self.factor.diagonal(axis1=1, axis2=2) < 0.0).any():
            raise ValueError("factor must not be negative on its diagonal")
        if not (np.linalg.norm(self.factor, axis=1) <= (1.0 + slack) * first).all():
            raise ValueError("factor must have columns no longer than 1/√regularisation")
        if not (np.linalg.norm(self.theta, axis=1) <= 10.0 * math.sqrt(COUNT) * first).all():
            raise ValueError("theta must be what rewards within ±1 can lead to")
        if np.triu(self.factor, 1).any():
            raise ValueError("factor must be lower triangular")


@kernel
def predict(models: Array, rows: Array, shared: bool, starts: Places, out: Array) -> None:
    """<θ, z> for each action of each context."""
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
def learn_row(
    models: Array, row: Array, block: int, target: float, kept: Array, changed: Places, room: Array, stamp: int
) -> None:
    """One observation of a block, for other kernels too; the block as it was goes into `kept`, the gain into `room`.

    It does not where the stamp is below 0.
    """
    changed[0], changed[1] = stamp, 0
    _step(models, row, block, 1.0, target - dot(models[block, -1], row), kept, changed, room)


@kernel
def _step_each(
    models: Array, row: Array, weights: Array, pulls: Array, kept: Array, changed: Places, room: Array, stamp: int
) -> None:
    changed[0], changed[1] = stamp, 0
    for block in range(weights.shape[0]):
        if weights[block] > 0.0:
            _step(models, row, block, weights[block], pulls[block], kept, changed, room)


@kernel
def _step(
    models: Array, row: Array, block: int, weight: float, pull: float, kept: Array, changed: Places, room: Array
) -> None:
    """`observe`; the block as it was is kept."""
    n, most = changed[1], kept.shape[1] if changed[0] >= 0 else 0
    before, after = models[block, -1], kept[n, -1]
    for i in range(before.shape[0]):
        after[i] = before[i]
    changed[1], changed[2 + n] = n + 1, block
    observe(models[block], row, weight, pull, room, kept[n, :most])


@kernel
def observe(model: Array, row: Array, weight: float, pull: float, room: Array, kept: Array) -> None:
    """A <- A + w zzᵀ, θ <- θ + g A⁻¹z of one block, g being the pull; `room` is for two rows of it and a number.

    `kept` becomes the factor as it was, unless it is empty.
    """
    d, width = row.shape[0], model.shape[1]
    gain, scaled, weights, root = room[:width], room[width : 2 * width], model[d], math.sqrt(weight)
    for i in range(width):
        gain[i], scaled[i] = 0.0, 0.0
    for i in range(d):
        scaled[i] = root * row[i]
    room[-1] = carlson(model[:d], scaled, gain, kept)
    share = pull / root
    for i in range(d):
        weights[i] += gain[i] * share
