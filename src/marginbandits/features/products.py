"""Products of entries: what one name says with what another says, as entries of their own.

The value of a product is the product of values, and it is a number if either is. Its code is mixed from the two as
SplitMix64 mixes (Steele, Lea & Flood, 2014), its name's 16 bits from those of the names.

>>> import numpy as np
>>> codes, values, starts = np.array([2, 5]), np.array([1.0, 3.0]), np.array([0, 2])
>>> more = multiplied(codes, values, starts, [0, 1, 1, 2], [0, 1])
>>> more[1], more[2], more[0] % 2
(array([1., 3., 3.]), array([0, 3]), array([0, 1, 1]))

Rows of actions have three parts: of the user, which is there once for all of them, of the action, and of its name.

>>> crossed(np.array([2, 5, 7]), np.array([1.0, 3.0, 4.0]), [0, 1, 1, 1, 2, 0, 1, 2, 2, 3], [(0, 2)], 6)[1:]
(array([1., 3., 3., 1., 4., 4.]), array([0, 3, 6]))
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import LARGEST
from marginbandits.types import Array

__all__ = ["Places", "crossed", "multiplied"]

Places = npt.NDArray[np.int64]
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_THIRD, _FOURTH = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(32)


def multiplied(
    codes: Places, values: Array, starts: Places, spans: list[int], ends: list[int]
) -> tuple[Places, Array, Places]:
    """The rows, and after each row's own entries the products of its spans.

    A span is four numbers: from and to of one name's entries within the row, from and to of another's; those of row i
    are from `ends[i]` to `ends[i + 1]`.
    """
    n = len(codes)
    for k in range(0, len(spans), 4):
        n += (spans[k + 1] - spans[k]) * (spans[k + 3] - spans[k + 2])
    out = np.empty(n, np.int64), np.empty(n), np.empty(len(starts), np.int64)
    _multiply(codes, values, starts, np.array(spans, np.int64), np.array(ends, np.int64), *out)
    return out


def crossed(
    codes: Places, values: Array, marks: list[int], pairs: Sequence[tuple[int, int]], n: int
) -> tuple[Places, Array, Places]:
    """Rows of three parts, and after each row's own entries the products of these pairs of parts: n entries in all.

    Five marks are a row: from and to of the first part, from of the second, from and to of the third.
    """
    out = np.empty(n, np.int64), np.empty(n), np.empty(len(marks) // 5 + 1, np.int64)
    _cross(codes, values, np.array(marks, np.int64), np.array(pairs, np.int64).reshape(-1), *out)
    return out


@kernel
def _product(codes: Places, values: Array, one: int, other: int, n: int) -> None:
    """Entry n is that of two before it."""
    a, b = codes[one], codes[other]
    mixed = np.uint64(a) * _FIRST + np.uint64(b) * _SECOND
    mixed = (mixed ^ mixed >> _SHIFTS[0]) * _THIRD
    mixed = (mixed ^ mixed >> _SHIFTS[1]) * _FOURTH
    name = ((a >> 33) * 31 + (b >> 33)) & 0xFFFF
    codes[n] = name << 33 | np.int64(mixed >> _SHIFTS[2]) << 1 | ((a | b) & 1)
    values[n] = min(max(values[one] * values[other], -LARGEST), LARGEST)


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
        row = n
        for k in range(starts[i], starts[i + 1]):
            out[n], out_values[n] = codes[k], values[k]
            n += 1
        for s in range(4 * ends[i], 4 * ends[i + 1], 4):
            for one in range(row + spans[s], row + spans[s + 1]):
                for other in range(row + spans[s + 2], row + spans[s + 3]):
                    _product(out, out_values, one, other, n)
                    n += 1
        out_starts[i + 1] = n


@kernel
def _cross(
    codes: Places, values: Array, marks: Places, pairs: Places, out: Places, out_values: Array, out_starts: Places
) -> None:
    n, at = 0, np.empty(4, np.int64)
    out_starts[0] = 0
    for i in range(out_starts.shape[0] - 1):
        first, end, second, third, last = marks[5 * i : 5 * i + 5]
        at[0], at[1] = n, n + end - first
        at[2], at[3] = at[1] + third - second, at[1] + last - second
        for k in range(first, end):
            out[n], out_values[n] = codes[k], values[k]
            n += 1
        for k in range(second, last):
            out[n], out_values[n] = codes[k], values[k]
            n += 1
        for p in range(0, pairs.shape[0], 2):
            for one in range(at[pairs[p]], at[pairs[p] + 1]):
                for other in range(at[pairs[p + 1]], at[pairs[p + 1] + 1]):
                    _product(out, out_values, one, other, n)
                    n += 1
        out_starts[i + 1] = n
