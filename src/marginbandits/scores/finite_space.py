"""A finite metric space, given by the distances of its points: contexts or actions of any kind that can be compared.

A point is its number, 0 … n - 1, as a row of one coordinate. The matrix is checked whole when it is given: zero on the
diagonal, positive off it, symmetric, and within the triangle inequality. `FiniteSpace.of` fills it from points and a
metric, by name or as a function; being numbers, it can be saved where a function cannot.

Of n points the covering number N(ε) is known exactly only by search; a greedy net has at most N(ε/2) centres. The
`dimension` is q in N(ε) <= ε^-q; where none is given it is the least q for which the greedy nets of radius 1/2, 1/4, …
down to the least distance have no more than ε^-q centres.

>>> space = FiniteSpace([[0.0, 0.25, 1.0], [0.25, 0.0, 1.0], [1.0, 1.0, 0.0]])
>>> space.cover(space.points, 0.5)
array([[0.],
       [2.]])
>>> words = FiniteSpace.of([[0.0, 0.0], [3.0, 4.0]], metric="euclidean", lipschitz=0.1)
>>> words.distances(np.array([0.0]), words.points)
array([0. , 0.5])
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.scores.lipschitz import MINKOWSKI, MetricSpace, Radius, Space
from marginbandits.scores.nets import Net, ScannedNet
from marginbandits.types import Array
from marginbandits.validation import Choice, Function, Instance, OneOf, Real, quoted, validated

__all__ = ["FiniteSpace"]

LARGEST = 2000
"""Points beyond which a matrix is refused: checking all triangles would take minutes."""


class FiniteSpace(Space):
    """Finitely many points and the `matrix` of their distances, times `lipschitz`; `dimension` may be estimated."""

    width = 1

    @validated
    def __init__(
        self,
        matrix: Annotated[npt.ArrayLike, Numbers(2, low=0.0, high=1e100)],
        *,
        dimension: Annotated[float | None, OneOf(Real(1e-3, 1e3), Instance(type(None)))] = None,
        lipschitz: Annotated[float, Real(above=0, below=1e100)] = 1.0,
    ) -> None:
        given = np.asarray(matrix, float)
        _refuse(given)
        self.matrix, self.lipschitz = given.tolist(), lipschitz  # plain lists, which can be saved
        self._between = lipschitz * given
        self.dimension = self._estimated() if dimension is None else dimension

    def __repr__(self) -> str:
        return f"FiniteSpace({len(self)} points, dimension={self.dimension:g}, lipschitz={self.lipschitz!r})"

    def __len__(self) -> int:
        return len(self._between)

    @classmethod
    @validated
    def of(
        cls,
        points: Annotated[npt.ArrayLike, Numbers(2, low=-1e100, high=1e100)],
        *,
        metric: Annotated[str | Callable[[Array, Array], float], OneOf(Choice(*MINKOWSKI), Function())] = "euclidean",
        dimension: Annotated[float | None, OneOf(Real(1e-3, 1e3), Instance(type(None)))] = None,
        lipschitz: Annotated[float, Real(above=0, below=1e100)] = 1.0,
    ) -> "FiniteSpace":
        """The points (n rows of numbers) under a metric of `MetricSpace`: a name, or a function of two rows."""
        rows, space = np.asarray(points, float), MetricSpace(metric)
        table = np.array([space.distances(one, rows) for one in rows])
        return cls(table, dimension=dimension, lipschitz=lipschitz)

    @property
    def points(self) -> Array:
        """All of them, one row each."""
        return np.arange(len(self), dtype=float)[:, None]

    @validated
    def net_of(self, radius: Radius) -> Net:
        """A net of all of the points."""
        return self._net(self._cover(self.points, radius), radius)

    def _refuse(self, points: Array) -> None:
        numbers = points[:, 0]
        bad = (numbers != np.round(numbers)) | (numbers < 0) | (numbers >= len(self))
        if bad.any():
            raise ValueError(f"context must be the number of a point, 0 to {len(self) - 1}, got {numbers[bad][0]:g}")

    def _distances(self, point: Array, others: Array) -> Array:
        self._refuse(point[None])
        self._refuse(others)
        return np.asarray(self._between[int(point[0]), others[:, 0].astype(np.int64)])

    def _most(self, radius: float, n_points: int) -> int:
        return min(len(self), n_points)

    def _cover(self, points: Array, radius: float) -> Array:
        left, chosen = np.unique(points[:, 0].astype(np.int64)), []
        while len(left):
            chosen.append(left[0])
            left = left[self._between[left[0], left] > radius]
        return np.array(chosen, float)[:, None]

    def _net(self, centres: Array, radius: float) -> Net:
        return ScannedNet(centres, self._distances)

    def _estimated(self) -> float:
        between = self._between[self._between > 0.0]
        least, radius, q = float(between.min(initial=0.5)), 0.5, 1e-3
        while True:
            q = max(q, math.log(len(self._cover(self.points, radius))) / math.log(1.0 / radius))
            if radius < least or radius < 2.0**-30:
                return q
            radius *= 0.5


def _refuse(table: Array) -> None:
    n = len(table)
    if table.shape != (n, n) or n > LARGEST:
        raise ValueError(f"matrix must be n x n, n at most {LARGEST}, got shape {table.shape}")
    slack = 1e-9 * float(table.max())
    if np.diag(table).any() or (table + np.eye(n) <= 0.0).any():
        raise ValueError("matrix must be 0 from a point to itself and above 0 between two")
    if (np.abs(table - table.T) > slack).any():
        i, j = np.argwhere(np.abs(table - table.T) > slack)[0]
        raise ValueError(f"matrix must be symmetric, got {quoted(table[i, j])} from {i} to {j} and another back")
    for k in range(n):
        longer = table > table[:, [k]] + table[[k]] + slack
        if longer.any():
            i, j = np.argwhere(longer)[0]
            raise ValueError(f"matrix must obey the triangle inequality, got {i} to {j} shorter by way of {k}")
