"""Sparse rows: what they are, and how SciPy's are read, of which nothing is believed.

Compiled code follows columns and starts wherever they point. So those of SciPy's matrices, which may have been made of
anything, are looked at before: all of a matrix at once (`from_scipy`), or a row where it is played (`usual_rows`, and
`is_sound_row` in the round itself).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse

from marginbandits.compiled import kernel
from marginbandits.sound import sound
from marginbandits.types import Array
from marginbandits.validation import quoted

__all__ = ["CODES", "FLOAT64", "INT32", "LARGEST", "Places", "Sparse", "from_scipy", "usual_rows"]

CODES = 2**49
"""The width of rows whose columns are codes of names and values (`features.entries`); no other row is as wide."""

LARGEST = 1e100
"""Context values beyond this are refused: their squares would overflow in every method's arithmetic."""

Places: TypeAlias = npt.NDArray[np.int64]
FLOAT64, INT64, INT32 = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.int32)
_ARRAY = np.ndarray
_COMPRESSED = scipy.sparse.csr_array, scipy.sparse.csr_matrix
_MOST_ROWS = 10**7
_ONE_BY_ONE, _NARROW = (8,), (4,)  # the strides of an array of one dimension, of so many bytes each


@dataclass(slots=True, eq=False)
class Sparse:
    """Rows with few columns filled: row i has `values[starts[i]:starts[i + 1]]` in those `columns`, ascending.

    What users hand in has no zeros among its values.
    """

    values: Array
    columns: Places
    starts: Places
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.starts) - 1, self.width

    def __len__(self) -> int:
        return len(self.starts) - 1

    def dense(self) -> Array:
        """The same rows with every column."""
        out = np.zeros(self.shape)
        out[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.columns] = self.values
        return out

    def row(self, i: int) -> tuple[Places, Array]:
        """Columns and values of one row."""
        where = slice(self.starts[i], self.starts[i + 1])
        return self.columns[where], self.values[where]

    def between(self, some: slice) -> "Sparse":
        """Rows one after another."""
        starts = self.starts[some.start : some.stop + 1]
        where = slice(starts[0], starts[-1])
        return Sparse(self.values[where], self.columns[where], starts - starts[0], self.width)

    def take(self, rows: Places) -> "Sparse":
        """Some of the rows, in this order."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Sparse(self.values[at], self.columns[at], starts, self.width)


def from_scipy(matrix: Any, name: str = "context") -> Sparse:
    """A checked copy in order, each column at most once, and only if it is not 0."""
    given = _sound(matrix) if matrix.format == "csr" and matrix.ndim == 2 else None
    if given is None:  # as most are not; what is wrong is found below
        matrix = sound(matrix, name)
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, got {quoted(matrix)}")
    if matrix.ndim > 2 or (matrix.ndim == 2 and matrix.shape[0] > _MOST_ROWS):
        raise ValueError(f"{name} must have at most {_MOST_ROWS:,} rows, got shape {matrix.shape}")
    if matrix.shape[-1] >= CODES:
        raise ValueError(f"{name} must have fewer than 2^49 columns, got shape {matrix.shape}")
    if given is not None:
        return Sparse(*given, matrix.shape[1])
    rows = scipy.sparse.csr_array(matrix.reshape(1, -1) if matrix.ndim == 1 else matrix, dtype=float)
    if not (rows.has_canonical_format and rows.data.all()):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    bad = np.flatnonzero(~(np.abs(rows.data) <= LARGEST))
    if len(bad):
        place = f"row {np.searchsorted(rows.indptr, bad[0], 'right') - 1}, column {rows.indices[bad[0]]}"
        raise ValueError(f"{name} has {rows.data[bad[0]]} at {place}; it must be finite, within ±1e100")
    return Sparse(rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64), rows.shape[1])


def usual_rows(width: int) -> Callable[[Any], tuple[Array, Places, Places] | None]:
    """What says whether a row is as most are: its values, columns and starts, for `is_sound_row` to look at.

    Columns and starts are both of 64 bits, or both of 32, as SciPy's own mostly are.
    """
    shape = (1, width)

    def usual(context: Any) -> tuple[Array, Places, Places] | None:
        if type(context) not in _COMPRESSED or context.shape != shape:
            return None
        values, columns, starts = context.data, context.indices, context.indptr
        if not (type(values) is type(columns) is type(starts) is _ARRAY):
            return None
        if values.dtype is not FLOAT64 or values.strides != _ONE_BY_ONE:
            return None
        size = columns.dtype
        one_by_one = _NARROW if size is INT32 else _ONE_BY_ONE if size is INT64 else None
        plain = starts.dtype is size and columns.strides == starts.strides == one_by_one
        return (values, columns, starts) if plain else None

    return usual


def _sound(matrix: Any) -> tuple[Array, Places, Places] | None:
    """Values, columns and starts of its rows, if nothing is to be done to them; places are copies."""
    values, columns, starts = matrix.data, matrix.indices, matrix.indptr
    if not (type(values) is type(columns) is type(starts) is _ARRAY):
        return None
    if not (values.dtype is FLOAT64 and values.flags.carray and values.ndim == columns.ndim == starts.ndim == 1):
        return None
    if columns.dtype.kind not in "iu" or starts.dtype.kind not in "iu":
        return None
    columns, starts = columns.astype(np.int64), starts.astype(np.int64)
    return (values, columns, starts) if _is_sound(values, columns, starts, *matrix.shape) else None


@kernel
def is_sound_row(values: Array, columns: Places, starts: Places, t: int, width: int) -> bool:
    """Whether row t is there, its columns in order, each at most once, and filled with numbers but 0."""
    if not (starts.shape[0] > t + 1 and starts[0] == 0 and 0 <= starts[t] <= starts[t + 1]):
        return False
    if starts[t + 1] > min(values.shape[0], columns.shape[0]):
        return False
    before = -1
    for k in range(starts[t], starts[t + 1]):
        if not (before < columns[k] < width and 0.0 < abs(values[k]) <= LARGEST):
            return False
        before = columns[k]
    return True


@kernel
def _is_sound(values: Array, columns: Places, starts: Places, n: int, width: int) -> bool:
    """Whether there are n such rows, and nothing else."""
    if starts.shape[0] != n + 1 or not starts[n] == values.shape[0] == columns.shape[0]:
        return False
    sound = 0
    for t in range(n):
        sound += is_sound_row(values, columns, starts, t, width)
    return sound == n
