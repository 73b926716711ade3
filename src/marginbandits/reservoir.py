"""A uniform sample of a stream of rounds, in memory that does not grow, looked at again in turn.

Each block (an action, or one for all) keeps up to `size` of its rounds; every round it has ever seen is as likely to be
among them as any other.

Vitter (1985), "Random sampling with a reservoir".

>>> import numpy as np
>>> kept = Reservoir(n_blocks=1, size=2, n_features=1)
>>> rng = np.random.default_rng(0)
>>> for value in (1.0, 2.0, 3.0):
...     _ = kept.keep(0, np.array([value]), 0.0, rng.standard_normal())
>>> int(kept.seen[0]), kept.held(0)
(3, 2)
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.state import COUNT, Field, Journal, Record, zeros
from marginbandits.types import Array

__all__ = ["Reservoir"]

Places = npt.NDArray[np.int64]


class Reservoir(Record):
    """`n_blocks` samples of `size` rounds each, in 8·n_blocks·size·n_features bytes; half of that in single precision.

    It keeps itself what a round changes.
    """

    def __init__(self, n_blocks: int, size: int, n_features: int, dtype: type[np.floating[Any]] = np.float64) -> None:
        self.rows: Array = zeros((n_blocks, size, n_features), dtype)
        self.losses = zeros((n_blocks, size))
        self.seen = np.zeros(n_blocks, np.int64)
        self.next = np.zeros(n_blocks, np.int64)  # where the next stretch begins
        # Of the last round: the row that gave way; its loss, the stamp, block, slot, seen and next before.
        self.gone, self.before = zeros((n_features,), dtype), np.zeros(6)
        self.attach(Journal())

    def begin(self) -> None:
        """Nothing seen."""
        for block in range(len(self.seen)):
            n = self.held(block)
            self.rows[block, :n], self.losses[block, :n] = 0.0, 0.0
        self.seen[...], self.next[...] = 0, 0

    def held(self, block: int) -> int:
        """Rounds kept."""
        return min(int(self.seen[block]), int(self.losses.shape[1]))

    def keep(self, block: int, row: Array, loss: float, normal: float) -> int:
        """Count one more round of a block, and say where it is kept, by a standard normal draw: -1 is nowhere."""
        arrays = self.rows, self.losses, self.seen, self.next
        return put(*arrays, block, row, loss, normal, self.gone, self.before, self.journal.stamp)

    def keep_all(self) -> None:
        """Put everything into the journal: of most places only that nothing was ever there."""
        for block in range(len(self.seen)):
            n = self.held(block)
            self.journal.keep(self.rows, (block, slice(n)))
            self.journal.keep_none(self.rows, (block, slice(n, None)))
        for array in (self.losses, self.seen, self.next):
            self.journal.keep(array)

    def undo(self, stamp: int) -> None:
        """Take the last round out again."""
        if self.before[1] == stamp:
            loss, _, at, slot, seen, following = self.before.tolist()
            block = int(at)
            if slot >= 0:
                self.rows[block, int(slot)], self.losses[block, int(slot)] = self.gone, loss
            self.seen[block], self.next[block] = int(seen), int(following)

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "rows": Field(self.rows, -1e101, 1e101, per_block=True),
            "losses": Field(self.losses, 0.0, 1.0, per_block=True),
            "seen": Field(self.seen, 0, COUNT, per_block=True),
            "next": Field(self.next, 0, COUNT, per_block=True),
        }


@kernel
def chosen(seen: int, size: int, normal: float) -> int:
    """Where to keep the round after so many, or -1; a uniform draw is made of a standard normal one."""
    if seen < size:
        return seen
    at = int(0.5 * math.erfc(-normal / math.sqrt(2.0)) * (seen + 1.0))
    return at if at < size else -1


@kernel
def put(
    rows: Array,
    losses: Array,
    seen: Places,
    following: Places,
    block: int,
    row: Array,
    loss: float,
    normal: float,
    gone: Array,
    before: Array,
    stamp: int,
) -> int:
    """Count one more round of a block, and keep it where there is room or what is there gives way; -1 is nowhere."""
    slot = chosen(seen[block], losses.shape[1], normal)
    before[1], before[2], before[3], before[4], before[5] = stamp, block, slot, seen[block], following[block]
    seen[block] = min(seen[block] + 1, COUNT)
    if slot >= 0:
        before[0] = losses[block, slot]
        for j in range(row.shape[0]):
            gone[j] = rows[block, slot, j]
            rows[block, slot, j] = row[j]
        losses[block, slot] = loss
    return slot


@kernel
def stretch(following: Places, block: int, held: int, n: int) -> tuple[int, int]:
    """The next `n` rounds kept, or as many as are left before it begins again: the first, and one after the last."""
    start = following[block] if following[block] < held else 0
    following[block] = start + n
    return start, min(start + n, held)
