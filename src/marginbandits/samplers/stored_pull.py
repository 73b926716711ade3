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
from marginbandits.factors import dot
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
    even = last - (last - first) % 2
    for i in range(start, end):
        row = rows[i]
        for k in range(first, even, 2):  # two particles at once
            p, q = particles[k], particles[k + 1]
            s, t = zero, zero
            for j in range(d):
                s += p[j] * row[j]
                t += q[j] * row[j]
            _change(slopes[k], total[k], i, row, s, losses[i], margin, squared)
            _change(slopes[k + 1], total[k + 1], i, row, t, losses[i], margin, squared)
        if even < last:
            _change(slopes[even], total[even], i, row, dot(particles[even], row), losses[i], margin, squared)


@kernel
def _change(
    slopes: Array, total: Array, i: int, row: Array, score: float, loss: float, margin: float, squared: bool
) -> None:
    """Remember the slope of round i as it is now, and move the sum by what changed."""
    then = slopes[i]
    now = min(max(slope(score, loss, margin, squared), -FARTHEST), FARTHEST)
    if now != then:
        slopes[i] = now
        for j in range(row.shape[0]):
            total[j] += (now - then) * row[j]
