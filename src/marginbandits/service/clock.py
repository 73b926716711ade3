"""The time of day, by a clock that a moment's mistake does not move.

The machine has two clocks: one that says what time it is, which people and programs set, and one that only counts on,
also while the machine sleeps. Time here goes on with the second. Where the first differs from it by less than a second
it is believed; where it differs by more, it is believed once it has been the same way off, to a second, for a minute in
which it was looked at every ten seconds. So a clock that is wrong for a moment closes no window, whatever it was before
that moment, and one that was put right is followed. One who begins after a stop knows when the last thing was written:
where the day is far later than that, it is believed when it has gone on as it should for a minute, too.

>>> told = [0, 0]
>>> clock = Clock(lambda: told[0], lambda: told[1])
>>> def after(seconds, wall):
...     told[:] = wall * 10**9, told[1] + seconds * 10**9
...     return clock.now() // 10**6
>>> after(5, 5), after(1, 10**6), after(1, 7)  # far ahead for a second
(5, 6, 7)
>>> [after(10, wall) for wall in range(1017, 1087, 10)]  # and for good
[17, 27, 37, 47, 57, 67, 1077]
"""

import threading
import time
from collections.abc import Callable

__all__ = ["Clock", "Told"]

NEAR, SURE, FAR = 1_000_000_000, 60_000_000_000, 86_400_000_000_000
BLIND = 10_000_000_000
"""Nanoseconds; who did not look for longer than the last has not seen what was meanwhile."""


class Clock:
    """Nanoseconds of two clocks, of the day and steady ones, become microseconds of the day."""

    def __init__(self, day: Callable[[], int] | None = None, steady: Callable[[], int] | None = None) -> None:
        self._day = day or (lambda: time.time_ns())
        self._steady = steady or _steady
        self._gap = self._day() - self._steady()
        self._doubted: tuple[int, int, int] | None = None  # a gap, since when it is seen, and when it last was
        self._lock = threading.Lock()

    def begin(self, last: int, wait: Callable[[float], object] = time.sleep) -> None:
        """Begin anew, after a moment in microseconds; while the day is doubted, nobody can go on."""
        while True:
            with self._lock:
                day, steady = self._day(), self._steady()
                if day - 1000 * last <= FAR or self._sure(day - steady, steady):
                    self._gap, self._doubted = day - steady, None
                    return
            wait(0.1)

    def follow(self, day: Callable[[], int]) -> None:
        """Another says from now on what time it is."""
        with self._lock:
            self._day = day
            self._gap, self._doubted = day() - self._steady(), None

    def now(self) -> int:
        """Microseconds since 1970."""
        with self._lock:
            day, steady = self._day(), self._steady()
            gap = day - steady
            if abs(gap - self._gap) < NEAR or self._sure(gap, steady):
                self._gap, self._doubted = gap, None
            return (self._gap + steady) // 1000

    def _sure(self, gap: int, steady: int) -> bool:
        """Whether the clocks have been so far apart for long enough, and looked at all along."""
        first, since, seen = self._doubted or (gap, steady, steady)
        if abs(gap - first) >= NEAR or steady - seen > BLIND:
            first, since = gap, steady
        self._doubted = first, since, steady
        return steady - since >= SURE


class Told:
    """The day by a clock elsewhere: as it was when it was last asked, and on from there with the steady clock.

    It is off by half of what asking took at most; an answer that took a second or more is not believed, but the first.
    """

    def __init__(self, steady: Callable[[], int] | None = None) -> None:
        self._steady = steady or _steady
        self._gap: int | None = None

    def ask(self, tell: Callable[[], int]) -> None:
        """Ask it, in microseconds."""
        before = self._steady()
        told, after = tell(), self._steady()
        if self._gap is None or after - before < NEAR:
            self._gap = 1000 * told - (before + after) // 2

    def __call__(self) -> int:
        """Nanoseconds since 1970."""
        return self._steady() + (self._gap or 0)


def _steady() -> int:
    return time.clock_gettime_ns(_COUNTS_ON)


_COUNTS_ON: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # where there is none, sleep is not counted
