"""Sparse matrices of SciPy's, looked at before its own compiled code follows their columns and starts.

They may have been made of anything, and SciPy believes them: it reads, and writes, wherever they point. `sound` is the
same matrix, in a format whose places have been looked at, or a ValueError that says which are wrong.

>>> import numpy as np
>>> import scipy.sparse
>>> bad = scipy.sparse.csc_array(np.eye(3))
>>> bad.indices[1] = 10**9
>>> sound(bad)
Traceback (most recent call last):
    ...
ValueError: context must be a sound sparse matrix: indices must be from 0 to 2, got 1000000000
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.validation import quoted

__all__ = ["sound"]

Places = npt.NDArray[np.integer[Any]]


def sound(matrix: Any, name: str = "context") -> Any:
    """The matrix, of one or two axes; its numbers are not looked at."""
    try:
        if matrix.format not in ("csr", "csc", "bsr", "coo"):
            matrix = matrix.tocoo()  # which follows nothing
        _look_at(matrix)
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a sound sparse matrix: {error}") from error
    return matrix


def _look_at(matrix: Any) -> None:
    if matrix.data.ndim != (3 if matrix.format == "bsr" else 1):
        raise ValueError(f"data must be numbers in a row, or blocks of them, got shape {matrix.data.shape}")
    if matrix.format == "coo":
        for axis, (coords, n) in enumerate(zip(matrix.coords, matrix.shape, strict=True)):
            _within(f"coords[{axis}]", coords, n)
            if len(coords) != len(matrix.data):
                raise ValueError(f"coords[{axis}] must be as many as values, {len(matrix.data)}, got {len(coords)}")
        return
    across, down = matrix.shape[-1], matrix.shape[0] if len(matrix.shape) == 2 else 1
    if matrix.format == "bsr":
        if down % matrix.data.shape[1] or across % matrix.data.shape[2]:
            raise ValueError(f"blocks of shape {matrix.data.shape[1:]} do not make {down} x {across}")
        down, across = down // matrix.data.shape[1], across // matrix.data.shape[2]
    elif matrix.format == "csc":
        down, across = across, down
    starts = _whole("indptr", matrix.indptr)
    if len(starts) != down + 1 or starts[0] != 0 or (starts[:-1] > starts[1:]).any():
        raise ValueError(f"indptr must be {down + 1} places that begin with 0 and never fall, got {quoted(starts)}")
    filled = min(len(matrix.indices), len(matrix.data))
    if starts[-1] > filled:
        raise ValueError(f"indptr must end with {filled} at most, got {starts[-1]}")
    _within("indices", matrix.indices, across)


def _within(name: str, places: Places, n: int) -> None:
    bad = (_whole(name, places) < 0) | (places >= n)
    if bad.any():
        raise ValueError(f"{name} must be from 0 to {n - 1}, got {places[bad][0]}")


def _whole(name: str, places: Any) -> Places:
    """SciPy only warns of places that are fractions, or NaN."""
    if not isinstance(places, np.ndarray) or places.ndim != 1 or places.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, got {quoted(places)}")
    return places
