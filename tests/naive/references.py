"""Slow, readable twins of the compiled kernels; the fast ones must agree with them."""

import itertools
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.special import log_ndtr, ndtri_exp

from marginbandits.types import Array, Mask


def ridge(Z: Array, targets: Array, regularisation: float) -> tuple[Array, Array]:
    """θ and A⁻¹ of a ridge regression, all at once."""
    A = regularisation * np.eye(Z.shape[1]) + Z.T @ Z
    return np.asarray(np.linalg.solve(A, Z.T @ targets), float), np.asarray(np.linalg.inv(A), float)


def standardise(seen: Array, rows: Array, clip: float) -> Array:
    """Standardised by mean and deviation of what is believed of the rows seen, clipped, over √d, and a bias."""
    believed = [believed_values(column, clip) for column in seen.T]
    mean, deviation = np.transpose([(np.mean(values), np.std(values)) for values in believed])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation > 0, (rows - mean) / deviation, 0.0)
    return np.asarray(np.c_[np.clip(z, -clip, clip) / np.sqrt(rows.shape[1]), np.ones(len(rows))], float)


def believed_values(column: Array, clip: float) -> list[float]:
    """A column's values, each within `clip` deviations of those before; the late half twice where it contradicts."""
    values: list[float] = []
    late: list[float] = []
    for t, x in enumerate(column.tolist(), 1):
        if t > clip**2 and np.std(values) > 0:
            reach = clip * np.std(values)
            x = float(np.clip(x, np.mean(values) - reach, np.mean(values) + reach))
        values.append(x)
        late.append(x)
        if t in (8, 16, 32, 64, 128, 256, 512, 1024):
            if 0 < clip * np.std(late) < np.std(values):
                values = late + late
            late = []
    return values


def fourier(rows: Array, columns: Array, omega: Array, phase: Array) -> Array:
    turns = [rows[:, some] @ weights for some, weights in zip(columns.T, omega.T, strict=True)]
    return np.asarray(np.sqrt(2 / len(phase)) * np.cos(np.stack(turns, 1) + phase))


def subset_kernel(rows: Array, n_columns: int, width: float) -> Array:
    """The average over subsets of columns of Gaussian kernels, in units of what rows of norm 1 differ by."""
    subsets = [list(some) for some in itertools.combinations(range(rows.shape[1]), n_columns)]
    squares = [((rows[:, None, some] - rows[None, :, some]) ** 2).sum(-1) for some in subsets]
    typical = 2 * n_columns / rows.shape[1]
    return np.asarray(np.mean([np.exp(-square / (2 * width**2 * typical)) for square in squares], axis=0))


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
        self.targets = [0.0, 1.0]

    def predict(self, x: Array) -> float:
        return float(self.w @ x)

    def learn(self, x: Array, target: float, importance: float) -> None:
        self.targets.append(target)
        error = target - np.clip(self.predict(x), min(self.targets), max(self.targets))
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


def two_sided_cost(particle: Array, rows: Array, losses: Array, margin: float, squared: bool) -> float:
    """Σ ℓ (γ + s)_+²/2 + (1 - ℓ)(γ - s)_+²/2 over the rounds, or Σ ℓ (γ + s)_+ + (1 - ℓ)(γ - s)_+ + s²/2."""
    s = rows @ particle
    down, up = np.maximum(margin - s, 0), np.maximum(margin + s, 0)
    if squared:
        return float((losses * up**2 / 2 + (1 - losses) * down**2 / 2).sum())
    return float((losses * up + (1 - losses) * down + s**2 / 2).sum())


def margin_pull(particles: Array, rows: Array, losses: Array, margin: float, squared: bool) -> Array:
    """Gradient of what the cost has beyond (s - y)²/2, particle by particle and round by round."""
    out = np.zeros_like(particles)
    for k, particle in enumerate(particles):
        for row, loss in zip(rows, losses, strict=True):
            score = particle @ row
            if squared:
                out[k] += (loss * max(-score - margin, 0) - (1 - loss) * max(score - margin, 0)) * row
            else:
                out[k] += ((1 - loss) * (score > margin) - loss * (score < -margin)) * row
    return out


def langevin_step(
    particles: Array, mean: Array, factor: Array, pull: Array, step: float, temperature: float, normals: Array
) -> Array:
    noise = temperature * np.sqrt(step * (2 - step)) * normals @ factor
    return np.asarray(particles - step * (particles - mean + pull @ factor.T @ factor) + noise)


def line_sample(
    w: Array,
    u: Array,
    rows: Array,
    losses: Array,
    A: Array,
    theta: Array,
    margin: float,
    temperature: float,
    rng: np.random.Generator,
) -> Array:
    """A draw of w + tu from exp(-(½ (w - θ)ᵀA(w - θ) + Σ (±s - γ)_+)/τ²), + where ℓ = 0 and - where ℓ = 1.

    Along the line the hinges are linear between their kinks, so each piece is a truncated normal of known mass.
    """
    sign = (1 - 2 * losses) / temperature**2
    offset, slope = sign * (rows @ w) - margin / temperature**2, sign * (rows @ u)
    order = np.argsort(-offset / slope)
    offset, slope = offset[order], slope[order]
    kinks = -offset / slope
    slopes = slope[slope < 0].sum() + np.concatenate([[0.0], np.cumsum(np.abs(slope))])
    first = np.maximum(offset + slope * kinks[0], 0).sum()
    heights = np.concatenate([[first], first + np.cumsum(slopes[1:-1] * np.diff(kinks))])
    at, height = np.r_[kinks[0], kinks], np.r_[heights[0], heights]
    q, c = u @ A @ u / temperature**2, u @ A @ (w - theta) / temperature**2 + slopes
    low, high = (np.r_[-np.inf, kinks] + c / q) * np.sqrt(q), (np.r_[kinks, np.inf] + c / q) * np.sqrt(q)
    flip = low > 0  # work in the tail where the normal distribution function keeps its digits
    a, b = log_ndtr(np.where(flip, -high, low)), log_ndtr(np.where(flip, -low, high))
    mass = slopes * at - height + c**2 / (2 * q) + b + np.log1p(-np.exp(np.minimum(a - b, -1e-300)))
    weights = np.exp(mass - mass.max())
    k = rng.choice(len(weights), p=weights / weights.sum())
    x = ndtri_exp(b[k] + np.log(rng.uniform(np.exp(a[k] - b[k]), 1.0)))
    return np.asarray(w + ((-x if flip[k] else x) / np.sqrt(q) - c[k] / q) * u)


def pieces(a: Array, k: Array, weights: Array, low: float, high: float) -> tuple[Array, Array, Array]:
    """Of the density ∝ exp(-Σ w max(a + t k, 0)) on [low, high]: edges, the potential's slopes between, masses."""
    kinks = [-ai / ki for ai, ki in zip(a, k, strict=True) if ki != 0 and low < -ai / ki < high]
    edges = np.array([low, *sorted(kinks), high])
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    slope = np.array([(weights * k)[a + t * k > 0].sum() for t in middle])
    height = np.array([weights @ np.maximum(a + t * k, 0) for t in edges])
    z = np.abs(slope) * width
    mean = np.ones_like(z)
    mean[z > 0] = -np.expm1(-z[z > 0]) / z[z > 0]
    lowest = np.minimum(height[1:], height[:-1])
    return edges, slope, width * mean * np.exp(lowest.min() - lowest)


def place(a: Array, k: Array, weights: Array, low: float, high: float, draw: Array) -> float:
    """A draw from that density: a piece, then where in it."""
    edges, slope, mass = pieces(a, k, weights, low, high)
    width = np.diff(edges)
    z = np.abs(slope) * width
    p = int(np.searchsorted(np.cumsum(mass), draw[0] * mass.sum(), side="right"))
    if z[p] < 1e-8:
        return float(edges[p] + draw[1] * width[p])
    fall = -np.log1p(draw[1] * np.expm1(-z[p])) / z[p] * width[p]
    return float(edges[p] + fall if slope[p] > 0 else edges[p + 1] - fall)


def lipschitz_program(costs: Array, pairs: Any, distances: Array) -> float:
    """The least cost of a 1-Lipschitz policy, all pairs at once, ‖g_i - g_j‖₁ by an upper bound for each coordinate."""
    n, K = costs.shape
    E = len(pairs)
    rows, limits = [], []
    for e, (i, j) in enumerate(pairs):
        total = np.zeros(n * K + E * K)
        for a in range(K):
            u = n * K + e * K + a
            total[u] = 1.0
            for sign in (1.0, -1.0):
                row = np.zeros(n * K + E * K)
                row[i * K + a], row[j * K + a], row[u] = sign, -sign, -1.0
                rows.append(row)
                limits.append(0.0)
        rows.append(total)
        limits.append(distances[e])
    whole = np.kron(np.eye(n), np.ones(K))
    found = linprog(
        np.r_[costs.ravel(), np.zeros(E * K)],
        csr_array(np.array(rows)),
        limits,
        np.c_[whole, np.zeros((n, E * K))],
        np.ones(n),
        method="highs-ipm",
    )
    assert found.status == 0
    return float(found.fun)
