"""A cover of Lipschitz scores for two actions: finitely many functions on a grid, one of them near any.

Scores (s, -s) with s: X → [-B, B] 1-Lipschitz on a box. On the centres of a grid of radius β = ε/2, values are middles
of stretches of length ε; those of neighbouring cells (diagonal ones included) are at most one stretch apart, for s
changes by no more than 2β = ε from centre to centre. So the nearest such function is within ε/2 at centres and ε
everywhere, and there are finitely many: about (2B/ε) 3^cells on a line. All are listed, up to `most`.

A context's features are then the indicators of its cell (`Cells`), and the functions are weights: N x 2 x cells.

>>> line = Cube([0.0], [1.0])
>>> lipschitz_cover(line, epsilon=0.5).shape
(10, 2, 2)
>>> Cells(line, radius=0.25).start(1, np.random.default_rng(0)).transform(np.array([[0.7]]))
array([[0., 1.]])
>>> lipschitz_cover(line, epsilon=0.02)
Traceback (most recent call last):
    ...
ValueError: epsilon must be larger: at 0.02 there are more than most=1000000 functions
"""

import math
from typing import Annotated

import numpy as np

from marginbandits.features import FeatureMap
from marginbandits.scores.lipschitz import Cube
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, Real, validated

__all__ = ["Cells", "lipschitz_cover"]


class Cells(FeatureMap):
    """Indicators of the cell of a grid over a box that a context is in; those outside count for the nearest cell."""

    @validated
    def __init__(self, space: Annotated[Cube, Instance(Cube)], radius: Annotated[float, Real(1e-9, 1e9)]) -> None:
        self.space, self.radius = space, radius

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        if n_inputs != self.space.width:
            raise ValueError(f"context must have the space's {self.space.width} coordinates, got {n_inputs}")
        self._grid = self.space.grid(self.radius)
        self.n_outputs = len(self._grid.centres)

    def _transform(self, rows: Array) -> Array:
        inside = np.clip(rows, self.space.low, self.space.high)
        return np.asarray(np.eye(self.n_outputs)[self._grid.nearest(inside)])


@validated
def lipschitz_cover(
    space: Annotated[Cube, Instance(Cube)],
    *,
    epsilon: Annotated[float, Real(1e-6, 1e6)],
    bound: Annotated[float, Real(1e-6, 1e6)] = 1.0,
    most: Annotated[int, Integer(1, 10**8)] = 1_000_000,
) -> Array:
    """The scores of every function of the cover in every cell: N x 2 x cells; `bound` is B."""
    grid = space.grid(0.5 * epsilon)
    n, stretches = len(grid.centres), max(1, math.ceil(2.0 * bound / epsilon - 1e-9))
    before: list[list[int]] = [[] for _ in range(n)]
    for one, other in grid.pairs()[0].tolist():
        before[max(one, other)].append(min(one, other))
    found = np.arange(stretches, dtype=np.int16)[:, None]
    steps = np.arange(stretches, dtype=np.int16)
    for cell in range(1, n):
        if len(found) * stretches > 50 * most:  # no more are looked at
            raise _too_many(epsilon, most)
        near = np.ones((len(found), stretches), bool)
        for neighbour in before[cell]:
            near &= np.abs(found[:, [neighbour]] - steps) <= 1
        row, value = np.nonzero(near)
        if len(row) > most:
            raise _too_many(epsilon, most)
        found = np.column_stack([found[row], steps[value]])
    middle = np.clip(epsilon * (found + 0.5) - 0.5 * epsilon * stretches, -bound, bound)
    return np.stack([middle, -middle], 1)


def _too_many(epsilon: float, most: int) -> ValueError:
    return ValueError(f"epsilon must be larger: at {epsilon:g} there are more than most={most} functions")
