"""An ε-cover of the linear ball: finitely many weights, one of which is within ε of any other in every score.

Parameters live in the ball of radius R in D = (K-1)d dimensions, and scores are L-Lipschitz in them, L = √(1 - 1/K).
The points of a grid of spacing h = 2δ/√D, δ = ε/L, that lie within R + δ of the centre, moved into the ball, are a
δ-cover of it. Their number is known before any of them is made:

    N = #{z in Z^D : ‖z‖ <= (R + δ)/h},  about the volume of the ball of radius (R + δ)√D/(2δ)

which grows like (1/ε)^D: this is for a handful of dimensions. Beyond `most` it is refused.

>>> cover_size(n_actions=2, n_features=2, epsilon=0.2)
37.0
>>> linear_cover(n_actions=2, n_features=2, epsilon=0.2).shape
(37, 2, 2)
>>> linear_cover(n_actions=5, n_features=10, epsilon=0.1)  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
ValueError: epsilon must be larger: at 0.1 the cover of this 40-dimensional ball has 10^51 or more regressors, ...
"""

import math
from typing import Annotated

import numpy as np

from marginbandits.projections import ball
from marginbandits.scores.linear import Linear
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Count, Integer, Positive, validated

__all__ = ["cover_size", "linear_cover"]

_COUNTABLE = 100_000
"""Squared grid radii up to this are counted exactly, larger ones by volume."""


@validated
def cover_size(n_actions: ActionCount, n_features: Count, *, epsilon: Positive, radius: Positive = 1.0) -> float:
    """N: exact while the grid is small enough to count, the ball's volume beyond; infinite if no float holds it."""
    D, _, reach = _grid(n_actions, n_features, epsilon, radius)
    if reach * reach * D > _COUNTABLE:
        log_volume = D * math.log(reach) + 0.5 * D * math.log(math.pi) - math.lgamma(0.5 * D + 1.0)
        return math.exp(log_volume) if log_volume < 700.0 else math.inf
    most = math.floor(reach * reach + 1e-9)
    squares = np.zeros(most + 1)
    squares[[z * z for z in range(math.isqrt(most) + 1)]] = 2.0
    squares[0] = 1.0
    count = np.zeros(most + 1)
    count[0] = 1.0
    for _ in range(D):
        count = np.convolve(count, squares)[: most + 1]
    return float(count.sum())


@validated
def linear_cover(
    n_actions: ActionCount,
    n_features: Count,
    *,
    epsilon: Positive,
    radius: Positive = 1.0,
    most: Annotated[int, Integer(1, 10**9)] = 1_000_000,
) -> Array:
    """The cover as N x K x d weights; refused, before anything is built, if N exceeds `most`."""
    size = cover_size(n_actions, n_features, epsilon=epsilon, radius=radius)
    D, spacing, reach = _grid(n_actions, n_features, epsilon, radius)
    if size > most:
        shown = f"{size:.0f}" if size < 1e9 else f"10^{math.log10(min(size, 1e300)):.0f} or more"
        raise ValueError(
            f"epsilon must be larger: at {epsilon:g} the cover of this {D}-dimensional ball has {shown} regressors, "
            f"and most={most}"
        )
    line = np.arange(-math.floor(reach), math.floor(reach) + 1, dtype=float)
    points = np.zeros((1, 0))
    for _ in range(D):
        near = (points**2).sum(1)[:, None] + line**2 <= reach * reach + 1e-9
        row, column = np.nonzero(near)
        points = np.column_stack([points[row], line[column]])
    scores = Linear(n_actions, n_features, radius=radius)
    return scores.weights(ball(spacing * points, radius))


def _grid(n_actions: int, n_features: int, epsilon: float, radius: float) -> tuple[int, float, float]:
    """Dimensions, spacing, and how many spacings the grid reaches from the centre."""
    scores = Linear(n_actions, n_features, radius=radius)
    D, delta = scores.dimension, epsilon / scores.lipschitz
    spacing = 2.0 * delta / math.sqrt(D)
    return D, spacing, (radius + delta) / spacing
