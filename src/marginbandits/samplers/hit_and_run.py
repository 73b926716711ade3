"""Hit-and-run for the hinge potential on a ball: exact draws along random lines, no step size and no smoothing.

Along a line θ + t·e the potential Σ_i w_i max(a_i + t k_i, 0), with a_i = 1 + <φ_i, θ>/γ and k_i = <φ_i, e>/γ, is
convex and piecewise linear, so its density on the chord is piecewise exponential: sort the kinks -a_i/k_i, add up
slopes, weigh each piece by its integral, draw a piece and a place in it by the inverse distribution function. The law
∝ exp(-F) is invariant exactly; all that is left to time is mixing. A step costs O(n d + n log n).

Smith (1984), "Efficient Monte Carlo procedures for generating points uniformly distributed over bounded regions".

>>> import numpy as np
>>> F = HingePotential(features=np.array([[1.0, 0.0]]), weights=np.array([3.0]), margin=0.5)
>>> rng = np.random.default_rng(0)
>>> draws = hit_and_run(F, uniform_ball(500, 2, 1.0, rng), rng, radius=1.0, n_steps=20)
>>> draws.shape, bool(draws[:, 0].mean() < -0.3), bool(abs(draws[:, 1].mean()) < 0.1)
((500, 2), True, True)
"""

import math
from typing import Annotated

import numpy as np

from marginbandits.compiled import kernel
from marginbandits.samplers.potential import HingePotential
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["hit_and_run", "uniform_ball"]


@validated
def hit_and_run(
    potential: HingePotential,
    start: Array,
    rng: np.random.Generator,
    *,
    radius: Annotated[float, Real(above=0)],
    n_steps: Annotated[int, Integer(1)],
) -> Array:
    """The chains' last points after `n_steps` lines each from the rows of `start`, points of the ball."""
    theta = np.array(start, float, order="C")
    if theta.ndim != 2 or theta.shape[1] != potential.features.shape[1]:
        raise ValueError(f"start must be chains x {potential.features.shape[1]}, got shape {theta.shape}")
    if not (np.linalg.norm(theta, axis=1) <= radius * (1.0 + 1e-9)).all():
        raise ValueError(f"start must lie in the ball of radius {radius}, got {start}")
    features, weights = np.ascontiguousarray(potential.features), np.ascontiguousarray(potential.weights)
    for at in range(0, n_steps, _BURST):
        burst = min(_BURST, n_steps - at)
        lines = _unit(rng.standard_normal((len(theta), burst, theta.shape[1])))
        _lines(features, weights, potential.margin, radius, theta, lines, rng.random((len(theta), burst, 2)))
    return theta


_BURST = 256
"""Lines drawn at a time: enough to forget the cost of a call, few enough to hold and to keep rounding in check."""


def uniform_ball(n: int, dimension: int, radius: float, rng: np.random.Generator) -> Array:
    """`n` independent points, uniform in the ball: the law of the constant potential."""
    direction = _unit(rng.standard_normal((n, dimension)))
    return np.asarray(radius * rng.random((n, 1)) ** (1.0 / dimension) * direction)


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300))


@kernel
def _lines(
    features: Array, weights: Array, margin: float, radius: float, theta: Array, lines: Array, draws: Array
) -> None:
    """Move every row of theta along its lines in turn."""
    n, d = features.shape
    a, k = np.empty(n), np.empty(n)
    kink, jump, edge, slope, log_mass = np.empty(n), np.empty(n), np.empty(n + 2), np.empty(n + 1), np.empty(n + 1)
    for j in range(theta.shape[0]):
        for i in range(n):
            total = 0.0
            for c in range(d):
                total += features[i, c] * theta[j, c]
            a[i] = 1.0 + total / margin
        for step in range(lines.shape[1]):
            across, square = 0.0, 0.0
            for c in range(d):
                across += theta[j, c] * lines[j, step, c]
                square += theta[j, c] * theta[j, c]
            half = math.sqrt(max(across * across + radius * radius - square, 0.0))
            for i in range(n):
                total = 0.0
                for c in range(d):
                    total += features[i, c] * lines[j, step, c]
                k[i] = total / margin
            t = _place(a, k, weights, -across - half, half - across, draws[j, step], kink, jump, edge, slope, log_mass)
            square = 0.0
            for c in range(d):
                theta[j, c] += t * lines[j, step, c]
                square += theta[j, c] * theta[j, c]
            if square > radius * radius:  # by rounding only
                for c in range(d):
                    theta[j, c] *= radius / math.sqrt(square)
            for i in range(n):
                a[i] += t * k[i]


@kernel
def _place(
    a: Array,
    k: Array,
    weights: Array,
    low: float,
    high: float,
    draw: Array,
    kink: Array,
    jump: Array,
    edge: Array,
    slope: Array,
    log_mass: Array,
) -> float:
    """A draw from the density ∝ exp(-Σ w max(a + t k, 0)) on [low, high]; the last five arrays are room to work in."""
    first, count = 0.0, 0
    for i in range(a.shape[0]):
        at_low = a[i] + low * k[i]
        if at_low > 0.0 or (at_low == 0.0 and k[i] > 0.0):
            first += weights[i] * k[i]
        if k[i] != 0.0:
            where = -a[i] / k[i]
            if low < where < high:
                kink[count] = where
                jump[count] = weights[i] * abs(k[i])
                count += 1
    order = np.argsort(kink[:count])
    edge[0], slope[0] = low, first
    for p in range(count):
        edge[p + 1] = kink[order[p]]
        slope[p + 1] = slope[p] + jump[order[p]]
    edge[count + 1] = high
    value, largest = 0.0, -np.inf  # the potential at the piece's left edge, relative to that at low
    for p in range(count + 1):
        width = edge[p + 1] - edge[p]
        z = slope[p] * width
        log_mass[p] = -np.inf
        if width > 0.0:
            log_mass[p] = math.log(width) - value - min(z, 0.0) + _log_mean_exp(abs(z))
        largest = max(largest, log_mass[p])
        value += z
    total = 0.0
    for p in range(count + 1):
        log_mass[p] = math.exp(log_mass[p] - largest) if largest > -np.inf else 0.0
        total += log_mass[p]
    left, piece = draw[0] * total, -1
    for p in range(count + 1):
        if log_mass[p] > 0.0:
            piece = p
            left -= log_mass[p]
            if left < 0.0:
                break
    if piece < 0:  # a chord of length 0
        return 0.0
    width = edge[piece + 1] - edge[piece]
    z = slope[piece] * width
    if abs(z) < 1e-8:
        return float(edge[piece] + draw[1] * width)
    fall = -math.log1p(draw[1] * math.expm1(-abs(z))) / abs(z) * width
    return float(edge[piece] + fall if z > 0.0 else edge[piece + 1] - fall)


@kernel
def _log_mean_exp(z: float) -> float:
    """Log ∫_0^1 exp(-z t) dt for z >= 0."""
    return -0.5 * z if z < 1e-8 else math.log(-math.expm1(-z) / z)
