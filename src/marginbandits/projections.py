"""The nearest point of a convex set, for every vector along the last axis.

    ball      {θ : ‖θ‖ <= R}                    rescaling
    box       {θ : low <= θ <= high}            clipping
    simplex   {p : p >= 0, Σp = 1}              p = max(v - c, 0) with the c that makes the sum 1

Projections are non-expansive: they never move two points apart, which the analysis of projected Langevin needs.

>>> ball([3.0, 4.0], radius=1.0)
array([0.6, 0.8])
>>> box([3.0, -0.5], low=-1.0, high=1.0)
array([ 1. , -0.5])
>>> simplex([0.5, 1.0, -3.0])
array([0.25, 0.75, 0.  ])
"""

from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.types import Array
from marginbandits.validation import Real, quoted, validated

__all__ = ["ball", "box", "simplex"]

Vectors = Annotated[npt.ArrayLike, Numbers(*range(1, 9), low=-1e300, high=1e300, empty=True)]
Limits = Annotated[npt.ArrayLike, Numbers(0, 1, low=-1e300, high=1e300)]


@validated
def ball(vectors: Vectors, radius: Annotated[float, Real(1e-300, 1e300)]) -> Array:
    """The nearest point of the Euclidean ball of that radius around 0."""
    v = _vectors(vectors)
    largest = np.maximum(np.abs(v).max(-1, keepdims=True), radius)  # so that squares cannot overflow
    norm = np.linalg.norm(v / largest, axis=-1, keepdims=True)
    return np.asarray(v / largest * np.minimum(largest, radius / np.maximum(norm, 1e-300)))


@validated
def box(vectors: Vectors, low: Limits, high: Limits) -> Array:
    """The nearest point with every coordinate between its limits."""
    v, least, most = np.asarray(vectors, float), np.asarray(low), np.asarray(high)
    for name, limit in (("low", least), ("high", most)):
        if limit.ndim and limit.shape != v.shape[-1:]:
            raise ValueError(f"{name} must be one number or {v.shape[-1]}, got {quoted(limit)}")
    if not (least <= most).all():
        raise ValueError(f"low must not exceed high, got {quoted(low)} and {quoted(high)}")
    return np.asarray(np.clip(v, least, most))


@validated
def simplex(vectors: Vectors) -> Array:
    """The nearest probability vector: sort, find how many coordinates stay positive, shift those by the same amount."""
    v = _vectors(vectors)
    v = v - v.max(-1, keepdims=True)  # the answer is the same, and sums of huge numbers lose nothing
    falling = -np.sort(-v, axis=-1)
    shift = (np.cumsum(falling, -1) - 1.0) / np.arange(1, v.shape[-1] + 1)
    last = (falling > shift).sum(-1, keepdims=True) - 1
    return np.asarray(np.maximum(v - np.take_along_axis(shift, last, -1), 0.0))


def _vectors(vectors: npt.ArrayLike) -> Array:
    v = np.asarray(vectors, float)
    if not v.shape[-1]:
        raise ValueError(f"vectors must have a coordinate or more, got shape {v.shape}")
    return v
