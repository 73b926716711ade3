"""A net that grows as contexts come: one that no centre is near becomes a centre.

A `Cube` has its whole grid from the start. The nearest centre is found by looking at all.

>>> import numpy as np
>>> from marginbandits.scores.lipschitz import MetricSpace
>>> net = GrowingNet(MetricSpace(), radius=1.0, most=2, width=1)
>>> [net.learn(np.array([x])) for x in (0.0, 0.5, 3.0, 9.0)]
[0, 0, 1, 1]
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.scores.lipschitz import Cube, Space
from marginbandits.types import Array

__all__ = ["GrowingNet"]


class GrowingNet:
    """At most `most` centres of so many coordinates; once they are used up, contexts go to the nearest."""

    def __init__(self, space: Space, radius: float, most: int, width: int) -> None:
        self._space, self.radius = space, radius
        self.size = np.zeros(1, np.int64)
        self.centres: Array = np.zeros((most, width))
        if isinstance(space, Cube):
            self.centres = space.grid(radius).centres
            self.size[0] = len(self.centres)

    def nearest(self, point: Array) -> tuple[int, float]:
        """The nearest centre and how far it is; -1 before there is one."""
        n = int(self.size[0])
        if n == 0:
            return -1, np.inf
        distance = self._space.distances(point, self.centres[:n])
        at = int(distance.argmin())
        return at, float(distance[at])

    def learn(self, point: Array) -> int:
        """The context's centre, which may be itself."""
        at, distance = self.nearest(point)
        n = int(self.size[0])
        if distance > self.radius and n < len(self.centres):
            self.centres[n] = point
            self.size[0] += 1
            return n
        return at

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The live state."""
        return {"centres": self.centres, "size": self.size}
