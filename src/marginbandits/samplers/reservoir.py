"""A uniform sample of a stream of rounds, in memory that does not grow.

Each block (an action, or one for all) keeps up to `size` of its rounds; every round it has ever seen is as likely to be
among them as any other. A sum over all n rounds is then estimated without bias by n times the mean over those kept.

Vitter (1985), "Random sampling with a reservoir".

>>> import numpy as np
>>> kept = Reservoir(n_blocks=1, size=2, n_features=1)
>>> rng = np.random.default_rng(0)
>>> for value in (1.0, 2.0, 3.0):
...     kept.add(0, np.array([value]), 0.0, rng)
>>> kept.seen[0], len(kept.batch(0, 5, rng)[0])
(np.int64(3), 2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.types import Array

__all__ = ["Reservoir"]


class Reservoir:
    """`n_blocks` samples of `size` rounds each, in 4·n_blocks·size·n_features bytes: rows are kept as float32."""

    def __init__(self, n_blocks: int, size: int, n_features: int) -> None:
        self.rows = np.zeros((n_blocks, size, n_features), np.float32)
        self.losses = np.zeros((n_blocks, size))
        self.seen = np.zeros(n_blocks, np.int64)

    def add(self, block: int, row: Array, loss: float, rng: np.random.Generator) -> None:
        """Keep this round, or not, by chance."""
        size = self.losses.shape[1]
        seen = int(self.seen[block])
        slot = seen if seen < size else int(rng.integers(seen + 1))
        if slot < size:
            self.rows[block, slot] = row
            self.losses[block, slot] = loss
        self.seen[block] += 1

    def batch(self, block: int, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Rows and losses of all rounds kept, or if they are more than `n`, of `n` drawn from them."""
        held = min(int(self.seen[block]), self.losses.shape[1])
        chosen: slice | npt.NDArray[np.int64] = slice(held) if held <= n else rng.integers(held, size=n)
        return self.rows[block, chosen].astype(float), self.losses[block, chosen]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The live state."""
        return {"rows": self.rows, "losses": self.losses, "seen": self.seen}
