"""Hit-and-run for potentials made of hinges on a ball: exact draws along random lines, no step size and no smoothing.

Along a line θ + t·e the potential Σ_i w_i max(a_i + t k_i, 0), with a_i = 1 + <φ_i, θ>/γ and k_i = <φ_i, e>/γ, is
piecewise linear (the ramp, a difference of hinges, too), so its density on the chord is piecewise exponential: sort the
kinks -a_i/k_i, add up slopes, weigh each piece by its integral, draw a piece and a place in it by the inverse
distribution function. The law ∝ exp(-F) is invariant exactly; all that is left to time is mixing. A step costs
O(n d + n log n).

Smith (1984), "Efficient Monte Carlo procedures for generating points uniformly distributed over bounded regions".

>>> import numpy as np
>>> F = HingePotential(features=np.array([[1.0, 0.0]]), weights=np.array([3.0]), margin=0.5)
>>> rng = np.random.default_rng(0)
>>> draws = hit_and_run(F, uniform_ball(500, 2, 1.0, rng), rng, radius=1.0, n_steps=20)
>>> draws.shape, bool(draws[:, 0].mean() < -0.3), bool(abs(draws[:, 1].mean()) < 0.1)
((500, 2), True, True)
"""

import math
from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.compiled import kernel
from marginbandits.samplers.potential import HingePotential
from marginbandits.types import Array
from marginbandits.validation import Count, Positive, fits, quoted, validated

__all__ = ["hit_and_run", "uniform_ball"]

Ends: TypeAlias = npt.NDArray[np.int64]


@validated
def hit_and_run(
    potential: HingePotential,
    start: Annotated[npt.ArrayLike, Numbers(2, low=-1e50, high=1e50)],
    rng: np.random.Generator,
    *,
    radius: Positive,
    n_steps: Count,
) -> Array:
    """The chains' last points after `n_steps` lines each from the rows of `start`, points of the ball."""
    theta = np.array(start, float, order="C")
    if theta.shape[1] != potential.features.shape[1]:
        raise ValueError(f"start must be chains x {potential.features.shape[1]}, got shape {theta.shape}")
    if not (np.linalg.norm(theta, axis=1) <= radius * (1.0 + 1e-9)).all():
        raise ValueError(f"start must lie in the ball of radius {radius}, got {quoted(start)}")
    features, weights, offsets = map(np.ascontiguousarray, potential.pieces())
    for at in range(0, n_steps, _BURST):
        burst = min(_BURST, n_steps - at)
        lines = _unit(rng.standard_normal((len(theta), burst, theta.shape[1])))
        draws = rng.random((len(theta), burst, 2))
        _lines(features, weights, offsets, potential.margin, radius, theta, lines, draws)
    return theta


_CROWD = 32
"""Keys in one bucket from which on sorting beats insertion."""

_BURST = 256
"""Lines drawn at a time: enough to forget the cost of a call, few enough to hold and to keep rounding in check."""


@validated
def uniform_ball(n: Count, dimension: Count, radius: Positive, rng: np.random.Generator) -> Array:
    """`n` independent points, uniform in the ball: the law of the constant potential."""
    fits(n=n, dimension=dimension)
    direction = _unit(rng.standard_normal((n, dimension)))
    return np.asarray(radius * rng.random((n, 1)) ** (1.0 / dimension) * direction)


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300))


@kernel
def _lines(
    features: Array,
    weights: Array,
    offsets: Array,
    margin: float,
    radius: float,
    theta: Array,
    lines: Array,
    draws: Array,
) -> None:
    """Move every row of theta along its lines in turn."""
    n, d = features.shape
    a, k, room, ends = np.empty(n), np.empty(n), np.empty((6, n + 2)), np.empty(n + 2, np.int64)
    for j in range(theta.shape[0]):
        for i in range(n):
            total = 0.0
            for c in range(d):
                total += features[i, c] * theta[j, c]
            a[i] = offsets[i] + total / margin
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
            t = _place(a, k, weights, -across - half, half - across, draws[j, step], room, ends)
            square = 0.0
            for c in range(d):
                theta[j, c] += t * lines[j, step, c]
            for c in range(d):
                square += theta[j, c] * theta[j, c]
            if square > radius * radius:  # by rounding only
                for c in range(d):
                    theta[j, c] *= radius / math.sqrt(square)
            for i in range(n):
                a[i] += t * k[i]


@kernel
def _place(a: Array, k: Array, weights: Array, low: float, high: float, draw: Array, room: Array, ends: Ends) -> float:
    """A draw from the density ∝ exp(-Σ w max(a + t k, 0)) on [low, high]; `room` and `ends` are to work in.

    The potential is least at an edge; relative to that, every piece has mass width (e^{-V_left} - e^{-V_right})/z with
    z = V_right - V_left, one exponential each.
    """
    if not high - low > 1e-290:  # a chord of no length
        return 0.0
    edge, jump, height, mass = room[0], room[1], room[2], room[3]
    slope, count = 0.0, 0
    for i in range(a.shape[0]):
        at_low = a[i] + low * k[i]
        if at_low > 0.0 or (at_low == 0.0 and k[i] > 0.0):
            slope += weights[i] * k[i]
        if k[i] != 0.0:
            where = -a[i] / k[i]
            if low < where < high:
                room[4, count] = where
                room[5, count] = weights[i] * abs(k[i])
                count += 1
    _sort(room[4, :count], room[5, :count], low, high, edge[1:], jump, ends)
    edge[0], edge[count + 1], height[0], least = low, high, 0.0, 0.0
    for p in range(count + 1):
        height[p + 1] = height[p] + slope * (edge[p + 1] - edge[p])
        least = min(least, height[p + 1])
        slope += jump[p] if p < count else 0.0
    total, left_density = 0.0, math.exp(least - height[0])
    for p in range(count + 1):
        right_density = math.exp(least - height[p + 1])
        width, z = edge[p + 1] - edge[p], height[p + 1] - height[p]
        if abs(z) < 1e-2:
            mass[p] = width * left_density * (1.0 - z / 2.0 * (1.0 - z / 3.0 * (1.0 - z / 4.0 * (1.0 - z / 5.0))))
        else:
            mass[p] = width * (left_density - right_density) / z
        left_density = right_density
    for p in range(count + 1):
        total += mass[p]
    left, piece = draw[0] * total, 0
    for p in range(count + 1):
        if mass[p] > 0.0:
            piece = p
            left -= mass[p]
            if left < 0.0:
                break
    width, z = edge[piece + 1] - edge[piece], height[piece + 1] - height[piece]
    if abs(z) < 1e-8:
        return float(edge[piece] + draw[1] * width)
    fall = -math.log1p(draw[1] * math.expm1(-abs(z))) / abs(z) * width
    return float(edge[piece] + fall if z > 0.0 else edge[piece + 1] - fall)


@kernel
def _sort(keys: Array, values: Array, low: float, high: float, keys_out: Array, values_out: Array, ends: Ends) -> None:
    """Keys of (low, high) in rising order, values alongside: one bucket for each key, then insertion where they meet.

    Spread over the chord, as kinks are, keys take linear time; a crowded bucket is sorted by itself.
    """
    n = keys.shape[0]
    scale = n / (high - low)
    ends[: n + 1] = 0
    for i in range(n):
        ends[min(int((keys[i] - low) * scale), n - 1) + 1] += 1
    for b in range(n):
        ends[b + 1] += ends[b]
    for i in range(n):
        b = min(int((keys[i] - low) * scale), n - 1)
        keys_out[ends[b]], values_out[ends[b]] = keys[i], values[i]
        ends[b] += 1
    start = 0
    for b in range(n):
        if ends[b] - start > _CROWD:
            order = np.argsort(keys_out[start : ends[b]])
            keys_out[start : ends[b]] = keys_out[start : ends[b]][order]
            values_out[start : ends[b]] = values_out[start : ends[b]][order]
        start = ends[b]
    for i in range(1, n):
        key, value, at = keys_out[i], values_out[i], i
        while at > 0 and keys_out[at - 1] > key:
            keys_out[at], values_out[at] = keys_out[at - 1], values_out[at - 1]
            at -= 1
        keys_out[at], values_out[at] = key, value
