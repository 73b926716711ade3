"""Slow, readable twins of the compiled kernels; the fast ones must agree with them."""

import numpy as np

from marginbandits.types import Array, Mask


def ridge(Z: Array, targets: Array, regularisation: float) -> tuple[Array, Array]:
    """θ and A⁻¹ of a ridge regression, all at once."""
    A = regularisation * np.eye(Z.shape[1]) + Z.T @ Z
    return np.asarray(np.linalg.solve(A, Z.T @ targets), float), np.asarray(np.linalg.inv(A), float)


def standardise(seen: Array, rows: Array, clip: float) -> Array:
    """Standardised by the mean and deviation of the rows seen, clipped, over √d, and a bias."""
    deviation = seen.std(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation > 0, (rows - seen.mean(0)) / deviation, 0.0)
    return np.asarray(np.c_[np.clip(z, -clip, clip) / np.sqrt(rows.shape[1]), np.ones(len(rows))], float)


def fourier(rows: Array, omega: Array, phase: Array) -> Array:
    return np.asarray(np.sqrt(2 / omega.shape[1]) * np.cos(rows @ omega + phase))


def sharpened(values: Array, q: float, available: Mask) -> Array:
    weights = np.where(available, values / values.max(), 0.0) ** q
    return np.asarray(weights / weights.sum())


def sample(distribution: Array, draw: float) -> int:
    return int(np.searchsorted(np.cumsum(distribution), draw * distribution.sum(), side="right"))
