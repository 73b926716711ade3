"""Nets of a metric space: centres, the nearest of them, and the pairs between which a policy must not jump.

    Grid         cells of one width under the largest-coordinate metric: arithmetic finds the nearest centre, and
                 keeping neighbours (diagonal ones included) within their distance keeps all pairs within theirs
    TreeNet      any centres under a Minkowski metric, in a k-d tree
    ScannedNet   any centres under a function, by looking at all

Pairs at distance 2 or more say nothing: no two distributions are further apart.

>>> net = TreeNet(np.array([[0.0], [1.5], [4.0]]), p=2.0, scale=1.0)
>>> pairs, distances = net.pairs()
>>> pairs.tolist(), distances.tolist()
([[0, 1]], [1.5])
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from marginbandits.types import Array

__all__ = ["Grid", "Net", "ScannedNet", "TreeNet"]

LARGEST_GRID, LARGEST_PAIRS = 100_000, 2_000_000
"""Cells and pairs of neighbours beyond which a grid is refused: a linear program over them would not end."""

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
        with np.errstate(over="ignore", divide="ignore"):
            counts = np.maximum(np.ceil((high - low) / self._width - 1e-9), 1.0)
            size, pairs = counts.prod(), counts.prod() * (3.0 ** (counts > 1.0).sum() - 1.0) / 2.0
        if not (size <= LARGEST_GRID and pairs <= LARGEST_PAIRS):
            most = f"{LARGEST_GRID:,} cells and {LARGEST_PAIRS:,} pairs of neighbours"
            found = f"{size:g} and {pairs:g} with radius {radius * scale:g}"
            raise ValueError(f"radius must leave at most {most}, got {found}; a MetricSpace needs fewer")
        self._axes = np.flatnonzero(counts > 1.0)  # along the others there is one cell
        self._shape = tuple(counts[self._axes].astype(int).tolist())
        self._corner = 0.5 * (low + high - self._width * counts)
        self.centres = np.tile(self._corner + 0.5 * self._width, (int(size), 1))
        self.centres[:, self._axes] += self._width * np.indices(self._shape).reshape(len(self._shape), int(size)).T

    def nearest(self, points: Array) -> Indices:
        """The cell a point is in; off the grid, the cell at its border."""
        if not self._shape:
            return np.zeros(len(points), np.int64)
        inside = (points[:, self._axes] - self._corner[self._axes]) / self._width
        cell = np.clip(inside, 0.0, np.array(self._shape) - 1.0).astype(np.int64)
        return np.asarray(np.ravel_multi_index(tuple(cell.T), self._shape))

    def pairs(self) -> tuple[Indices, Array]:
        """Neighbours, diagonal ones included."""
        table = np.arange(len(self.centres)).reshape(self._shape)
        steps = list(itertools.product((-1, 0, 1), repeat=table.ndim))
        found = [np.zeros((0, 2), np.int64)]
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


class ScannedNet(Net):
    """Centres under any distance, a function of a point and many others: every one of them is looked at.

    A ball tree would look at fewer, but at averages of centres too, where a metric need not be defined.
    """

    def __init__(self, centres: Array, distances: Callable[[Array, Array], Array]) -> None:
        self.centres, self._distances = centres, distances

    def nearest(self, points: Array) -> Indices:
        """By looking at all."""
        return np.array([self._distances(point, self.centres).argmin() for point in points], np.int64)

    def pairs(self) -> tuple[Indices, Array]:
        """All pairs nearer than 2, in order."""
        between = np.array([self._distances(centre, self.centres) for centre in self.centres])
        pairs = np.argwhere(np.triu(between < 2.0, 1))
        return pairs, between[pairs[:, 0], pairs[:, 1]]
