"""A net that grows as contexts come: one that no centre is near becomes a centre.

The nearest centre is found by looking at all.

>>> from marginbandits.scores.lipschitz import MetricSpace
>>> net = GrowingNet(MetricSpace(), width=1, most=2)
>>> [net.learn(np.array([x]), radius=1.0) for x in (0.0, 0.5, 3.0, 9.0)]
[0, 0, 1, 1]
"""

from collections.abc import Mapping

import numpy as np

from marginbandits.scores.lipschitz import Space
from marginbandits.state import Field, Journal, Record, zeros
from marginbandits.types import Array

__all__ = ["GrowingNet"]

FARTHEST = 1e101
"""No coordinate of a point is beyond this: contexts are within ±1e100, and features of them."""


class GrowingNet(Record):
    """At most `most` centres of `width` coordinates, `start` first; when all are used up, the nearest has to do."""

    def __init__(self, space: Space, width: int, most: int, start: Array | None = None) -> None:
        self._space = space
        given = np.empty((0, width)) if start is None else start
        self.centres: Array = zeros((max(most, len(given)), width))
        self.centres[: len(given)] = given
        self._size = np.array([len(given)], np.int64)
        self.attach(Journal())

    def held(self) -> Array:
        """The centres so far."""
        return self.centres[: self._size[0]]

    def nearest(self, point: Array, among: int | None = None) -> tuple[int, float]:
        """The nearest centre, or the nearest of the first so many, and how far it is; -1 where there is none."""
        distance = self._space._distances(point, self.held()[:among])
        if len(distance) == 0:
            return -1, np.inf
        at = int(distance.argmin())
        return at, float(distance[at])

    def learn(self, point: Array, radius: float) -> int:
        """The context's centre: itself, if no other is within the radius and there is room."""
        at, distance = self.nearest(point)
        n = int(self._size[0])
        if distance > radius * (1.0 + 1e-9) and n < len(self.centres):  # a grid's own border is within the radius
            self.journal.keep(self.centres, n)
            self.journal.keep(self._size)
            self.centres[n] = point
            self._size[0] += 1
            return n
        return at

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {"centres": Field(self.centres, -FARTHEST, FARTHEST), "size": Field(self._size, 0, len(self.centres))}
