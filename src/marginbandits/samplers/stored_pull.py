"""The margin's pull over all rounds kept, for the price of a minibatch, and without a minibatch's noise.

A particle's pull is ∇V = Σ_i c_i z_i, where c_i is 0 within the margin (see `particles.slopes`). Every c_i is
remembered as it was when round i was last looked at. A minibatch is looked at again, and the sum moves by what changed:

    ∇V <- ∇V + Σ_{i in batch} (c_i now - c_i then) z_i

A plain minibatch estimate would be multiplied by the number of rounds over the minibatch's size, and so would its
noise: after enough rounds there would be nothing else. Here the noise vanishes as particles settle.

Schmidt, Le Roux & Bach (2017), "Minimizing finite sums with the stochastic average gradient"; Dubey et al. (2016),
"Variance reduction in stochastic gradient Langevin dynamics".
"""

from collections.abc import Mapping

import numpy as np

from marginbandits.samplers.particles import slopes
from marginbandits.state import Field, Journal, Record, zeros
from marginbandits.types import Array

__all__ = ["FARTHEST", "StoredPull"]

FARTHEST = 1e6
"""How far beyond its margin a score may pull: a slope is cut down to this."""


class StoredPull(Record):
    """Slopes of `size` rounds and their sum, for `n_particles` in each of `n_blocks`."""

    def __init__(self, n_blocks: int, n_particles: int, size: int, n_features: int) -> None:
        self.slopes = zeros((n_blocks, n_particles, size))
        self.total = zeros((n_blocks, n_particles, n_features))
        self.attach(Journal())

    def begin(self) -> None:
        """As if no round had been looked at."""
        self.slopes[...] = self.total[...] = 0.0

    def forget(self, block: int, slot: int, row: Array) -> None:
        """Take out the round that was kept there; an empty place has slope 0."""
        if self.slopes[block, :, slot].any():
            self.journal.keep(self.total, block)
            self.journal.keep(self.slopes, (block, slice(None), slot))
            self.total[block] -= self.slopes[block, :, slot, None] * row
            self.slopes[block, :, slot] = 0.0

    def refresh(
        self,
        block: int,
        which: slice,
        at: slice,
        particles: Array,
        rows: Array,
        losses: Array,
        margin: float,
        squared: bool,
    ) -> None:
        """Look at the rounds `at` again for the particles `which`: two matrix products over all of them."""
        then, scores = self.slopes[block, which, at], particles @ rows.T
        now = np.empty(then.shape)
        if slopes(scores, losses, margin, squared, then, now):
            self.journal.keep(self.total, (block, which))
            self.journal.keep(self.slopes, (block, which, at))
            np.clip(now, -FARTHEST, FARTHEST, out=now)
            self.total[block, which] += (now - then) @ rows
            self.slopes[block, which, at] = now

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "slopes": Field(self.slopes, -FARTHEST, FARTHEST, per_block=True),
            "total": Field(self.total, per_block=True),
        }
