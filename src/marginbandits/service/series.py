"""How things stood: copies of sums at the ends of minutes, hours and days, so many of each, and no more.

Sums grow from copy to copy, so what happened between two of them is their difference.

>>> series = Series(width=10, most=2)
>>> for at in (3, 12, 14, 31, 47):
...     series.tick(at, Stand(decisions=at))
>>> [(one.start, one.decisions) for one in series.stands]
[(10, 31), (30, 47)]
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from marginbandits.service.running import Interval, Running, intervals

__all__ = ["DAY", "HOUR", "MINUTE", "Means", "Reign", "Series", "Stand", "begun", "found", "three"]

MINUTE, HOUR, DAY = 60_000_000, 3_600_000_000, 86_400_000_000
"""Microseconds."""


class Stand(msgspec.Struct, array_like=True):
    """All that was counted until the end of the time that began at `start`.

    bandit     the reward of what was not held back
    held       the reward of what was
    baseline   the reward of the baseline, had it always been served, by weights over both
    paired     the bandit's law less the baseline, by weights over both
    served     the reward of the baseline where nothing else was served: in Apprentice and LoggingOnly

    Where a share h is held back, weights are at most 1/h, or 1/(1 - h), and intervals by weights are the narrower.
    """

    start: int = 0
    decisions: int = 0
    bandit: Running = msgspec.field(default_factory=lambda: Running(most=1.0))
    held: Running = msgspec.field(default_factory=lambda: Running(most=1.0))
    baseline: Running = msgspec.field(default_factory=Running)
    paired: Running = msgspec.field(default_factory=lambda: Running(paired=True))
    served: Running = msgspec.field(default_factory=lambda: Running(most=1.0))

    def begin(self, holdback: float) -> None:
        """From here on this share is held back; before, nothing was counted."""
        self.baseline, self.paired = Running(most=1.0 / holdback if holdback else 0.0), begun(holdback)

    def at(self, start: int) -> "Stand":
        """A copy, for the time that began then."""
        return Stand(start, self.decisions, *(one.copy() for one in self.arms))

    @property
    def arms(self) -> tuple[Running, ...]:
        """All that is known by intervals."""
        return self.bandit, self.held, self.baseline, self.paired, self.served


def begun(h: float) -> Running:
    """Nothing yet of the bandit less the baseline, where a share h is held back."""
    return Running(True, 1.0 / min(h, 1.0 - h) if 0.0 < h < 1.0 else 0.0)


class Reign(msgspec.Struct, array_like=True):
    """What was counted of the events that one policy decided: since when, how many, `bandit` and `paired` as above."""

    first: int
    paired: Running
    decisions: int = 0
    bandit: Running = msgspec.field(default_factory=lambda: Running(most=1.0))


class Means(NamedTuple):
    """What a page shows. The lift is the bandit less the baseline, by weights over all events, held back or not."""

    bandit: Interval
    held: Interval
    baseline: Interval
    lift: Interval
    served: Interval


def found(stands: Sequence[Stand]) -> list[Means]:
    """The intervals of each stand, each of which holds at all times with probability 95%."""
    flat = intervals([one for stand in stands for one in stand.arms])
    return [Means(*flat[at : at + 5]) for at in range(0, len(flat), 5)]


class Series(msgspec.Struct):
    """Stands at the ends of times of one width; the oldest go."""

    width: int
    most: int
    now: int = -1
    stands: list[Stand] = []

    def tick(self, at: int, stand: Stand) -> None:
        """It is so late, and this is how things stand before what happens now."""
        if at // self.width != self.now:
            if self.now >= 0:
                self.stands.append(stand.at(self.now * self.width))
                del self.stands[: -self.most]
            self.now = at // self.width

    @property
    def whole(self) -> bool:
        """Whether nothing has gone yet."""
        return len(self.stands) < self.most

    def until(self, stand: Stand) -> list[Stand]:
        """All of them, and how things stand now."""
        return [*self.stands, stand.at(max(self.now, 0) * self.width)]


def three() -> list[Series]:
    """Three hours of minutes, two weeks of hours, a year of days."""
    return [Series(MINUTE, 180), Series(HOUR, 14 * 24), Series(DAY, 366)]
