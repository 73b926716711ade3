"""Products of entries: what one name says with what another says, as entries of their own.

The value of a product is the product of values, and it is a number if either is. Its code is mixed from the two as
SplitMix64 mixes (Steele, Lea & Flood, 2014), its name's 16 bits from those of the names.

>>> import numpy as np
>>> codes, values, starts = np.array([2, 5]), np.array([1.0, 3.0]), np.array([0, 2])
>>> more = multiplied(codes, values, starts, [[(0, 1, 1, 2)]])
>>> more[1], more[2], more[0] % 2
(array([1., 3., 3.]), array([0, 3]), array([0, 1, 1]))
"""

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import LARGEST
from marginbandits.types import Array

__all__ = ["Span", "multiplied"]

Places = npt.NDArray[np.int64]
Span = tuple[int, int, int, int]
"""Within one row: from and to of one name's entries, from and to of another's."""
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_THIRD, _FOURTH = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(32)


def multiplied(codes: Places, values: Array, starts: Places, spans: list[list[Span]]) -> tuple[Places, Array, Places]:
    """The rows, and after each row's own entries the products of its spans."""
    flat = np.array([one for row in spans for one in row], np.int64).reshape(-1, 4)
    ends = np.concatenate([[0], np.cumsum([len(row) for row in spans])]).astype(np.int64)
    n = len(codes) + int(((flat[:, 1] - flat[:, 0]) * (flat[:, 3] - flat[:, 2])).sum())
    out = np.empty(n, np.int64), np.empty(n), np.empty(len(starts), np.int64)
    _multiply(codes, values, starts, flat, ends, *out)
    return out


@kernel
def _multiply(
    codes: Places,
    values: Array,
    starts: Places,
    spans: Places,
    ends: Places,
    out: Places,
    out_values: Array,
    out_starts: Places,
) -> None:
    n = 0
    out_starts[0] = 0
    for i in range(starts.shape[0] - 1):
        first = starts[i]
        for k in range(first, starts[i + 1]):
            out[n], out_values[n] = codes[k], values[k]
            n += 1
        for s in range(ends[i], ends[i + 1]):
            for one in range(first + spans[s, 0], first + spans[s, 1]):
                for other in range(first + spans[s, 2], first + spans[s, 3]):
                    a, b = codes[one], codes[other]
                    mixed = np.uint64(a) * _FIRST + np.uint64(b) * _SECOND
                    mixed = (mixed ^ mixed >> _SHIFTS[0]) * _THIRD
                    mixed = (mixed ^ mixed >> _SHIFTS[1]) * _FOURTH
                    name = ((a >> 33) * 31 + (b >> 33)) & 0xFFFF
                    out[n] = name << 33 | np.int64(mixed >> _SHIFTS[2]) << 1 | ((a | b) & 1)
                    out_values[n] = min(max(values[one] * values[other], -LARGEST), LARGEST)
                    n += 1
        out_starts[i + 1] = n
