"""The potential of Hinge-LMC for scores linear in θ: a weighted sum of hinges, one for each round that cost something.

    F(θ) = Σ_i w_i ψ(<φ_i, θ>),   ψ(s) = max(1 + s/γ, 0),   density ∝ exp(-F) on Θ

φ_i is the gradient of the played action's score and w_i = η · weight · loss. Smoothing θ by N(0, u² I) has a closed
form (`SmoothedHinge`): with v_i = 1 + <φ_i, θ>/γ and s_i = u‖φ_i‖/γ,

    ∇F(θ) = Σ_i w_i 1{v_i > 0} φ_i/γ      ∇E F(θ + Z) = Σ_i w_i N(v_i/s_i) φ_i/γ

Gradients at many points are products of matrices: of all rows with all points, and back. They are made of 64 rows and
two lines of points at a time, so that the scores between never leave the processor's first cache.

>>> import numpy as np
>>> F = HingePotential(features=np.array([[1.0, 0.0]]), weights=np.array([2.0]), margin=0.5)
>>> F(np.array([[0.0, 0.0], [-0.5, 3.0]]))
array([2., 0.])
>>> F.gradient(np.array([[0.0, 0.0], [-0.5, 3.0]]))
array([[4., 0.],
       [0., 0.]])
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from marginbandits.arrays import Numbers
from marginbandits.compiled import kernel
from marginbandits.lanes import each, line, put, where, width
from marginbandits.types import Array
from marginbandits.validation import Positive, Real, record, validated

__all__ = ["HingePotential", "RampPotential"]

Points = Annotated[npt.ArrayLike, Numbers(2, low=-1e50, high=1e50)]

_MANY = 6
"""From so many points on, lines of them are worth filling; BLAS is faster for fewer."""
_ROWS = 64


@record
@dataclass(frozen=True, slots=True, eq=False)
class HingePotential:
    """Features n x d, weights n (η included), margin γ; points are rows. Defined on all of R^d."""

    features: Annotated[Array, Numbers(2, low=-1e50, high=1e50, empty=True)]
    weights: Annotated[Array, Numbers(1, low=0, high=1e150, empty=True)]
    margin: Positive
    _top: ClassVar[float] = math.inf
    """From this score on, it is flat again."""

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.features) or not self.features.shape[1]:
            n, d = self.features.shape
            raise ValueError(f"weights must be one for each of {n} rows of {d} features, got {len(self.weights)}")

    def pieces(self) -> tuple[Array, Array, Array]:
        """Rows φ, weights w and offsets a with F(θ) = Σ w max(a + <φ, θ>/γ, 0)."""
        return self.features, self.weights, np.ones(len(self.weights))

    @validated
    def __call__(self, points: Points) -> Array:
        """F at every row."""
        return np.asarray(np.maximum(self._activity(points, np.ones(1)), 0.0) @ self.weights)

    @validated
    def gradient(self, points: Points) -> Array:
        """A subgradient at every row; at a kink, that of the flat side."""
        return np.asarray(self._sloping(self._points(points), self.features, self.weights))

    def single_gradient(self) -> Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]:
        """The same as a function of rows in single precision, which it believes to be: for chains with more noise.

        >>> F = HingePotential(features=np.array([[1.0, 0.0]]), weights=np.array([2.0]), margin=0.5)
        >>> F.single_gradient()(np.zeros((1, 2), np.float32))
        array([[4., 0.]], dtype=float32)
        """
        features, weights = self.features.astype(np.float32), self.weights.astype(np.float32)
        return lambda points: self._sloping(points, features, weights)

    def _sloping(self, points: Any, features: Any, weights: Any) -> Any:
        margin, top = features.dtype.type(self.margin), features.dtype.type(self._top)
        if len(points) >= _MANY:
            out = np.empty(points.shape, features.dtype)
            _slopes(np.ascontiguousarray(points), features, weights, margin, top, out)
            return out
        scores = points @ features.T
        _steep(scores, weights, margin, top)
        out = scores @ features
        out /= margin
        return out

    @validated
    def smoothed_gradient(self, width: Annotated[float, Real(0, 1e50)]) -> Callable[[Array], Array]:
        """The gradient of E F(θ + Z), Z ~ N(0, width² I), as a function of rows of points."""
        rows, weights, offsets = self.pieces()
        spread = np.maximum(width * np.linalg.norm(rows, axis=1) / self.margin, 1e-300)

        @validated
        def gradient(points: Points) -> Array:
            return np.asarray((ndtr(self._activity(points, offsets) / spread) * (weights / self.margin)) @ rows)

        return gradient

    @property
    def lipschitz(self) -> float:
        """G = Σ_i |w_i| ‖φ_i‖/γ over the pieces: no slope is steeper, and smoothing moves F by at most uG/√(2π)."""
        rows, weights, _ = self.pieces()
        return float(np.abs(weights) @ np.linalg.norm(rows, axis=1)) / self.margin

    @validated
    def smoothing(self, error: Positive) -> tuple[float, float]:
        """The width u that moves F by at most `error`, and 1/(curvature bound) at that width: a safe step α.

        u = error √(2π)/G, curvature <= G/(u√(2π)) = G²/(2π error). Both are infinite where F is constant.
        """
        G = self.lipschitz
        if G == 0.0:
            return math.inf, math.inf
        return error * math.sqrt(2.0 * math.pi) / G, 2.0 * math.pi * error / G / G

    def _points(self, points: npt.ArrayLike) -> Array:
        at = np.asarray(points)
        if at.shape[1] != self.features.shape[1]:
            raise ValueError(f"points must be rows of {self.features.shape[1]} numbers, got shape {at.shape}")
        return at

    def _activity(self, points: npt.ArrayLike, offsets: Array) -> Array:
        """A + <φ, θ>/γ of every point and piece."""
        scores = self._points(points) @ self.features.T / self.margin
        return np.asarray(offsets + np.tile(scores, (1, max(1, len(offsets) // max(1, len(self.weights))))))


class RampPotential(HingePotential):
    """Σ_i w_i φ(<φ_i, θ>) with the ramp min(max(1 + s/γ, 0), 1): a round that is wrong costs its weight and no more.

    Not convex: a difference of two hinges, one margin apart. Lines are sampled exactly all the same.

    >>> F = RampPotential(features=np.array([[1.0]]), weights=np.array([2.0]), margin=0.5)
    >>> F(np.array([[-1.0], [-0.25], [9.0]]))
    array([0., 1., 2.])
    """

    __slots__ = ()
    _top = 0.0

    def pieces(self) -> tuple[Array, Array, Array]:
        """The hinge's, and those of the hinge that is taken from it."""
        ones = np.ones(len(self.weights))
        return np.tile(self.features, (2, 1)), np.r_[self.weights, -self.weights], np.r_[ones, 0.0 * ones]

    @validated
    def __call__(self, points: Points) -> Array:
        """F at every row; not as a difference, which would lose its digits far out."""
        return np.asarray(np.clip(self._activity(points, np.ones(1)), 0.0, 1.0) @ self.weights)


@kernel
def _steep(scores: Array, weights: Array, margin: float, top: float) -> None:
    """In place of the score of every point and row: its weight where the potential is steep, 0 where it is flat."""
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            steep = scores[i, j] > -margin and scores[i, j] < top
            scores[i, j] = weights[j] if steep else weights.dtype.type(0.0)


@kernel
def _add_products(left: Array, right: Array, out: Array) -> None:
    """Out += left @ right. Rows of `right` and `out` are two lines; those of `out` go on to the next four."""
    last, many = left.shape[0] - 1, width(right)
    for i in range(0, left.shape[0], 4):
        j, k, m = min(i + 1, last), min(i + 2, last), min(i + 3, last)
        a, b = line(out[i], 0), line(out[i], many)
        c, d = line(out[i + 1], 0), line(out[i + 1], many)
        e, f = line(out[i + 2], 0), line(out[i + 2], many)
        g, h = line(out[i + 3], 0), line(out[i + 3], many)
        for at in range(left.shape[1]):
            x, y = line(right[at], 0), line(right[at], many)
            a, b = a + each(left[i, at]) * x, b + each(left[i, at]) * y
            c, d = c + each(left[j, at]) * x, d + each(left[j, at]) * y
            e, f = e + each(left[k, at]) * x, f + each(left[k, at]) * y
            g, h = g + each(left[m, at]) * x, h + each(left[m, at]) * y
        put(out[i], 0, a)
        put(out[i], many, b)
        put(out[i + 1], 0, c)
        put(out[i + 1], many, d)
        put(out[i + 2], 0, e)
        put(out[i + 2], many, f)
        put(out[i + 3], 0, g)
        put(out[i + 3], many, h)


@kernel
def _slopes(points: Array, features: Array, weights: Array, margin: float, top: float, out: Array) -> None:
    """The gradient at every point, two lines of points and 64 rows at a time; both lie in columns meanwhile."""
    many, (n, d) = 2 * width(points), features.shape
    at, slopes = np.empty((d, many), points.dtype), np.empty((d + 3, many), points.dtype)
    scores = np.empty((_ROWS, many), points.dtype)
    for first in range(0, points.shape[0], many):
        some = min(many, points.shape[0] - first)
        at[:], slopes[:] = 0.0, 0.0
        at[:, :some] = points[first : first + some].T
        for i in range(0, n, _ROWS):
            rows = features[i : i + _ROWS]
            scores[:] = 0.0
            _add_products(rows, at, scores)
            for k in range(rows.shape[0]):
                for j in range(0, many, width(points)):
                    score, weight = line(scores[k], j), each(weights[i + k])
                    put(scores[k], j, where(score + each(margin), where(each(top) - score, weight)))
            _add_products(rows.T, scores[: rows.shape[0]], slopes)
        out[first : first + some] = slopes[:d, :some].T / margin
