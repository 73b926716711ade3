"""The latest sparse rows of a stream, in memory that does not grow: which have to go where another comes.

What rows fill stands one after the other, each row in one stretch; behind the last place it begins again at the first.
A ring says which row is the oldest, how many are kept, and how many there were.

>>> import numpy as np
>>> ring, places = np.zeros(3, np.int64), np.zeros((4, 2), np.int64)
>>> for n in (5, 3, 4):
...     at, start = make_way(ring, places, n, room=10)
...     places[at] = start, n
>>> places[:3].tolist(), ring.tolist()  # the first was where the third is now
([[0, 5], [5, 3], [0, 4]], [1, 2, 3])
"""

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.state import COUNT

__all__ = ["FILLED", "make_way"]

Places = npt.NDArray[np.int64]
FILLED = 64
"""Columns that kept rounds may fill on average, before fewer are kept."""
_FIRST, _HELD, _SEEN = range(3)


@kernel
def make_way(ring: Places, places: Places, n: int, room: int) -> tuple[int, int]:
    """Count a row that fills n <= `room` columns: its number among those kept, and its first place."""
    memory = places.shape[0]
    ring[_SEEN] = min(ring[_SEEN] + 1, COUNT)
    last = places[(ring[_FIRST] + ring[_HELD] - 1) % memory]
    start = last[0] + last[1] if ring[_HELD] > 0 else 0
    if start + n > room:  # what was not overwritten behind it is older than all else
        _give_up(ring, places, start, room)
        start = 0
    if ring[_HELD] == memory:
        ring[_FIRST], ring[_HELD] = (ring[_FIRST] + 1) % memory, memory - 1
    _give_up(ring, places, start, start + n)
    ring[_HELD] += 1
    return (ring[_FIRST] + ring[_HELD] - 1) % memory, start


@kernel
def _give_up(ring: Places, places: Places, start: int, end: int) -> None:
    """Give up the oldest rounds, as long as they begin within start and end."""
    while ring[_HELD] > 0 and start <= places[ring[_FIRST], 0] < end:
        ring[_FIRST], ring[_HELD] = (ring[_FIRST] + 1) % places.shape[0], ring[_HELD] - 1
