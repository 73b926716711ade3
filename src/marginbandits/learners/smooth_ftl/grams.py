"""ZᵀZ of rounds that are kept, found as they come: what a leader of many rounds takes longest to find.

It is summed by stretches of `STRETCH` rounds, each once and in order, and only what came after the last of them is
summed anew. So it is the same sum, bit for bit, whether it was known or not: it needs no place in a file.

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

STRETCH = 64


class Grams:
    """Sums of blocks with more rounds than features: another 8d² bytes each."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.known: dict[int, tuple[int, Array]] = {}  # of each block, of how many of its first rounds

    def of(self, block: int, rows: Array, *, whole: bool) -> Array:
        """ZᵀZ of these rows of a block; `whole` says that they are all that ever were, so that none gave way."""
        n, d = rows.shape
        end = n - n % STRETCH
        first, total = self.known.get(block, (0, np.zeros((d, d)))) if whole else (0, np.zeros((d, d)))
        for start in range(first, end, STRETCH):
            stretch = rows[start : start + STRETCH]
            total = total + stretch.T @ stretch
        if whole and end > first:  # another dictionary, so that the one before can be put back
            self.journal.keep_attribute(self, "known")
            self.known = {**self.known, block: (end, total)}
        elif not whole and block in self.known:
            self.journal.keep_attribute(self, "known")
            self.known = {at: one for at, one in self.known.items() if at != block}
        rest = rows[end:]
        return np.asarray(total + rest.T @ rest)
