"""Products of entries: what one name says with what another says, as entries of their own.

The value of a product is the product of values, and it is a number if either is. Its code is mixed from the two as
SplitMix64 mixes (Steele, Lea & Flood, 2014), its name's 16 bits from those of the names.

>>> import numpy as np
>>> codes, values, starts = np.array([2, 5]), np.array([1.0, 3.0]), np.array([0, 2])
>>> more = multiplied(codes, values, starts, [0, 1, 1, 2], [0, 1])
>>> more[1], more[2], more[0] % 2
(array([1., 3., 3.]), array([0, 3]), array([0, 1, 1]))

Rows of actions all begin with what is said of the user: that is there once, before the first row.

>>> codes, values, starts = np.array([2, 5, 7]), np.array([1.0, 3.0, 4.0]), np.array([1, 2, 3])
>>> multiplied(codes, values, starts, [0, 1, 1, 2] * 2, [0, 1, 2])[1:]
(array([1., 3., 3., 1., 4., 4.]), array([0, 3, 6]))
"""

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import LARGEST
from marginbandits.types import Array

__all__ = ["Places", "multiplied"]

Places = npt.NDArray[np.int64]
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_THIRD, _FOURTH = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(32)


def multiplied(
    codes: Places, values: Array, starts: Places, spans: list[int], ends: list[int]
) -> tuple[Places, Array, Places]:
    """The rows, and after each row's own entries the products of its spans.

    What is before the first row begins every row. A span is four numbers: from and to of one name's entries within the
    row, from and to of another's; those of row i are from `ends[i]` to `ends[i + 1]`.
    """
    n = len(codes) + int(starts[0]) * (len(starts) - 2)
    for k in range(0, len(spans), 4):
        n += (spans[k + 1] - spans[k]) * (spans[k + 3] - spans[k + 2])
    out = np.empty(n, np.int64), np.empty(n), np.empty(len(starts), np.int64)
    _multiply(codes, values, starts, np.array(spans, np.int64), np.array(ends, np.int64), *out)
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
    n, shared = 0, starts[0]
    out_starts[0] = 0
    for i in range(starts.shape[0] - 1):
        row, first = n, starts[i]
        for k in range(shared):
            out[n], out_values[n] = codes[k], values[k]
            n += 1
        for k in range(first, starts[i + 1]):
            out[n], out_values[n] = codes[k], values[k]
            n += 1
        for s in range(4 * ends[i], 4 * ends[i + 1], 4):
            for one in range(row + spans[s], row + spans[s + 1]):
                for other in range(row + spans[s + 2], row + spans[s + 3]):
                    a, b = out[one], out[other]
                    mixed = np.uint64(a) * _FIRST + np.uint64(b) * _SECOND
                    mixed = (mixed ^ mixed >> _SHIFTS[0]) * _THIRD
                    mixed = (mixed ^ mixed >> _SHIFTS[1]) * _FOURTH
                    name = ((a >> 33) * 31 + (b >> 33)) & 0xFFFF
                    out[n] = name << 33 | np.int64(mixed >> _SHIFTS[2]) << 1 | ((a | b) & 1)
                    out_values[n] = min(max(out_values[one] * out_values[other], -LARGEST), LARGEST)
                    n += 1
        out_starts[i + 1] = n
