"""Online ridge regression in square-root form: the square-loss oracle behind LinUCB, LinTS and ε-greedy.

One model per block (per action, or one shared by all), each with

    A = λI + Σ z zᵀ,   θ = A⁻¹ Σ r z,   A⁻¹ = CᵀC  with C lower triangular.

A round updates C and θ in O(d²) by Carlson's triangular square-root update, the form of Sherman-Morrison that is
symmetric and positive definite by construction, whatever the rounding: A⁻¹ is never stored, only its factor. The
variance of a prediction is zᵀA⁻¹z = ‖Cz‖², half the work of a product with A⁻¹.

Carlson (1973), "Fast triangular formulation of the square root filter", AIAA Journal 11(9).

>>> import numpy as np
>>> ridge = Ridge(n_blocks=1, n_features=2, regularisation=1.0)
>>> ridge.learn(np.array([[1.0, 0.0]]), 0, 0.5)
>>> ridge.theta
array([[0.25, 0.  ]])
>>> ridge.covariance(0)
array([[0.5, 0. ],
       [0. , 1. ]])
"""

import math

import numpy as np

from marginbandits.compiled import kernel
from marginbandits.types import Array

__all__ = ["Ridge", "carlson", "dot", "square_norm"]


class Ridge:
    """`n_blocks` independent ridge regressions on rows of `n_features`; memory 8·n_blocks·n_features² bytes."""

    def __init__(self, n_blocks: int, n_features: int, regularisation: float) -> None:
        self.theta = np.zeros((n_blocks, n_features))
        self.factor = np.zeros((n_blocks, n_features, n_features))
        self.factor[:, range(n_features), range(n_features)] = 1.0 / math.sqrt(regularisation)

    def learn(self, rows: Array, action: int, target: float) -> None:
        """Add one observation: to the action's own block on the one row, or to the one block on the action's row."""
        _update(self.theta, self.factor, rows, action, target)

    def predict(self, rows: Array) -> Array:
        """<θ, z> for each action."""
        return _predict(self.theta, rows)

    def variance(self, rows: Array) -> Array:
        """zᵀA⁻¹z for each action."""
        return _variance(self.factor, rows)

    def covariance(self, block: int) -> Array:
        """A⁻¹ of one block."""
        return np.asarray(self.factor[block].T @ self.factor[block])

    def arrays(self) -> dict[str, Array]:
        """The live state."""
        return {"theta": self.theta, "factor": self.factor}


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


# With K blocks there is one row, with one block there are K rows: `min(a, n - 1)` picks an action's own of either.


@kernel
def _predict(theta: Array, rows: Array) -> Array:
    out = np.empty(max(theta.shape[0], rows.shape[0]))
    for a in range(out.shape[0]):
        out[a] = dot(theta[min(a, theta.shape[0] - 1)], rows[min(a, rows.shape[0] - 1)])
    return out


@kernel
def _variance(factor: Array, rows: Array) -> Array:
    out = np.empty(max(factor.shape[0], rows.shape[0]))
    for a in range(out.shape[0]):
        out[a] = square_norm(factor[min(a, factor.shape[0] - 1)], rows[min(a, rows.shape[0] - 1)])
    return out


@kernel
def _update(thetas: Array, factors: Array, rows: Array, action: int, target: float) -> None:
    theta, row = thetas[min(action, thetas.shape[0] - 1)], rows[min(action, rows.shape[0] - 1)]
    gain = np.zeros(row.shape[0])
    carlson(factors[min(action, factors.shape[0] - 1)], row, gain)
    residual = target - dot(theta, row)
    for i in range(row.shape[0]):
        theta[i] += gain[i] * residual


@kernel
def carlson(factor: Array, row: Array, gain: Array) -> float:
    """C of A + zzᵀ from C of A; `gain`, given as zeros, becomes (A + zzᵀ)⁻¹z. Returns zᵀA⁻¹z, for the A before."""
    d = row.shape[0]
    alpha = 1.0
    for i in range(d):
        f = 0.0
        for j in range(i + 1):
            f += factor[i, j] * row[j]
        before = math.sqrt(alpha)
        alpha += f * f
        after = math.sqrt(alpha)
        keep, mix = before / after, f / (before * after)
        for j in range(i + 1):
            c = factor[i, j]
            factor[i, j] = keep * c - mix * gain[j]
            gain[j] += f * c
    for i in range(d):
        gain[i] /= alpha
    return alpha - 1.0
