"""Which keys have been seen, with what loss: 16 bytes a round, and nothing else of it is kept.

A key is kept as a hash of 64 bits beside its loss, in sorted runs that are merged when they have grown alike, so that
each round is moved log n times at most. Among n different keys some two share a hash with probability below n²/2^65:
3e-8 for a million, 3e-4 for a hundred million.

>>> seen = Seen()
>>> seen.add(["a", "b", "a"], np.array([0.0, 1.0, 0.5]))
array([nan, nan,  0.])
>>> seen.add(["b"], np.array([1.0])), seen.n_bytes
(array([1.]), 32)
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.types import Array

__all__ = ["Seen"]

Hashes = npt.NDArray[np.uint64]


class Seen:
    """A set of keys that remembers the loss each came with first."""

    def __init__(self) -> None:
        self._runs: list[tuple[Hashes, Array]] = []

    @property
    def n_bytes(self) -> int:
        """Memory that the keys take."""
        return sum(hashes.nbytes + losses.nbytes for hashes, losses in self._runs)

    def hashes(self) -> Hashes:
        """Of all keys."""
        return np.concatenate([np.empty(0, np.uint64), *(known for known, _ in self._runs)])

    def add(self, keys: Sequence[Any], losses: Array) -> Array:
        """The loss that each key came with before, NaN if it is new; new ones are kept."""
        hashes = np.array([_hash(key) for key in keys], np.uint64)
        before = np.full(len(hashes), np.nan)
        for known, given in self._runs:
            at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            before = np.where(known[at] == hashes, given[at], before)
        new = np.flatnonzero(np.isnan(before))
        found, first, inverse = np.unique(hashes[new], return_index=True, return_inverse=True)
        again = first[inverse] != np.arange(len(new))  # not the first of its key among these
        before[new[again]] = losses[new[first[inverse[again]]]]
        if len(found):
            self._runs.append((found, losses[new[first]]))
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            (one, given), (other, also) = self._runs.pop(), self._runs.pop()
            order = np.argsort(together := np.concatenate([one, other]), kind="stable")
            self._runs.append((together[order], np.concatenate([given, also])[order]))
        return before


def _hash(key: Any) -> int:
    """64 bits of a key; 1 and "1" are two."""
    text = f"{type(key).__name__}:{key}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
