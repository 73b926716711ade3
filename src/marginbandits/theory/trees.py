"""The sequential complexities themselves, computed from their definitions: for finite classes on small trees.

A class of N functions on M points is its N x M table of values. A tree of depth T has a point at every node; a path of
signs ε walks through it.

    Rad(F, T) = sup_x E_ε max_f Σ_t ε_t f(x_t(ε))
    N_∞(δ, F, T) = sup_x min{|V| : for every f and path ε some v in V has max_t |f(x_t(ε)) - v_t(ε)| <= δ}

The first is dynamic programming over the sums reached so far. The second recurses on trees: cover elements with the
same value at the root share it, and are free in either subtree. If n_c of them have value c at the root, each f is to
be given a c within δ of f(x), separately for the left and the right subtree, so that those given c have a cover of size
n_c there. Both take time exponential in T: they are definitions to be run, not tools.

Foster & Krishnamurthy (2018), sections 2.1 and 2.3; Rakhlin, Sridharan & Tewari (2015).

>>> sequential_rademacher([[1.0, -1.0], [-1.0, 1.0]], depth=2)  # f and -f: E|ε_1 + ε_2|
1.0
>>> sequential_covering_number([[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]], depth=2, scale=0.25)
3
"""

import functools
import itertools
from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt

from marginbandits.arrays import Numbers
from marginbandits.types import Array
from marginbandits.validation import Integer, Real, validated

__all__ = ["sequential_covering_number", "sequential_rademacher"]

Depth = Annotated[int, Integer(1, 20)]
Table = Annotated[npt.ArrayLike, Numbers(2, low=-1e100, high=1e100)]
MOST = 10**6
"""Steps beyond which a question is refused: its answer would take minutes, and the next one years."""
Functions: TypeAlias = frozenset[int]
Sizes: TypeAlias = frozenset[tuple[int, ...]]


@validated
def sequential_rademacher(values: Table, depth: Depth) -> float:
    """Sup over trees of E max_f Σ ε_t f(x_t(ε)), exactly, in (2M)^T steps at most."""
    table = np.asarray(values)
    _refuse_steps((2 * table.shape[1]) ** depth, table, depth)
    columns = [tuple(column) for column in table.T.tolist()]

    def moved(sums: tuple[float, ...], column: tuple[float, ...], sign: int) -> tuple[float, ...]:
        return tuple(s + sign * f for s, f in zip(sums, column, strict=True))

    @functools.cache
    def best(sums: tuple[float, ...], left: int) -> float:
        if left == 0:
            return max(sums)
        return max(0.5 * (best(moved(sums, c, 1), left - 1) + best(moved(sums, c, -1), left - 1)) for c in columns)

    return best((0.0,) * len(columns[0]), depth)


@validated
def sequential_covering_number(values: Table, depth: Depth, scale: Annotated[float, Real(0, 1e100)]) -> int:
    """Sup over trees of the size of the smallest sequential cover in the largest-coordinate norm, by enumeration."""
    table: Array = np.asarray(values)
    N, M = table.shape
    _refuse_steps(M ** (2**depth - 1) * min(N, 2 * M) ** (N if depth > 1 else 1), table, depth)
    everything = frozenset(range(N))
    layers = [[(point, -1, -1) for point in range(M)]]  # by depth: a point, and two trees of the layer before
    for _ in range(depth - 1):
        below = range(len(layers[-1]))
        layers.append([(point, left, right) for point in range(M) for left in below for right in below])

    @functools.cache
    def groups(point: int) -> tuple[Functions, ...]:
        """The functions within δ of one value at this point, for every value that no other makes needless."""
        v = table[:, point]
        near = {frozenset(np.flatnonzero((v >= low) & (v <= low + 2 * scale + 1e-12)).tolist()) for low in v}
        return tuple(one for one in near if not any(one < other for other in near))

    @functools.cache
    def size(functions: Functions, layer: int, tree: int) -> int:
        if not functions:
            return 0
        point, left, right = layers[layer][tree]
        centres = [one & functions for one in groups(point) if one & functions]
        if layer == 0:
            some = (c for n in itertools.count(1) for c in itertools.combinations(centres, n))
            return next(len(c) for c in some if functions <= frozenset().union(*c))
        sides = [needs(functions, tuple(centres), layer - 1, one) for one in (left, right)]
        return min(sum(map(max, a, b)) for a in sides[0] for b in sides[1])

    @functools.cache
    def needs(
        functions: Functions, centres: tuple[Functions, ...], layer: int, tree: int
    ) -> frozenset[tuple[int, ...]]:
        """For every way to give each function a centre: how many cover elements each centre needs in this subtree."""
        order = sorted(functions)
        choices = [[c for c, group in enumerate(centres) if f in group] for f in order]
        return frozenset(
            tuple(
                size(frozenset(f for f, c in zip(order, given, strict=True) if c == centre), layer, tree)
                for centre in range(len(centres))
            )
            for given in itertools.product(*choices)
        )

    return max(size(everything, depth - 1, tree) for tree in range(len(layers[-1])))


def _refuse_steps(steps: int, table: Array, depth: int) -> None:
    if steps > MOST:
        N, M = table.shape
        raise ValueError(f"depth must be smaller for {N} functions on {M} points: too many trees, got {depth}")
