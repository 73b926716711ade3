"""Online ridge regression in square-root form: the square-loss oracle behind LinUCB, LinTS and ε-greedy.

One model per block (per action, or one shared by all), each with

    A = λI + Σ z zᵀ,   θ = A⁻¹ Σ r z,   A⁻¹ = CᵀC  with C lower triangular.

A round updates C and θ in O(d²) by Carlson's triangular square-root update, the form of Sherman-Morrison that is
symmetric and positive definite by construction, whatever the rounding: A⁻¹ is never stored, only its factor. The
variance of a prediction is zᵀA⁻¹z = ‖Cz‖², half the work of a product with A⁻¹.

The update goes twice over C: f = Cz first, then, row by row with α_i = 1 + f_0² + … + f_i²,

    C_i <- √(α_{i-1}/α_i) C_i - f_i/√(α_{i-1}α_i) g,   g <- g + f_i C_i

so that neither pass waits for a square root. At the end g/α is the gain (A + zzᵀ)⁻¹z.

Carlson (1973), "Fast triangular formulation of the square root filter", AIAA Journal 11(9).

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
from marginbandits.state import COUNT, Field, Journal, Record, zeros
from marginbandits.types import Array

__all__ = ["Ridge", "carlson", "dot", "square_norm"]

Places = npt.NDArray[np.int64]


class Ridge(Record):
    """`n_blocks` independent ridge regressions on rows of `n_features`; memory 8·n_blocks·n_features² bytes."""

    def __init__(self, n_blocks: int, n_features: int, regularisation: float) -> None:
        self.models = zeros((n_blocks, n_features + 1, n_features))  # of each block C, then θ
        self.factor, self.theta = self.models[:, :-1], self.models[:, -1]
        self.regularisation = regularisation
        self.factor[:, range(n_features), range(n_features)] = 1.0 / math.sqrt(regularisation)
        # The last observation: its block as it was, the gain, room for `carlson`; then variance, stamp and block.
        self._last = zeros((n_features * (n_features + 5) + 3,))
        self.attach(Journal())

    def learn(self, rows: Array, at: int, block: int, target: float) -> None:
        """Add row `at` as one observation to a block."""
        _update(self.models, rows, at, block, target, self._last, self.journal.stamp)

    def last(self) -> tuple[Array, float]:
        """Of the last observation: the gain (A + zzᵀ)⁻¹z, and zᵀA⁻¹z for the A before it."""
        d = self.theta.shape[1]
        return self._last[d * (d + 1) : d * (d + 2)], float(self._last[-3])

    def undo(self, stamp: int) -> None:
        """Put back the block of the last observation."""
        if self._last[-2] == stamp:
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
def dot(weights: Array, row: Array) -> float:
    """<θ, z>, for other kernels too."""
    total = 0.0
    for j in range(row.shape[0]):
        total += weights[j] * row[j]
    return total


@kernel
def square_norm(block: Array, row: Array) -> float:
    """‖Cz‖² for lower triangular C, for other kernels too."""
    total = 0.0
    d = row.shape[0]
    full = d - d % 4
    for i in range(0, full, 4):  # four rows at once; what they have beyond the diagonal is 0
        f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
        for j in range(i + 4):
            f0 += block[i, j] * row[j]
            f1 += block[i + 1, j] * row[j]
            f2 += block[i + 2, j] * row[j]
            f3 += block[i + 3, j] * row[j]
        total += f0 * f0 + f1 * f1 + f2 * f2 + f3 * f3
    for i in range(full, d):
        f = 0.0
        for j in range(i + 1):
            f += block[i, j] * row[j]
        total += f * f
    return total


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


@kernel
def carlson(factor: Array, row: Array, gain: Array, room: Array) -> float:
    """C of A + zzᵀ from C of A; `gain`, given as zeros, becomes (A + zzᵀ)⁻¹z. Returns zᵀA⁻¹z, for the A before.

    `room` is for 3d numbers.
    """
    d = row.shape[0]
    f, keep, mix = room[:d], room[d : 2 * d], room[2 * d : 3 * d]
    alpha = 1.0
    for i in range(d):
        total = 0.0
        for j in range(i + 1):
            total += factor[i, j] * row[j]
        f[i] = total
    for i in range(d):
        before = math.sqrt(alpha)
        alpha += f[i] * f[i]
        after = math.sqrt(alpha)
        keep[i], mix[i] = before / after, f[i] / (before * after)
    full = d - d % 4
    for i in range(0, full, 4):  # four rows at once; what they have beyond the diagonal is 0, and so is the gain there
        r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        f0, f1, f2, f3 = f[i], f[i + 1], f[i + 2], f[i + 3]
        k0, k1, k2, k3 = keep[i], keep[i + 1], keep[i + 2], keep[i + 3]
        m0, m1, m2, m3 = mix[i], mix[i + 1], mix[i + 2], mix[i + 3]
        for j in range(i + 4):
            g, c0, c1, c2, c3 = gain[j], r0[j], r1[j], r2[j], r3[j]
            r0[j] = k0 * c0 - m0 * g
            g += f0 * c0
            r1[j] = k1 * c1 - m1 * g
            g += f1 * c1
            r2[j] = k2 * c2 - m2 * g
            g += f2 * c2
            r3[j] = k3 * c3 - m3 * g
            gain[j] = g + f3 * c3
    for i in range(full, d):
        for j in range(i + 1):
            c = factor[i, j]
            factor[i, j] = keep[i] * c - mix[i] * gain[j]
            gain[j] += f[i] * c
    for i in range(d):
        gain[i] /= alpha
    return alpha - 1.0
