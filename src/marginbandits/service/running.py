"""Confidence sequences that run: the interval of `evaluation.off_policy.sequences`, from sums that never grow.

For a term X >= 0 whose mean, given all before, is m_i in [0, 1], and a guess made before it,

    Σ X_i - u(Σ (X_i - guess_i)²)

is below Σ m_i at all times at once, but with probability `doubt`. Three numbers are all that it needs. What is bounded
is the *mean of the m_i so far*: where a learner gets better it moves, and an interval may leave those before it.

A term has a weight w, whose mean is 1, and an outcome y in [0, 1]; for the difference of two policies it has weights w
and u, and a share τ of such rounds in which they choose otherwise. Where the log never takes what a policy would take,
means are smaller, and the interval holds all the same.

>>> one = Running()
>>> for y in [0.0, 1.0] * 200:
...     one.add(y)
>>> found = intervals([one])[0]
>>> found.n, round(found.low, 3), round(found.value, 3), round(found.high, 3)
(400, 0.405, 0.5, 0.595)
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from marginbandits.evaluation.off_policy.sequences import boundary

__all__ = ["LEVEL", "Interval", "Running", "intervals"]

LEVEL = 0.95


class _Below(msgspec.Struct, array_like=True):
    """What a bound from below is made of."""

    n: int = 0
    total: float = 0.0
    spread: float = 0.0

    def add(self, x: float) -> None:
        guess = min((self.total + 0.5) / (self.n + 1), 1.0)
        self.n, self.total, self.spread = self.n + 1, self.total + x, self.spread + (x - guess) ** 2


class Interval(msgspec.Struct, frozen=True):
    """A mean of `n` terms so far, and what it is between, at all times together."""

    n: int
    value: float
    low: float
    high: float


class Running(msgspec.Struct, array_like=True):
    """A policy's reward so far, or the difference of two policies' rewards, both ways."""

    paired: bool = False
    up: _Below = msgspec.field(default_factory=_Below)
    down: _Below = msgspec.field(default_factory=_Below)

    def add(self, y: float, w: float = 1.0) -> None:
        """An outcome in [0, 1], and its weight."""
        self.up.add(w * y)
        self.down.add(w * (1.0 - y))

    def add_pair(self, y: float, w: float, u: float, distance: float) -> None:
        """An outcome in [0, 1], its weights by both policies, and how far apart these are in such a round."""
        gap, rest = w - u, 1.0 - distance
        self.up.add((gap * y + max(-gap, 0.0) + rest) / 2.0)
        self.down.add((-gap * y + max(gap, 0.0) + rest) / 2.0)

    def copy(self) -> "Running":
        """As it is now."""
        return Running(self.paired, msgspec.structs.replace(self.up), msgspec.structs.replace(self.down))


def intervals(several: Sequence[Running], level: float = LEVEL) -> list[Interval]:
    """Of each its mean and interval, which holds at all times with probability `level`."""
    spreads = np.array([[one.up.spread, one.down.spread] for one in several]).reshape(-1, 2)
    return [_interval(one, *room) for one, room in zip(several, boundary(spreads, (1.0 - level) / 2.0), strict=True)]


def _interval(one: Running, above: float, below: float) -> Interval:
    n, up, down, least = one.up.n, one.up.total, one.down.total, -1.0 if one.paired else 0.0
    if n == 0:
        return Interval(0, (least + 1.0) / 2.0, least, 1.0)
    scale = 1.0 - least
    low = min(max(scale * (up - above) / n + least, least), 1.0)
    high = max(min(1.0 - scale * (down - below) / n, 1.0), least)
    weights = up + down
    alone = up / weights if weights > 0.0 else 0.5
    value = (up - down) / n if one.paired else alone
    return Interval(n, float(min(max(value, low), high)), float(low), float(high))
