"""ZᵀZ or ZZᵀ, the smaller, of rounds that are kept, found as they come: else what a leader takes longest to find.

It is found by stretches of rounds, each once and in order, and only what came after the last of them is found anew. So
it is the same, bit for bit, whether it was known or not: it needs no place in a file.

>>> import numpy as np
>>> grams, rows = Grams(1, 200, 2, Journal()), np.ones((100, 2))
>>> grams.of(0, rows, whole=True), grams.known[0].count
(array([[100., 100.],
       [100., 100.]]), 64)
"""

import numpy as np

from marginbandits.state import Journal, zeros
from marginbandits.types import Array

__all__ = ["Grams"]

STRETCH, FEW = 64, 16
"""Rounds of a stretch: of a sum over rounds, and of products between them."""


class _Known:
    """Of how many first rounds of a block something is known."""

    count = 0


class Grams:
    """Products of `n_blocks`, for up to `size` rounds of d features each: 8 n_blocks min(size, d)² bytes."""

    def __init__(self, n_blocks: int, size: int, n_features: int, journal: Journal) -> None:
        self.products = zeros((n_blocks, min(size, n_features), min(size, n_features)))
        self.known = [_Known() for _ in range(n_blocks)]
        self.journal = journal

    def of(self, block: int, rows: Array, *, whole: bool) -> Array:
        """Of these rows of a block; `whole` says that they are all that ever were, so that none gave way.

        ZᵀZ where there are more rows than features, else ZZᵀ.
        """
        n, d = rows.shape
        known, summed = self.known[block], n > d
        if not whole:
            return np.asarray(rows.T @ rows if summed else rows @ rows.T)
        count = known.count if (known.count > d) == summed else 0  # else it was the other
        known.count = 0  # which is what is left of it if the round is taken back
        self.journal.keep_attribute(known, "count")
        end = n - n % (STRETCH if summed else FEW)
        found = self.products[block] if summed else self.products[block, :end, :end]
        (_sum if summed else _cross)(rows, count, end, found)
        known.count = end if (end > d) == summed else 0
        rest = rows[end:]
        if summed:
            return np.asarray(found + rest.T @ rest)
        out = np.empty((n, n))
        out[:end, :end] = found
        out[end:], out[:end, end:] = rest @ rows.T, rows[:end] @ rest.T
        return out


def _sum(rows: Array, start: int, end: int, found: Array) -> None:
    """ZᵀZ, from what it is after `start` rows to what it is after `end`."""
    if start == 0:
        found[...] = 0.0
    for at in range(start, end, STRETCH):
        stretch = rows[at : at + STRETCH]
        found += stretch.T @ stretch


def _cross(rows: Array, start: int, end: int, found: Array) -> None:
    """ZZᵀ, from what it is after `start` rows to what it is after `end`."""
    for at in range(start, end, FEW):
        stop = at + FEW
        part = rows[at:stop] @ rows[:stop].T
        found[at:stop, :stop], found[:stop, at:stop] = part, part.T
