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
from typing import Any

from marginbandits.compiled import kernel
from marginbandits.factors import dot
from marginbandits.lanes import each, line, total, width
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
    fours, pairs = end - (end - start) % 4, last - (last - first) % 2
    for k in range(first, pairs, 2):  # two particles, and four rounds, at once
        p, q, own, other, pull, moved = particles[k], particles[k + 1], slopes[k], slopes[k + 1], total[k], total[k + 1]
        for i in range(start, fours, 4):
            s0, s1, s2, s3, t0, t1, t2, t3 = _eight(rows, i, p, q)
            _change(own, pull, i, rows[i], s0, losses[i], margin, squared)
            _change(own, pull, i + 1, rows[i + 1], s1, losses[i + 1], margin, squared)
            _change(own, pull, i + 2, rows[i + 2], s2, losses[i + 2], margin, squared)
            _change(own, pull, i + 3, rows[i + 3], s3, losses[i + 3], margin, squared)
            _change(other, moved, i, rows[i], t0, losses[i], margin, squared)
            _change(other, moved, i + 1, rows[i + 1], t1, losses[i + 1], margin, squared)
            _change(other, moved, i + 2, rows[i + 2], t2, losses[i + 2], margin, squared)
            _change(other, moved, i + 3, rows[i + 3], t3, losses[i + 3], margin, squared)
    for k in range(first, last):
        for i in range(fours if k < pairs else start, end):
            _change(slopes[k], total[k], i, rows[i], dot(particles[k], rows[i]), losses[i], margin, squared)


@kernel
def _eight(rows: Array, i: int, p: Array, q: Array) -> Any:
    """Scores of two particles in four rounds from i on."""
    r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
    u0 = u1 = u2 = u3 = v0 = v1 = v2 = v3 = each(p.dtype.type(0.0))
    d, many = p.shape[0], width(p)
    wide = d - d % many
    for j in range(0, wide, many):
        x, y, z0, z1, z2, z3 = line(p, j), line(q, j), line(r0, j), line(r1, j), line(r2, j), line(r3, j)
        u0, u1, u2, u3 = u0 + z0 * x, u1 + z1 * x, u2 + z2 * x, u3 + z3 * x
        v0, v1, v2, v3 = v0 + z0 * y, v1 + z1 * y, v2 + z2 * y, v3 + z3 * y
    s0, s1, s2, s3, t0, t1, t2, t3 = (
        total(u0),
        total(u1),
        total(u2),
        total(u3),
        total(v0),
        total(v1),
        total(v2),
        total(v3),
    )
    for j in range(wide, d):
        s0 += r0[j] * p[j]
        s1 += r1[j] * p[j]
        s2 += r2[j] * p[j]
        s3 += r3[j] * p[j]
        t0 += r0[j] * q[j]
        t1 += r1[j] * q[j]
        t2 += r2[j] * q[j]
        t3 += r3[j] * q[j]
    return s0, s1, s2, s3, t0, t1, t2, t3


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
