"""Nets of a metric space: centres, the nearest of them, and the pairs between which a policy must not jump.

    Grid      cells of one width under the largest-coordinate metric: arithmetic finds the nearest centre, and keeping
              neighbours (diagonal ones included) within their distance keeps all pairs within theirs
    TreeNet   any centres under a Minkowski metric, in a k-d tree
    BallNet   any centres under a function, in a ball tree

Pairs at distance 2 or more say nothing: no two distributions are further apart.

>>> net = TreeNet(np.array([[0.0], [1.5], [4.0]]), p=2.0, scale=1.0)
>>> pairs, distances = net.pairs()
>>> pairs.tolist(), distances.tolist()
([[0, 1]], [1.5])
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from marginbandits.types import Array

__all__ = ["BallNet", "Grid", "Net", "TreeNet"]

LARGEST_GRID = 100_000
"""Cells beyond which a grid is refused: a linear program over them would not end."""

Indices = npt.NDArray[np.int64]


class Net(ABC):
    """Centres, one row each."""

    centres: Array

    @abstractmethod
    def nearest(self, points: Array) -> Indices:
        """The row of the nearest centre, for each point."""

    @abstractmethod
    def pairs(self) -> tuple[Indices, Array]:
        """Pairs of rows (n x 2) and their distances: enough of those nearer than 2 to imply the rest."""


class Grid(Net):
    """Cubes of half-width `radius` that cover the box; distances count `scale` times."""

    def __init__(self, low: Array, high: Array, radius: float, scale: float) -> None:
        self._width, self._scale = 2.0 * radius, scale
        counts = [max(1, math.ceil(length / self._width - 1e-9)) for length in (high - low).tolist()]
        if math.prod(counts) > LARGEST_GRID:
            size = f"{math.prod(counts)} with radius {radius * scale:g}"
            raise ValueError(f"radius must leave at most {LARGEST_GRID} cells, got {size}; a MetricSpace needs fewer")
        self._counts = np.array(counts)
        self._corner = 0.5 * (low + high - self._width * self._counts)
        cells = np.indices(counts).reshape(len(counts), -1).T
        self.centres = self._corner + self._width * (cells + 0.5)

    def nearest(self, points: Array) -> Indices:
        """The cell a point is in; off the grid, the cell at its border."""
        cell = ((points - self._corner) / self._width).astype(np.int64)
        return np.asarray(np.ravel_multi_index(tuple(cell.T), tuple(self._counts), mode="clip"))

    def pairs(self) -> tuple[Indices, Array]:
        """Neighbours, diagonal ones included."""
        table = np.arange(len(self.centres)).reshape(self._counts)
        steps = list(itertools.product((-1, 0, 1), repeat=table.ndim))
        found = []
        for step in steps[len(steps) // 2 + 1 :]:  # one of each two opposite directions
            here = tuple(slice(max(0, -k), n - max(0, k)) for k, n in zip(step, table.shape, strict=True))
            there = tuple(slice(max(0, k), n - max(0, -k)) for k, n in zip(step, table.shape, strict=True))
            found.append(np.stack([table[here].ravel(), table[there].ravel()], 1))
        pairs = np.concatenate(found)
        return pairs, np.full(len(pairs), self._scale * self._width)


class TreeNet(Net):
    """Centres in R^d under the Minkowski metric of order `p`; distances count `scale` times."""

    def __init__(self, centres: Array, p: float, scale: float) -> None:
        self.centres, self._p, self._scale = centres, p, scale
        self._tree = cKDTree(centres)

    def nearest(self, points: Array) -> Indices:
        """By the tree."""
        return np.asarray(self._tree.query(points, p=self._p)[1], np.int64)

    def pairs(self) -> tuple[Indices, Array]:
        """All pairs nearer than 2, in order."""
        pairs = self._tree.query_pairs(2.0 / self._scale, p=self._p, output_type="ndarray").astype(np.int64)
        pairs = pairs[np.lexsort(pairs.T[::-1])]
        gaps = self.centres[pairs[:, 0]] - self.centres[pairs[:, 1]]
        return pairs, self._scale * np.linalg.norm(gaps, self._p, axis=1)


class BallNet(Net):
    """Centres under a metric that is a function of two rows; distances count `scale` times."""

    def __init__(self, centres: Array, metric: Callable[[Array, Array], float], scale: float) -> None:
        from sklearn.neighbors import BallTree  # slow to import, and only functions need it

        self.centres, self._scale = centres, scale
        self._tree = BallTree(centres, metric=metric)

    def nearest(self, points: Array) -> Indices:
        """By the tree."""
        return np.asarray(self._tree.query(points)[1][:, 0], np.int64)

    def pairs(self) -> tuple[Indices, Array]:
        """All pairs nearer than 2, in order."""
        near, far = self._tree.query_radius(self.centres, 2.0 / self._scale, return_distance=True)
        first = np.repeat(np.arange(len(near)), [len(one) for one in near])
        second, distance = np.concatenate(near), self._scale * np.concatenate(far)
        keep = first < second
        order = np.lexsort((second[keep], first[keep]))
        return np.stack([first[keep], second[keep]], 1)[order], distance[keep][order]
