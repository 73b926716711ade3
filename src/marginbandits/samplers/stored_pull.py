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

from marginbandits.compiled import kernel
from marginbandits.samplers.particles import slope
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

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "slopes": Field(self.slopes, -FARTHEST, FARTHEST, per_block=True),
            "total": Field(self.total, per_block=True),
        }


@kernel
def forget(slopes: Array, total: Array, slot: int, row: Array) -> None:
    """Take out of a block the round that was kept there; an empty place has slope 0."""
    for k in range(slopes.shape[0]):
        if slopes[k, slot] != 0.0:
            for j in range(row.shape[0]):
                total[k, j] -= slopes[k, slot] * row[j]
            slopes[k, slot] = 0.0


@kernel
def refresh(
    slopes: Array,
    total: Array,
    particles: Array,
    rows: Array,
    losses: Array,
    first: int,
    last: int,
    start: int,
    end: int,
    margin: float,
    squared: bool,
) -> None:
    """Look at a block's rounds from `start` to `end` again, for its particles from `first` to `last`."""
    d, zero = rows.shape[1], rows.dtype.type(0.0)
    full = end - (end - start) % 4
    for i in range(start, full, 4):  # four rounds at once
        r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for k in range(first, last):
            particle, then, pull = particles[k], slopes[k], total[k]
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(d):
                s0 += particle[j] * r0[j]
                s1 += particle[j] * r1[j]
                s2 += particle[j] * r2[j]
                s3 += particle[j] * r3[j]
            c0 = _changed(then, i, s0, losses[i], margin, squared)
            c1 = _changed(then, i + 1, s1, losses[i + 1], margin, squared)
            c2 = _changed(then, i + 2, s2, losses[i + 2], margin, squared)
            c3 = _changed(then, i + 3, s3, losses[i + 3], margin, squared)
            if c0 != 0.0 or c1 != 0.0 or c2 != 0.0 or c3 != 0.0:
                for j in range(d):
                    pull[j] += c0 * r0[j] + c1 * r1[j] + c2 * r2[j] + c3 * r3[j]
    for i in range(full, end):
        for k in range(first, last):
            s0 = zero
            for j in range(d):
                s0 += particles[k, j] * rows[i, j]
            c0 = _changed(slopes[k], i, s0, losses[i], margin, squared)
            if c0 != 0.0:
                for j in range(d):
                    total[k, j] += c0 * rows[i, j]


@kernel
def _changed(slopes: Array, i: int, score: float, loss: float, margin: float, squared: bool) -> float:
    """Remember the slope of round i as it is now; by how much it is not what it was."""
    then = slopes[i]
    slopes[i] = min(max(slope(score, loss, margin, squared), -FARTHEST), FARTHEST)
    return slopes[i] - then
