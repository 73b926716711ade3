"""ZᵀZ or ZZᵀ, the smaller, of rounds that are kept, found as they come: else what a leader takes longest to find.

It is found by stretches of rounds, each once and in order, and only what came after the last of them is found anew. So
it is the same, bit for bit, whether it was known or not: it needs no place in a file.

>>> import numpy as np
>>> grams, rows = Grams(Journal()), np.ones((100, 2))
>>> grams.of(0, rows, whole=True), grams.known[0][0]
(array([[100., 100.],
       [100., 100.]]), 64)
"""

import numpy as np

from marginbandits.state import Journal
from marginbandits.types import Array

__all__ = ["Grams"]

STRETCH, FEW = 64, 16
"""Rounds of a stretch: of a sum over rounds, and of products between them."""


class Grams:
    """Products of every block, up to 8d² bytes each."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.known: dict[int, tuple[int, Array]] = {}  # of each block, of how many of its first rounds

    def of(self, block: int, rows: Array, *, whole: bool) -> Array:
        """Of these rows of a block; `whole` says that they are all that ever were, so that none gave way.

        ZᵀZ where there are more rows than features, else ZZᵀ.
        """
        n, d = rows.shape
        known = self.known.get(block) if whole else None
        if known is not None and (n > d) != (known[0] > d):
            known = None  # it was the other
        count, found = (_summed if n > d else _crossed)(rows, known)
        if not whole:
            self._know({at: one for at, one in self.known.items() if at != block})
        elif (count > d) == (n > d):
            self._know({**self.known, block: (count, found)})
        rest = rows[count:]
        if n > d:
            return np.asarray(found + rest.T @ rest)
        out = np.empty((n, n))
        out[:count, :count] = found
        out[count:], out[:count, count:] = rest @ rows.T, rows[:count] @ rest.T
        return out

    def _know(self, known: dict[int, tuple[int, Array]]) -> None:
        """Another dictionary, so that the one before can be put back."""
        self.journal.keep_attribute(self, "known")
        self.known = known


def _summed(rows: Array, known: tuple[int, Array] | None) -> tuple[int, Array]:
    """ZᵀZ of all whole stretches, and how many rows they are."""
    count, total = known or (0, np.zeros((rows.shape[1],) * 2))
    end = len(rows) - len(rows) % STRETCH
    for start in range(count, end, STRETCH):
        stretch = rows[start : start + STRETCH]
        total = total + stretch.T @ stretch
    return end, total


def _crossed(rows: Array, known: tuple[int, Array] | None) -> tuple[int, Array]:
    """ZZᵀ of all whole stretches, and how many rows they are."""
    count, before = known or (0, np.zeros((0, 0)))
    end = len(rows) - len(rows) % FEW
    if end == count:
        return count, before
    found = np.empty((end, end))
    found[:count, :count] = before
    for start in range(count, end, FEW):
        stop = start + FEW
        part = rows[start:stop] @ rows[:stop].T
        found[start:stop, :stop], found[:stop, start:stop] = part, part.T
    return end, found
