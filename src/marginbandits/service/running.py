"""Confidence sequences that run: the interval of `evaluation.off_policy.sequences`, from sums that never grow.

For a term X >= 0 whose mean, given all before, is m_i in [0, 1], and a guess made before it,

    Σ X_i - u(Σ (X_i - guess_i)²)

is below Σ m_i at all times at once, but with probability `doubt`. Three numbers are all that it needs. What is bounded
is the *mean of the m_i so far*: where a learner gets better it moves, and an interval may leave those before it.

A term has a weight w, whose mean is 1, and an outcome y in [0, 1]; for the difference of two policies it has weights w
and u, and a share τ of such rounds in which they choose otherwise. There are two ways to make terms of them.

*Weights of which no bound is known.* The terms are those of `sequences`: wy and w(1 - y), for a difference with τ.
Where the log never takes what a policy would take, means are smaller, and the interval holds all the same.

*Weights of at most `most`*, as they are where a share h is held back (1/h) or where nothing is weighed (1). As means of
weights are 1, whatever c was guessed before, so are the means of

    c + w (y - c)    the policy's reward        (1 + (w - u)(y - c)) / 2    the difference, halved

and with c near the rewards that weights fall on, their spread is that of rewards: 0.03 where one of 33 visitors clicks,
in place of 0.97 where it is the others that are weighed. Terms are at least 1 - `most`, less than the guess by at most
`most` (half of 1 + `most` for a difference); in such units they are as above. One sequence for the difference reaches
some 3.5 standard errors to each side, where two that are added reach 5.

>>> one = Running(most=1.0)
>>> for y in [0.0, 1.0] * 200:
...     one.add(y)
>>> found = intervals([one])[0]
>>> found.n, round(found.low, 3), round(found.value, 3), round(found.high, 3)
(400, 0.412, 0.5, 0.588)
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from marginbandits.evaluation.off_policy.sequences import boundary

__all__ = ["LEVEL", "Interval", "Running", "intervals"]

LEVEL = 0.95
RHO = 4.0
"""Where weights are bounded, intervals are narrowest, in standard errors, where the spread is some ten times this."""


class _Below(msgspec.Struct, array_like=True):
    """What a bound from below is made of."""

    n: int = 0
    total: float = 0.0
    spread: float = 0.0

    def add(self, x: float) -> None:
        guess = min(max((self.total + 0.5) / (self.n + 1), 0.0), 1.0)
        self.n, self.total, self.spread = self.n + 1, self.total + x, self.spread + (x - guess) ** 2


class Interval(msgspec.Struct, frozen=True):
    """A mean of `n` terms so far, and what it is between, at all times together."""

    n: int
    value: float
    low: float
    high: float


class _Centre(msgspec.Struct, array_like=True):
    """The mean outcome where weights fall: by their squares, which is where terms spread least."""

    weight: float = 1.0
    total: float = 0.5

    def add(self, y: float, w: float) -> None:
        self.weight, self.total = self.weight + w * w, self.total + w * w * y


class Running(msgspec.Struct, array_like=True):
    """A policy's reward so far, or the difference of two policies' rewards, both ways; 0 is no bound of weights."""

    paired: bool = False
    most: float = 0.0
    up: _Below = msgspec.field(default_factory=_Below)
    down: _Below = msgspec.field(default_factory=_Below)
    centre: _Centre = msgspec.field(default_factory=_Centre)

    def add(self, y: float, w: float = 1.0) -> None:
        """An outcome in [0, 1], and its weight."""
        if self.most:
            c = self.centre.total / self.centre.weight
            self._add_both(c + w * (y - c), y, w)
        else:
            self.up.add(w * y)
            self.down.add(w * (1.0 - y))

    def add_pair(self, y: float, w: float, u: float, distance: float) -> None:
        """An outcome in [0, 1], its weights by both policies, and how far apart these are in such a round."""
        gap, rest = w - u, 1.0 - distance
        if self.most:
            c = self.centre.total / self.centre.weight
            self._add_both((1.0 + gap * (y - c)) / 2.0, y, gap)
        else:
            self.up.add((gap * y + max(-gap, 0.0) + rest) / 2.0)
            self.down.add((-gap * y + max(gap, 0.0) + rest) / 2.0)

    def _add_both(self, x: float, y: float, w: float) -> None:
        self.up.add(x)
        self.down.add(1.0 - x)
        self.centre.add(y, w)

    @property
    def unit(self) -> float:
        """How far a term may be below its guess."""
        return (1.0 + self.most) / 2.0 if self.paired and self.most else self.most or 1.0

    def copy(self) -> "Running":
        """As it is now."""
        up, down = msgspec.structs.replace(self.up), msgspec.structs.replace(self.down)
        return Running(self.paired, self.most, up, down, msgspec.structs.replace(self.centre))


def intervals(several: Sequence[Running], level: float = LEVEL) -> list[Interval]:
    """Of each its mean and interval, which holds at all times with probability `level`."""
    unit = np.array([[one.unit] for one in several]).reshape(-1, 1)
    spreads = np.array([[one.up.spread, one.down.spread] for one in several]).reshape(-1, 2) / unit**2
    rooms = np.empty_like(spreads)
    for rho, chosen in ((RHO, [one.most > 0.0 for one in several]), (1.0, [one.most == 0.0 for one in several])):
        rooms[chosen] = boundary(spreads[chosen], (1.0 - level) / 2.0, rho)
    return [_interval(one, *room) for one, room in zip(several, unit * rooms, strict=True)]


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
