"""Declarations of arrays: numbers, whole numbers or booleans of so many dimensions, and nothing that only looks so.

Strings, complex numbers, dates and spans of time, masked entries, ragged lists, lists that contain themselves and
objects that are no numbers are refused before NumPy converts them, or compiled code reads beyond their end. What comes
out is a C-contiguous array of float64 (int64, bool); shapes that must go together are for the function to compare.

>>> from marginbandits.types import Array
>>> from marginbandits.validation import validated
>>> @validated
... def mean(losses: Annotated[Array, Numbers(1, low=0, high=1)]) -> float:
...     return float(losses.mean())
>>> mean([1, 0.5])
0.75
>>> mean(["1", "0"])
Traceback (most recent call last):
    ...
ValueError: losses must be one or more finite numbers at least 0 and at most 1 (1 dimension), got ['1', '0']
"""

import numbers
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits.validation import Constraint, limits, within

__all__ = ["Booleans", "Integers", "Numbers", "Probabilities", "Scores", "plain"]

_REAL, _WHOLE = (
    (int, numbers.Real),
    (int, numbers.Integral),
)  # the plain type first: an abstract class costs ten times it
_DEEPEST = 8
"""Lists nested deeper than this are no arrays of ours; one that contains itself is."""


class Numbers(Constraint):
    """Numbers of one of the given dimensions (of any, if none is given), all finite unless `finite` is False.

    Not finite means any float, NaN too. `empty` allows none at all, `booleans` takes True and False for 1 and 0.
    """

    _noun, _kinds = "numbers", "fiu"
    _type: np.dtype[Any] = np.dtype(np.float64)

    def __init__(
        self,
        *ndim: int,
        low: float | None = None,
        high: float | None = None,
        above: float | None = None,
        below: float | None = None,
        finite: bool = True,
        empty: bool = False,
        booleans: bool = False,
    ) -> None:
        self.ndim, self.finite, self.empty = ndim, finite, empty
        self.low, self.high, self.above, self.below = low, high, above, below
        self._least, self._most = within(low, high, above, below)
        if booleans:
            self._kinds += "b"

    def __str__(self) -> str:
        count = "" if self.empty else "one or more "
        kind = ("finite " if self.finite and self._noun == "numbers" else "") + self._noun
        dims = " or ".join(map(str, self.ndim)) + (" dimension" if self.ndim == (1,) else " dimensions")
        shape = f"({dims})" if self.ndim else ""
        return " ".join(f"{count}{kind} {limits(self.low, self.high, self.above, self.below)} {shape}".split())

    def clean(self, value: object) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = value if type(value) is np.ndarray else plain(value, self._kinds)
        if array.dtype != self._type:
            array = _converted(array, self._kinds, self._type)
        if (self.ndim and array.ndim not in self.ndim) or not (array.size or self.empty):
            raise ValueError
        if self.finite and array.size and not (self._least <= array.min() and array.max() <= self._most):
            raise ValueError
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)

    def bad_values(self) -> Iterator[object]:
        shape = (2,) * (self.ndim[0] if self.ndim else 1)
        endless: list[Any] = []
        endless.append(endless)
        masked = np.ma.masked_array(np.zeros(shape), np.ones(shape, bool))
        yield from ("numbers", None, ["one", "two"], [[1.0], [1.0, 2.0]], np.full(shape, 1j), masked, endless)
        yield from (np.full(shape, "1"), np.full(shape, b"1", object), np.full(shape, np.timedelta64(1, "s")), [None])
        if self.ndim:
            yield np.zeros((2,) * (max(self.ndim) + 1))
        if not self.empty:
            yield np.zeros((0, *shape[1:]))
        if self.finite and self._noun == "numbers":
            yield from (np.full(shape, bad) for bad in (np.nan, np.inf, -np.inf))
        for bad, away in ((self.low, -1), (self.high, 1), (self.above, 0), (self.below, 0)):
            if bad is not None:
                yield np.full(shape, bad + away)


class Integers(Numbers):
    """Whole numbers."""

    _noun, _kinds = "whole numbers", "iu"
    _type = np.dtype(np.int64)

    def bad_values(self) -> Iterator[object]:
        yield from super().bad_values()
        yield np.full((2,) * (self.ndim[0] if self.ndim else 1), 0.5)


class Booleans(Numbers):
    """Booleans: a mask."""

    _noun, _kinds = "booleans", "b"
    _type = np.dtype(np.bool_)

    def bad_values(self) -> Iterator[object]:
        yield from super().bad_values()
        yield np.zeros((2,) * (self.ndim[0] if self.ndim else 1))


Scores = Annotated[npt.ArrayLike, Numbers(finite=False, empty=True)]
"""Any numbers, or none: NaN stays NaN."""

Probabilities = Annotated[npt.ArrayLike, Numbers(low=0, high=1)]


def plain(value: object, kinds: str = "fiu") -> npt.NDArray[Any]:
    """The value as an array, if all in it is of these kinds (as in `dtype.kind`); otherwise a ValueError."""
    _look(value, kinds, 0)
    try:
        return np.asarray(value)
    except Exception:  # ragged, or whatever a stranger's conversion raises
        raise ValueError from None


def _look(value: Any, kinds: str, depth: int) -> None:
    if isinstance(value, list | tuple | range):
        if depth >= _DEEPEST:
            raise ValueError
        for one in value:
            if type(one) is not float or "f" not in kinds:
                _look(one, kinds, depth + 1)
    elif np.ma.is_masked(value):
        raise ValueError
    elif isinstance(value, np.ndarray | np.generic) or (hasattr(value, "__array__") and not isinstance(value, type)):
        kind = getattr(getattr(value, "dtype", None), "kind", "O")
        if kind not in kinds and kind != "O":
            raise ValueError
    elif (type(value) is bool and "b" not in kinds) or not isinstance(value, _REAL if "f" in kinds else _WHOLE):
        raise ValueError


def _converted(array: npt.NDArray[Any], kinds: str, to: np.dtype[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind == "O":
        for one in array.ravel().tolist():
            if isinstance(one, list | tuple | range | np.ndarray):
                raise ValueError
            _look(one, kinds, 0)
    elif array.dtype.kind not in kinds:
        raise ValueError
    try:
        if to.kind == "i" and array.size and array.max() > np.iinfo(to).max:
            raise ValueError
        with np.errstate(over="ignore"):
            return array.astype(to)
    except (TypeError, OverflowError):
        raise ValueError from None
