"""A uniform sample of a stream of rounds, in memory that does not grow, looked at again in turn.

Each block (an action, or one for all) keeps up to `size` of its rounds; every round it has ever seen is as likely to be
among them as any other. A sum over all n rounds is then estimated without bias by n times the mean over those kept.

Vitter (1985), "Random sampling with a reservoir".

>>> import numpy as np
>>> kept = Reservoir(n_blocks=1, size=2, n_features=1)
>>> rng = np.random.default_rng(0)
>>> for value in (1.0, 2.0, 3.0):
...     slot = kept.slot(0, rng)
...     if slot >= 0:
...         kept.rows[0, slot] = value
>>> int(kept.seen[0]), kept.held(0), kept.stretch(0, 5)
(3, 2, slice(0, 2, None))
"""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Reservoir"]


class Reservoir:
    """`n_blocks` samples of `size` rounds each, in 8·n_blocks·size·n_features bytes."""

    def __init__(self, n_blocks: int, size: int, n_features: int) -> None:
        self.rows = np.zeros((n_blocks, size, n_features))
        self.losses = np.zeros((n_blocks, size))
        self.seen = np.zeros(n_blocks, np.int64)
        self.next = np.zeros(n_blocks, np.int64)  # where the next stretch begins

    def held(self, block: int) -> int:
        """Rounds kept."""
        return min(int(self.seen[block]), self.losses.shape[1])

    def slot(self, block: int, rng: np.random.Generator) -> int:
        """Count one more round, and say where to keep it: -1 is nowhere; what else is there gives way."""
        seen, size = int(self.seen[block]), self.losses.shape[1]
        self.seen[block] += 1
        at = seen if seen < size else int(rng.integers(seen + 1))
        return at if at < size else -1

    def stretch(self, block: int, n: int) -> slice:
        """The next `n` rounds kept, or as many as are left before it begins again."""
        held = self.held(block)
        start = int(self.next[block])
        start = start if start < held else 0
        self.next[block] = start + n
        return slice(start, min(start + n, held))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The live state."""
        return {"rows": self.rows, "losses": self.losses, "seen": self.seen, "next": self.next}
