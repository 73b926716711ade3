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


class OnlineRegression:
    """One model of the adaptive, normalised, importance-aware update, feature by feature."""

    def __init__(self, d: int, rate: float) -> None:
        self.w, self.G, self.N = np.zeros((3, d))
        self.rate, self.total, self.length = rate, 0.0, 0.0

    def predict(self, x: Array) -> float:
        return float(np.clip(self.w @ x, 0, 1))

    def learn(self, x: Array, target: float, importance: float) -> None:
        error = target - self.predict(x)
        if error == 0 or importance == 0:
            return
        seen = x != 0
        self.G += importance * 4 * error**2 * x**2
        larger = np.maximum(self.N, np.abs(x))
        self.w = np.where(seen, self.w * np.divide(self.N, larger, where=seen, out=np.ones_like(x)), self.w)
        self.N = larger
        self.total += importance
        self.length += importance * ((x[seen] / self.N[seen]) ** 2).sum()
        c = np.sqrt(self.total / self.length)
        s = np.zeros_like(x)
        s[seen] = 1 / (self.N[seen] * np.sqrt(self.G[seen]))
        q = c * (x**2 * s).sum()
        self.w = self.w + c * error * (1 - np.exp(-2 * self.rate * importance * q)) / q * x * s


def place(a: Array, k: Array, weights: Array, low: float, high: float, draw: Array) -> float:
    """A draw from the density ∝ exp(-Σ w max(a + t k, 0)) on [low, high], piece by piece."""
    kinks = [-ai / ki for ai, ki in zip(a, k, strict=True) if ki != 0 and low < -ai / ki < high]
    edges = np.array([low, *sorted(kinks), high])
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    slope = np.array([(weights * k)[a + t * k > 0].sum() for t in middle])
    height = np.array([weights @ np.maximum(a + t * k, 0) for t in edges])
    z = np.abs(slope) * width
    mean = np.ones_like(z)
    mean[z > 0] = -np.expm1(-z[z > 0]) / z[z > 0]
    lowest = np.minimum(height[1:], height[:-1])
    mass = width * mean * np.exp(lowest.min() - lowest)
    p = int(np.searchsorted(np.cumsum(mass), draw[0] * mass.sum(), side="right"))
    if z[p] < 1e-8:
        return float(edges[p] + draw[1] * width[p])
    fall = -np.log1p(draw[1] * np.expm1(-z[p])) / z[p] * width[p]
    return float(edges[p] + fall if slope[p] > 0 else edges[p + 1] - fall)
