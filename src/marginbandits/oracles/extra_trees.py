"""Extremely randomised trees of a number, grown and walked in kernels.

A node looks at `n_columns` columns that vary in it, drawn at random, draws one threshold for each, uniform between the
least and the largest value there, and takes the one that leaves the least squared error on both sides. It is split
until all its targets, or all its rows, are alike. Every tree sees every row; their mean is the prediction.

scikit-learn's `ExtraTreesRegressor` is the same, and what the tests compare with. It takes 0.5 ms for a tree however
small, and milliseconds for one row's prediction; a bandit fits hundreds of small forests and predicts a row at a time.
And what is fitted again from a file must be the same tree, whatever the version of a library.

Geurts, Ernst & Wehenkel (2006), "Extremely randomized trees".

>>> import numpy as np
>>> rows = np.array([[0.0], [1.0], [2.0], [3.0]], np.float32)
>>> forest = grow(rows, np.array([0.0, 1.0, 1.0, 0.0], np.float32), n_trees=5, n_columns=1, seed=0)
>>> out = np.empty(4)
>>> walk(rows, False, np.arange(5), *joined([forest]), out)
>>> out
array([0., 1., 1., 0.])
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel, long_kernel
from marginbandits.types import Array

__all__ = ["Forest", "grow", "joined", "walk"]

Places = npt.NDArray[np.int64]
Small = npt.NDArray[np.float32]


class Forest(NamedTuple):
    """Trees as one table of nodes, the right child of each next to its left one."""

    columns: npt.NDArray[np.int32]  # -1 at a leaf
    thresholds: Small  # to the left goes what is at most that
    children: npt.NDArray[np.int32]  # the left one
    means: Small
    roots: Places  # where each tree begins, blocks x trees; -1 where a block has none


def grow(rows: Small, targets: Small, *, n_trees: int, n_columns: int, seed: int) -> Forest:
    """A forest of one block; the same rows and seed give the same trees."""
    n = len(rows)
    size = n_trees * (2 * n - 1)  # no tree has more leaves than rows
    columns, children = np.empty(size, np.int32), np.empty(size, np.int32)
    thresholds, means = np.empty(size, np.float32), np.empty(size, np.float32)
    roots = np.empty((1, n_trees), np.int64)
    used = _grow(
        np.ascontiguousarray(rows.T), targets, n_columns, seed % 2**32, columns, thresholds, children, means, roots[0]
    )
    return Forest(columns[:used].copy(), thresholds[:used].copy(), children[:used].copy(), means[:used].copy(), roots)


def joined(forests: Sequence[Forest | None]) -> Forest:
    """Forests of several blocks as one; None is a block without."""
    there = [one for one in forests if one is not None]
    if not there:
        none, numbers = np.zeros(0, np.int32), np.zeros(0, np.float32)
        return Forest(none, numbers, none, numbers, np.full((len(forests), 1), -1))
    sizes = np.cumsum([0, *(len(one.columns) for one in there)])
    at = iter(sizes)
    missing = np.full(there[0].roots.shape[1], -1)
    roots = np.array([missing if one is None else one.roots[0] + next(at) for one in forests])
    columns, thresholds, _, means = (np.concatenate(arrays) for arrays in zip(*(one[:4] for one in there), strict=True))
    children = np.concatenate([one.children + np.int32(start) for one, start in zip(there, sizes, strict=False)])
    return Forest(columns, thresholds, children, means, roots)


@kernel
def _next(state: np.uint64) -> np.uint64:
    """A pseudo-random number of 64 bits after this one (Steele, Lea & Flood 2014, "splitmix64")."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@long_kernel
def _grow(
    values: Small,
    targets: Small,
    n_columns: int,
    seed: int,
    columns: npt.NDArray[np.int32],
    thresholds: Small,
    children: npt.NDArray[np.int32],
    means: Small,
    roots: Places,
) -> int:
    d, n = values.shape
    order, stack, which = np.empty(n, np.int32), np.empty((n, 3), np.int64), np.arange(d)
    xs, ys = np.empty(n, np.float32), np.empty(n, np.float32)
    zero, one = np.float32(0.0), np.float32(1.0)
    draws, used = _next(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)), 0
    for tree in range(roots.shape[0]):
        roots[tree] = used
        for i in range(n):
            order[i] = i
        stack[0, 0], stack[0, 1], stack[0, 2], waiting = 0, n, used, 1
        used += 1
        while waiting > 0:
            waiting -= 1
            start, end, node = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
            size = end - start
            here, x, y = order[start:end], xs[:size], ys[:size]
            for i in range(size):
                y[i] = targets[here[i]]
            total, low, high = zero, y[0], y[0]
            for i in range(size):
                total += y[i]
                low, high = min(low, y[i]), max(high, y[i])
            columns[node], thresholds[node], children[node] = -1, 0.0, 0
            means[node] = total / size
            if low == high:
                continue
            best, column, threshold, tried = -1.0, -1, np.float32(0.0), 0
            for k in range(d):
                if tried == n_columns:
                    break
                draws += np.uint64(0x9E3779B97F4A7C15)
                other = k + np.int64(_next(draws) % np.uint64(d - k))
                j = which[other]
                which[other], which[k] = which[k], j
                own = values[j]
                for i in range(size):
                    x[i] = own[here[i]]
                least = most = x[0]
                for i in range(size):
                    least, most = min(least, x[i]), max(most, x[i])
                if least == most:
                    continue
                tried += 1
                draws += np.uint64(0x9E3779B97F4A7C15)
                share = np.float64(_next(draws) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                cut = np.float32(least + share * (np.float64(most) - least))
                if cut >= most:  # rounding: at least one row must be above
                    cut = least
                count, left = zero, zero
                for i in range(size):
                    below = one if x[i] <= cut else zero
                    count += below
                    left += below * y[i]
                below_sum, above_sum = np.float64(left), np.float64(total) - left
                gain = below_sum * below_sum / count + above_sum * above_sum / (size - count)
                if gain > best:
                    best, column, threshold = gain, j, cut
            if column < 0:
                continue
            middle = start
            for i in range(start, end):
                moving = order[i]
                if values[column, moving] <= threshold:
                    order[i], order[middle] = order[middle], moving
                    middle += 1
            columns[node], thresholds[node], children[node] = column, threshold, used
            stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = start, middle, used
            stack[waiting + 1, 0], stack[waiting + 1, 1], stack[waiting + 1, 2] = middle, end, used + 1
            used, waiting = used + 2, waiting + 2
    return used


@kernel
def walk(
    rows: Small,
    shared: bool,
    starts: Places,
    columns: npt.NDArray[np.int32],
    thresholds: Small,
    children: npt.NDArray[np.int32],
    means: Small,
    roots: Places,
    out: Array,
) -> None:
    """The mean of its block's trees for each action of each context, laid out as a batch is; 0.5 without trees."""
    n_trees = roots.shape[1]
    for i in range(starts.shape[0] - 1):
        for a in range(starts[i + 1] - starts[i]):
            k = starts[i] + a
            row, block, total = rows[k if shared else i], 0 if shared else a, 0.5 * n_trees
            if roots[block, 0] >= 0:
                total = 0.0
                for t in range(n_trees):
                    node = roots[block, t]
                    while columns[node] >= 0:
                        node = children[node] + (row[columns[node]] > thresholds[node])
                    total += means[node]
            out[k] = total / n_trees
