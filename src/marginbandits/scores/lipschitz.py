"""Metric spaces of contexts, and nets of them: what 1-Lipschitz policies are defined on.

    Cube          a box in R^p with ρ(x, y) = L max_j |x_j - y_j|; its nets are grids
    MetricSpace   any metric, by name or as a function; a net is made of points that were seen

A policy g: X → Δ(A) is 1-Lipschitz if ‖g(x) - g(y)‖₁ <= ρ(x, y). On a net it is a distribution per centre, and

    nearest       g(x) = g(nearest centre): off by β/2 in loss for a net of radius β
    `extension`   coordinates of g are 1/2-Lipschitz: the midpoint of their McShane envelopes, projected to the simplex;
                  it keeps the centres' values and is K/2-Lipschitz

No extension can be 1-Lipschitz in general: with K = 3, three corners of the simplex on an equilateral triangle of side
2 leave nothing for its centre. So a policy is sought on a grid of the whole cube, where there is one.

Foster & Krishnamurthy (2018), "Contextual bandits with surrogate losses", appendix on Lipschitz contextual bandits.

>>> import numpy as np
>>> grid = Cube([0.0, 0.0], [1.0, 1.0]).grid(radius=0.25)
>>> grid.centres.tolist()
[[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75]]
>>> grid.nearest(np.array([[0.9, 0.2]]))
array([2])
>>> extension(np.array([[0.5, 1.5]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
array([[0.75, 0.25]])
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.compiled import kernel
from marginbandits.projections import simplex
from marginbandits.saving import Part
from marginbandits.scores.nets import Grid, Net, ScannedNet, TreeNet
from marginbandits.types import Array
from marginbandits.validation import Choice, Function, Instance, Integer, ListOf, OneOf, Real, quoted, validated

__all__ = ["Cube", "MetricSpace", "NotAMetricError", "Space", "covering_dimension", "extension"]

TRIPLES = 300
"""How many triples of points are checked for the triangle inequality."""

NEIGHBOURS = 10
"""How many of a point's nearest others tell the dimension there."""

Point = Annotated[Array, Numbers(1, low=-1e100, high=1e100)]
Points = Annotated[Array, Numbers(2, low=-1e100, high=1e100, empty=True)]
Radius = Annotated[float, Real(1e-300, 1e100)]
Size = Annotated[int, Integer(0, 10**9)]

MINKOWSKI = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": math.inf}


@kernel
def _euclidean(point: Array, others: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(point.shape[0]):
            total += (others[i, j] - point[j]) * (others[i, j] - point[j])
        out[i] = math.sqrt(total)


class NotAMetricError(ValueError):
    """Two points have no distance, or a point is not at distance 0 of itself."""


class Space(Part, ABC):
    """Where contexts live: how far apart they are, and nets of them.

    A net of radius β has about size·β^-p centres; p is the `dimension`, where it is known, and the size 1 or more.
    """

    dimension: float | None
    size: float = 1.0
    width: int | None = None
    """How many coordinates a point has, where that is known."""

    @validated
    def refuse(self, points: Points) -> None:
        """Raise a ValueError if a row is no point of the space."""
        self._refuse_width(points)
        self._refuse(points)

    @validated
    def distances(self, point: Point, others: Points) -> Array:
        """ρ between a point and each of the others."""
        self._refuse_width(point[None])
        if others.shape[1] != len(point):
            raise ValueError(f"others must have {len(point)} coordinates like the point, got shape {others.shape}")
        return self._distances(point, others)

    @validated
    def most(self, radius: Radius, n_points: Size) -> int:
        """How many centres a net for so many points can have."""
        return self._most(radius, n_points)

    @validated
    def cover(self, points: Points, radius: Radius) -> Array:
        """Centres of a net: each of the points is within `radius` of one of them."""
        self._refuse_width(points)
        return self._cover(points, radius)

    @validated
    def net(self, centres: Points, radius: Radius) -> Net:
        """The net that has these centres, as `cover` gave them."""
        self._refuse_width(centres)
        return self._net(centres, radius)

    @validated
    def doubts(self, points: Points) -> str | None:
        """What a sample of these points says against ρ being a metric, if anything."""
        self._refuse_width(points)
        return self._doubts(points) if len(points) else None

    def _refuse_width(self, points: Array) -> None:
        if not points.shape[1] or points.shape[1] != (self.width or points.shape[1]):
            raise ValueError(f"context must have the space's {self.width or 1} coordinates, got {points.shape[1]}")

    @abstractmethod
    def _refuse(self, points: Array) -> None: ...

    @abstractmethod
    def _distances(self, point: Array, others: Array) -> Array: ...

    @abstractmethod
    def _most(self, radius: float, n_points: int) -> int: ...

    @abstractmethod
    def _cover(self, points: Array, radius: float) -> Array: ...

    @abstractmethod
    def _net(self, centres: Array, radius: float) -> Net: ...

    def _doubts(self, points: Array) -> str | None:
        return None


class Cube(Space):
    """The box from `low` to `high`, coordinate by coordinate; ρ(x, y) = `lipschitz` · max_j |x_j - y_j|.

    `lipschitz` is the constant of the policies to compete with: 2/lipschitz is the way over which one may change
    entirely.
    """

    @validated
    def __init__(
        self,
        low: Annotated[list[float], ListOf(Real(above=-1e100, below=1e100))],
        high: Annotated[list[float], ListOf(Real(above=-1e100, below=1e100))],
        *,
        lipschitz: Annotated[float, Real(above=0, below=1e100)] = 1.0,
    ) -> None:
        self.low, self.high, self.lipschitz = low, high, lipschitz
        if len(low) != len(high):
            raise ValueError(f"high must have as many coordinates as low, got {quoted(high)} and {quoted(low)}")
        if not all(a < b for a, b in zip(low, high, strict=True)):
            raise ValueError(f"high must be above low in every coordinate, got {quoted(high)} and {quoted(low)}")
        self._low, self._high = np.array(low), np.array(high)
        self.dimension, self.width = float(len(low)), len(low)
        self.size = float(np.maximum(0.5 * lipschitz * (self._high - self._low), 1.0).prod())

    def _refuse(self, points: Array) -> None:
        outside = (points < self._low) | (points > self._high)
        if outside.any():
            row, j = np.argwhere(outside)[0]
            given, limits = f"{points[row, j]:g} at position {j}", f"{self.low[j]:g} and {self.high[j]:g}"
            raise ValueError(f"context must be in the cube, got {given}, which is not between {limits}")

    def _distances(self, point: Array, others: Array) -> Array:
        return np.asarray(self.lipschitz * np.abs(others - point).max(-1))

    @validated
    def grid(self, radius: Radius) -> Grid:
        """The grid of cells whose corners are `radius` from their centres; it overhangs the box alike on all sides."""
        return Grid(self._low, self._high, radius / self.lipschitz, self.lipschitz)

    def _most(self, radius: float, n_points: int) -> int:
        return len(self.grid(radius).centres)

    def _cover(self, points: Array, radius: float) -> Array:
        return self.grid(radius).centres

    def _net(self, centres: Array, radius: float) -> Net:
        return self.grid(radius)


class MetricSpace(Space):
    """Points of R^d under a metric, times `lipschitz`: "euclidean", "manhattan", "chebyshev", or a function of two.

    Named metrics find the nearest centre in a k-d tree; functions are asked for the distance of every centre.
    `dimension` is the covering dimension p; `covering_dimension` estimates it from points. A function cannot be saved.
    """

    @validated
    def __init__(
        self,
        metric: Annotated[str | Callable[[Array, Array], float], OneOf(Choice(*MINKOWSKI), Function())] = "euclidean",
        *,
        dimension: Annotated[float | None, OneOf(Real(1e-3, 1e3), Instance(type(None)))] = None,
        lipschitz: Annotated[float, Real(above=0, below=1e100)] = 1.0,
    ) -> None:
        self.metric, self.dimension, self.lipschitz = metric, dimension, lipschitz

    def _refuse(self, points: Array) -> None:
        if callable(self.metric):
            for point in points:
                if not self._distances(point, point[None])[0] <= 1e-9:
                    raise NotAMetricError(
                        f"context must be a point of the space, at distance 0 of itself, got {quoted(point)}"
                    )

    def _distances(self, point: Array, others: Array) -> Array:
        if callable(self.metric):
            try:
                found = np.array([float(self.metric(point, other)) for other in others])
            except Exception as error:  # whatever a user's function raises
                raise NotAMetricError(
                    f"context must be a point of the space; the metric fails at {quoted(point)}"
                ) from error
            if not (np.isfinite(found).all() and (found >= 0.0).all()):
                bad = others[~(found >= 0.0) | ~np.isfinite(found)][0]
                where = f"{quoted(point)} and {quoted(bad)}"
                raise NotAMetricError(f"context must be a point of the space; the metric fails at {where}")
        else:
            if self.metric == "euclidean":
                found = np.empty(len(others))
                _euclidean(np.ascontiguousarray(point), np.ascontiguousarray(others), found)
            else:
                found = np.linalg.norm(others - point, MINKOWSKI[self.metric], axis=-1)
        return np.asarray(self.lipschitz * found)

    def _most(self, radius: float, n_points: int) -> int:
        return n_points

    def _cover(self, points: Array, radius: float) -> Array:
        # Greedily: each point that no centre so far is near becomes one.
        left, chosen = np.arange(len(points)), []
        while len(left):
            chosen.append(left[0])
            left = left[1:][self._distances(points[left[0]], points[left[1:]]) > radius]
        return points[chosen]

    def _net(self, centres: Array, radius: float) -> Net:
        if callable(self.metric):
            return ScannedNet(centres, self._distances)
        return TreeNet(centres, MINKOWSKI[self.metric], self.lipschitz)

    def _doubts(self, points: Array) -> str | None:
        if not callable(self.metric):
            return None
        for a, b, c in points[np.random.default_rng(0).integers(len(points), size=(TRIPLES, 3))]:
            (ab, ac), (ba, bc) = self._distances(a, np.array([b, c])), self._distances(b, np.array([a, c]))
            if abs(ab - ba) > 1e-9 * max(ab, ba):
                return f"it is not symmetric: {ab:g} from {a} to {b}, {ba:g} back"
            if ac > (ab + bc) * (1.0 + 1e-9):
                return f"it violates the triangle inequality: {ac:g} from {a} to {c}, but {ab:g} + {bc:g} by way of {b}"
        return None


EUCLIDEAN = MetricSpace()


def extension(distances: Array, values: Array) -> Array:
    """The policy at points off the net, from their distances to all centres (m x n) and the centres' values (n x K)."""
    reach = 0.5 * distances[:, :, None]
    upper, lower = (values + reach).min(1), (values - reach).max(1)
    return simplex(0.5 * (upper + lower))


@validated
def covering_dimension(
    points: Annotated[npt.ArrayLike, Numbers(2, low=-1e100, high=1e100)], space: MetricSpace = EUCLIDEAN
) -> float:
    """p, from how the number of points near one grows with the distance: a ball of radius r holds about r^p of them.

    With r_1 < … < r_k the distances of a point to its k = 10 nearest others, 1/p is the mean of ln(r_k/r_j), j < k,
    over the points (500 of them, if there are more) that have no copy among them. At least 30 points are needed; near
    borders, and so above p = 3, it is a little low.

    Levina & Bickel (2005), "Maximum likelihood estimation of intrinsic dimension".

    >>> rng = np.random.default_rng(0)
    >>> plane = rng.random((2000, 2)) @ rng.standard_normal((2, 10))
    >>> round(covering_dimension(plane), 1)
    2.0
    """
    rows = np.asarray(points, float)
    if len(rows) < 30:
        raise ValueError(f"points must be 30 or more rows of finite numbers, got shape {rows.shape}")
    some = rows[np.random.default_rng(0).permutation(len(rows))[:500]]
    near = np.array([np.sort(space._distances(one, rows))[1 : NEIGHBOURS + 1] for one in some])
    near = near[near[:, 0] > 0.0]
    logs = np.log(near[:, -1:] / near[:, :-1])
    if not logs.sum() > 0.0:
        raise ValueError("points must not all be copies of each other, or all at one distance")
    return float(1.0 / logs.mean())
