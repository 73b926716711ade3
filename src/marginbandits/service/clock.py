"""The time of day, by a clock that a moment's mistake does not move.

The machine has two clocks: one that says what time it is, which people and programs set, and one that only counts on,
also while the machine sleeps. Time here goes on with the second. Where the first differs from it by less than a second
it is believed; where it differs by more, it is believed once it has done so for a minute. So a clock that is wrong for
a moment closes no window, and one that was put right is followed. One who begins after a stop knows when the last thing
was written: where the day is far later than that, it is believed when it has been so for a minute, too.

>>> told = [0, 0]
>>> clock = Clock(lambda: told[0], lambda: told[1])
>>> def after(seconds, wall):
...     told[:] = wall * 10**9, told[1] + seconds * 10**9
...     return clock.now() // 10**6
>>> after(5, 5), after(1, 10**6), after(1, 7)  # far ahead for a second
(5, 6, 7)
>>> after(1, 1008), after(59, 1067), after(1, 1068), after(1, 1069)  # and for good
(8, 67, 1068, 1069)
"""

import threading
import time
from collections.abc import Callable

__all__ = ["Clock", "Told"]

NEAR, SURE, FAR = 1_000_000_000, 60_000_000_000, 86_400_000_000_000
"""Nanoseconds."""


class Clock:
    """Nanoseconds of two clocks, of the day and steady ones, become microseconds of the day."""

    def __init__(self, day: Callable[[], int] | None = None, steady: Callable[[], int] | None = None) -> None:
        self._day = day or (lambda: time.time_ns())
        self._steady = steady or _steady
        self._start = self._day() - self._steady()
        self._doubted: int | None = None
        self._lock = threading.Lock()

    def begin(self, last: int, wait: Callable[[float], object] = time.sleep) -> None:
        """Begin anew, after a moment in microseconds; while the day is doubted, nobody can go on."""
        start = self._steady()
        while self._day() - 1000 * last > FAR and self._steady() - start < SURE:
            wait(0.1)
        with self._lock:
            self._start, self._doubted = self._day() - self._steady(), None

    def follow(self, day: Callable[[], int]) -> None:
        """Another says from now on what time it is."""
        with self._lock:
            self._day = day
            self._start, self._doubted = day() - self._steady(), None

    def now(self) -> int:
        """Microseconds since 1970."""
        with self._lock:
            day, steady = self._day(), self._steady()
            gap = day - (self._start + steady)
            if abs(gap) < NEAR:
                self._doubted = None
            elif self._doubted is None:
                self._doubted = steady
            if self._doubted is None or steady - self._doubted >= SURE:
                self._start, self._doubted = self._start + gap, None
            return (self._start + steady) // 1000


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
