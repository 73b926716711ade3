"""Of an array, what is filled: what a file keeps of it, and how it is put back.

Kept are the rows that are no longer what they began as, each up to its last number that is not 0, and of triangular
matrices one half; or, where few numbers have changed, these, place by place.

>>> import numpy as np
>>> arrays, weights = {}, np.zeros((2, 5000))
>>> weights[1, 4000] = 3.0
>>> put(arrays, "weights", Field(weights), whole=False)
>>> arrays
{'weights': array([3.]), 'weights@places': array([9000])}
>>> again = np.ones((2, 5000))
>>> get(arrays, "weights", Field(again))
>>> bool((again == weights).all()), arrays
(True, {})
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.state import Field

__all__ = ["get", "put"]

Numbers = npt.NDArray[Any]
_ROWS, _PLACES = "@rows", "@places"
_LARGE = 1000
"""Less is not worth naming places of."""


def put(arrays: dict[str, Numbers], name: str, field: Field, *, whole: bool) -> None:
    """Store what is filled of a field, or all of it."""
    for kind in (_ROWS, _PLACES):
        arrays.pop(name + kind, None)
    array = np.tril(field.array) if field.triangular else field.array
    if whole:
        arrays[name] = array
        return
    begun = np.zeros(array.shape[1:], array.dtype) if field.initial is None else field.initial
    begun_bits = begun.tobytes()
    rows = np.flatnonzero([row.tobytes() != begun_bits for row in array]) if array.ndim > 1 else np.empty(0, np.int64)
    if array.ndim < 2:
        box = array[: _filled(array, 0)]
    elif field.triangular:
        box = array[rows][:, *np.tril_indices(array.shape[1])]
    else:
        box = array[rows]
        box = box[:, *(slice(_filled(box, axis)) for axis in range(1, box.ndim))]
    arrays[name] = box
    if array.ndim > 1 and len(rows) < len(array):
        arrays[name + _ROWS] = rows
    if box.size >= _LARGE and array.dtype != bool:
        places = _changed(array, begun)
        if len(places) * (8 + array.dtype.itemsize) < box.nbytes:
            arrays.pop(name + _ROWS, None)
            arrays[name], arrays[name + _PLACES] = array.ravel()[places], places


def get(arrays: dict[str, Numbers], name: str, field: Field) -> None:
    """Fill a live array from what was stored, and take that out; nothing changes if it does not fit."""
    if name not in arrays:
        raise ValueError(f"arrays do not match the model: {name} is missing")
    array, stored = field.array, arrays.pop(name)
    rows, places = arrays.pop(name + _ROWS, None), arrays.pop(name + _PLACES, None)
    unfit = ValueError(f"{name} must be {array.dtype} of shape {array.shape}, got {stored.dtype} {stored.shape}")
    if stored.dtype != array.dtype or not 1 <= stored.ndim <= max(array.ndim, 1):
        raise unfit
    if not np.isfinite(stored).all():
        raise ValueError(f"{name} must be finite")
    if places is not None:
        if rows is not None or stored.ndim != 1 or not _chosen(places, len(stored), array.size):
            raise unfit
        array[...] = 0 if field.initial is None else field.initial
        array.flat[places] = stored
        return
    where = np.arange(len(stored)) if rows is None else rows
    if not _chosen(where, len(stored), len(array)):
        raise unfit
    halves = field.triangular and stored.ndim == 2
    size = len(array[0]) if halves else 0
    fits = stored.shape[1:] == (size * (size + 1) // 2,) if halves else stored.ndim == array.ndim
    if not fits or (not halves and any(n > m for n, m in zip(stored.shape[1:], array.shape[1:], strict=True))):
        raise unfit
    array[...] = 0 if field.initial is None else field.initial
    if halves:
        for at, values in zip(where, stored, strict=True):
            array[at] = 0.0
            array[at][np.tril_indices(size)] = values
    elif array.ndim < 2:
        array[: len(stored)] = stored
    else:
        array[where] = 0
        array[np.ix_(where, *(np.arange(n) for n in stored.shape[1:]))] = stored


def _chosen(where: Numbers, n: int, most: int) -> bool:
    """Whether these are n different places below `most`, in order."""
    if where.dtype != np.int64 or where.ndim != 1 or len(where) != n or not (np.diff(where) > 0).all():
        return False
    return n == 0 or bool(where[0] >= 0 and where[-1] < most)


def _changed(array: Numbers, begun: Numbers) -> npt.NDArray[np.int64]:
    """Places of what is not, bit for bit, as it began."""
    bits = f"u{array.dtype.itemsize}"
    return np.flatnonzero(np.ascontiguousarray(array).view(bits) != np.ascontiguousarray(begun, array.dtype).view(bits))


def _filled(array: Numbers, axis: int) -> int:
    """How far the array goes along an axis until all is 0, to the bit: -0.0 is a number."""
    bits = array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "f" and array.flags.c_contiguous else array
    some = (bits != 0).any(tuple(one for one in range(array.ndim) if one != axis))
    return int(np.flatnonzero(some)[-1]) + 1 if some.any() else 0
