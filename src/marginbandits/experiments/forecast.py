"""How long a run will take, from how long its finished tasks took; nothing is played for it.

A task of a kind (a learner, a claim's case) takes about c_kind · size^b seconds. Both are medians, because the first
task of a kind in a process also compiles. A kind that none has finished of yet is taken for an average one, a kind that
has only failed for nothing. Work is divided by what the run has got done in a second so far, whoever does it.

>>> clock = iter([0.0, 10.0])
>>> forecast = Forecast([("a", 1.0)] * 4, clock=lambda: next(clock))
>>> forecast.ended("a", 1.0, 5.0), forecast.ended("a", 1.0, 5.0)
(None, None)
>>> forecast.seconds_left()
10.0
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from marginbandits.types import Array

__all__ = ["Forecast", "in_words"]

STEEPEST = 2.0
"""b is kept between 0 and this; it is 1 as long as no kind has finished two sizes."""


class Forecast:
    """Of tasks to do, given as kind and size; `before` are others that are finished, with their seconds."""

    def __init__(
        self,
        to_do: Iterable[tuple[str, float]],
        before: Iterable[tuple[str, float, float]] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left: dict[tuple[str, float], int] = defaultdict(int)
        for task in to_do:
            self._left[task] += 1
        self._known: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
        for kind, size, seconds in before:
            self._known[kind][size].append(seconds)
        self._failed: set[str] = set()
        self._clock, self._start, self._work = clock, clock(), 0.0
        self.total = sum(self._left.values())
        self.done = 0

    def ended(self, kind: str, size: float, seconds: float | None) -> None:
        """A task has ended; one that failed took None."""
        self.done += 1
        self._left[kind, size] -= 1
        if seconds is None:
            self._failed.add(kind)
        else:
            self._known[kind][size].append(seconds)
            self._work += seconds

    def seconds_left(self) -> float | None:
        """None until a tenth of the tasks is finished: the first ones mostly compile."""
        if self._work <= 0.0 or 10 * self.done < self.total:
            return None
        cells = {
            kind: np.array(
                [(size, min(times) if len(times) < 3 else np.median(times)) for size, times in sizes.items()]
            )
            for kind, sizes in self._known.items()
        }
        b = _power(list(cells.values()))
        scale = {kind: float(np.median(each[:, 1] / each[:, 0] ** b)) for kind, each in cells.items()}
        usual = float(np.mean(list(scale.values())))
        work = 0.0
        for (kind, size), times in self._left.items():
            work += times * scale.get(kind, 0.0 if kind in self._failed else usual) * size**b
        return work * (self._clock() - self._start) / self._work


def _power(kinds: list[Array]) -> float:
    """The median slope of log seconds over log size between any two sizes of one kind."""
    slopes = []
    for each in kinds:
        x, y = np.log(np.maximum(each, 1e-9)).T
        first, second = np.triu_indices(len(x), 1)
        slopes.append((y[second] - y[first]) / (x[second] - x[first]))
    found = np.concatenate(slopes)
    return min(max(float(np.median(found)), 0.0), STEEPEST) if len(found) else 1.0


def in_words(seconds: float) -> str:
    """A wait, about.

    >>> in_words(45), in_words(60), in_words(1000), in_words(20000)
    ('45 seconds', '60 seconds', '17 minutes', '5.6 hours')
    """
    if seconds <= 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds <= 5400 else f"{seconds / 3600:.1f} hours"


def _usual(times: list[float]) -> float:
    """The median; of one or two the least, since one of them may have compiled."""
    return min(times) if len(times) < 3 else float(np.median(times))
