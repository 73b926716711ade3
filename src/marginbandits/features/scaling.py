"""Scaling without look-ahead: columns of any size become columns of size about one, whatever a few rows hold.

>>> import numpy as np
>>> features = Standardise(bias=False).start(1, np.random.default_rng(0))
>>> rows = np.random.default_rng(1).normal(20.0, 3.0, (1000, 1))
>>> rows[500] = 1e90
>>> z = features.observe(rows)
>>> float(z[500, 0]), abs(float(np.delete(z, 500).std()) - 1) < 0.1
(5.0, True)
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import FLOAT64, LARGEST, Rows, Sparse, refuse_bad
from marginbandits.features.maps import FeatureMap
from marginbandits.state import COUNT, SQUARES, Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, OneOf, Real, validated

__all__ = ["Standardise"]

_MEAN, _SQUARE, _SCALE, _LATE_MEAN, _LATE_SQUARE, _COUNT = range(6)
_LEAST = 1e-200
"""A smaller sum of squares counts as no variation: contexts within ±1e100 could overflow in units of its root."""
_FARTHEST, _LONGEST = 1e101, 1e220
"""No mean and no sum of squares is beyond these: contexts are within ±1e100, and there are at most 2^53."""
_NO_WAVES = np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty(0)
_FIRST = 8.0
"""Rows before the first comparison: 8 normal values have a fifth of their true deviation once in 8,000 columns, 4 once
in 60."""


class Standardise(FeatureMap):
    """(x - m)/s with the mean m and deviation s of each column so far, clipped, over √d so that rows have norm about 1.

    Mean and deviation follow Welford's update. After clip² rows (before, nothing can lie beyond `clip` deviations) a
    row moves them only as far as the clip lets a learner see it,

        x' = min(max(x, m - clip s), m + clip s),

    so that no row out of n has more than the share clip²/n of s². And what they rest on is compared with the latest
    half: when 16, 32, 64, … rows have been seen, each column whose late half varied, but with a deviation below s/clip,
    goes on from the moments of that half.

    So an outlier, or a stretch of them, is met by the clip, or, if it came before the clip was in force and still
    weighs, given up at the next comparison but one. What lasts is believed: a column that becomes 1,000 times as large,
    or as small, is followed within three times the rounds it had before; more than a share 1/clip² of outliers is a
    scale of its own.

    The moments keep running by default: the features of a fixed context then move by O(1/t), which ridge and hinge
    learners absorb. With `freeze_after=n` they stop at the n-th row, for learners that need one context to mean one
    thing for ever. A column that has not varied yet maps to 0; its first other value counts whole, so that a rare
    indicator is at the clip as soon as it appears. `clip` is above 1, because not all values can lie nearer to their
    mean than their deviation. `bias` appends a constant 1. Where columns are given out as names come (`Table`), d
    counts those that have varied.

    Sparse columns are never centred: they are divided by the root mean square of what they are filled with, each value
    counting for at most clip² times the mean square before it; and rows, bias and all, by √n where they fill n columns.

    Huber (1964), "Robust estimation of a location parameter": proposal 2 has the same fixed point.
    """

    takes_sparse = True
    checks_rows = True

    @validated
    def __init__(
        self,
        *,
        clip: Annotated[float, Real(above=1)] = 5.0,
        freeze_after: Annotated[int | None, OneOf(Integer(2, COUNT), Instance(type(None)))] = None,
        bias: Annotated[bool, Instance(bool)] = True,
    ) -> None:
        self.clip = clip
        self.freeze_after = freeze_after
        self.bias = bias

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self.n_outputs = n_inputs + self.bias
        # Of sparse rows a column after the other, so that what is known of it is found together.
        self._moments = zeros((n_inputs, 6)).T if self.sparse else zeros((6, n_inputs))
        self._last = zeros((6 * n_inputs + 1,))  # the moments before the last row, and the stamp they were kept under
        usual = type(self) is Standardise and not self.sparse
        self._single, self._single_out = (1 if usual else 0, n_inputs), (1, self.n_outputs)
        self._limit = float(self.freeze_after or COUNT)
        self._bias = n_inputs if self.bias else -1  # the column it is in

    def transform(self, rows: Any) -> Any:
        """As any map's; one row at a time, which is what learners ask for, in as few steps as there can be."""
        if type(rows) is not np.ndarray or rows.shape != self._single or rows.dtype is not FLOAT64:
            return super().transform(rows)
        out = np.empty(self._single_out)
        if not standardise(rows, self._moments, self.clip, LARGEST, self.named, out):
            refuse_bad("context", rows)
        return out

    def observe(self, rows: Any) -> Any:
        """As any map's; see `transform`."""
        if type(rows) is not np.ndarray or rows.shape != self._single or rows.dtype is not FLOAT64:
            return super().observe(rows)
        out = np.empty(self._single_out)
        stamp = self.journal.stamp
        if not observe(rows, self._moments, self._limit, self.clip, LARGEST, self.named, self._last, stamp, out):
            refuse_bad("context", rows)
        return out

    def _transform(self, rows: Rows) -> Rows:
        if isinstance(rows, Sparse):
            return self._scaled(rows)
        out = np.empty((rows.shape[0], self.n_outputs))
        if not standardise(rows, self._moments, self.clip, LARGEST, self.named, out):
            refuse_bad("context", rows)
        return out

    def _observe(self, rows: Rows) -> Rows:
        if isinstance(rows, Sparse):
            self.journal.keep(self._moments, (slice(None), rows.columns))
            learn_filled(rows.values, rows.columns, self._moments, self._limit, self.clip)
            return self._scaled(rows)
        out = np.empty((rows.shape[0], self.n_outputs))
        stamp = self.journal.stamp
        if not observe(rows, self._moments, self._limit, self.clip, LARGEST, self.named, self._last, stamp, out):
            refuse_bad("context", rows)
        return out

    def compiled(self) -> tuple[Any, ...] | None:
        """Live moments, how many rows move them, and the clip; then the column of the bias, or no waves."""
        if type(self) is not Standardise:
            return None
        return self._moments, self._limit, self.clip, *((self._bias,) if self.sparse else _NO_WAVES)

    def _typical(self) -> Array:
        return np.array(self._moments[_MEAN])

    def _scaled(self, rows: Sparse) -> Sparse:
        n = len(rows.values) + self.bias * len(rows)
        values, columns, ends = np.empty(n), np.empty(n, np.int64), np.empty(len(rows.starts), np.int64)
        given = rows.values, rows.columns, rows.starts, self._moments, self.clip, self._bias
        scale_filled(*given, values, columns, ends)
        return Sparse(values, columns, ends, rows.width + self.bias)

    def undo(self, stamp: int) -> None:
        """Put back the moments before the last row."""
        if self._last[-1] == stamp:
            self._moments[...] = self._last[:-1].reshape(self._moments.shape)

    def fields(self) -> Mapping[str, Field]:
        """Of every column: mean, sum of squared deviations, 1/(√d deviation); the first two of late rows; rows seen."""
        return {"moments": Field(self._moments, -_FARTHEST, SQUARES)}

    def check(self) -> None:
        """Means are within the contexts; squares, scales and counts are not negative, nor beyond what rows can give."""
        moments = self._moments
        if (moments[[_SQUARE, _SCALE, _LATE_SQUARE, _COUNT]] < 0.0).any():
            raise ValueError("moments must have squares, scales and counts of at least 0")
        most = np.array([_FARTHEST, _LONGEST, 1e110, _FARTHEST, _LONGEST, COUNT])
        if (moments > most[:, None]).any():
            raise ValueError("moments must be those of contexts within ±1e100")


@kernel
def learn_filled(values: Array, columns: npt.NDArray[np.int64], moments: Array, limit: float, clip: float) -> None:
    """Squares of what columns are filled with, no one more than clip² times the mean of those before."""
    for k in range(values.shape[0]):
        j = columns[k]
        count, square = moments[_COUNT, j], moments[_SQUARE, j]
        if values[k] != 0.0 and count < limit:
            most = clip * clip * square / count if count >= clip * clip else math.inf
            moments[_COUNT, j] = count + 1.0
            moments[_SQUARE, j] = square + min(values[k] * values[k], most)
            enough = moments[_SQUARE, j] > _LEAST
            moments[_SCALE, j] = math.sqrt(moments[_COUNT, j] / moments[_SQUARE, j]) if enough else 0.0


@kernel
def scale_filled(
    values: Array,
    columns: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    moments: Array,
    clip: float,
    bias: int,
    out: Array,
    filled: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
) -> None:
    """Scaled and clipped values, then 1 in the column `bias` unless that is -1, all over √n for n that are filled."""
    ends[0] = n = 0
    scale = moments[_SCALE]
    for i in range(starts.shape[0] - 1):
        unit = 1.0 / math.sqrt(max(starts[i + 1] - starts[i] + (bias >= 0), 1))
        for k in range(starts[i], starts[i + 1]):
            out[n], filled[n] = unit * min(max(values[k] * scale[columns[k]], -clip), clip), columns[k]
            n += 1
        if bias >= 0:
            out[n], filled[n] = unit, bias
            n += 1
        ends[i + 1] = n


@kernel
def learn_moments(rows: Array, moments: Array, limit: float, clip: float, named: bool) -> None:
    """Moments with these rows too, the first `limit` of all."""
    n, d = rows.shape
    mean, square, late_mean, late_square = moments[_MEAN], moments[_SQUARE], moments[_LATE_MEAN], moments[_LATE_SQUARE]
    count = moments[_COUNT, 0]
    # Late rows are those after the last power of two.
    half = math.ldexp(1.0, math.frexp(count)[1] - 1) if count >= _FIRST else 0.0
    for i in range(n):
        if count >= limit:
            break
        spread = clip * clip / count if count >= clip * clip else math.inf
        count += 1.0
        weight, late_weight = 1.0 / count, 1.0 / (count - half)
        for j in range(d):
            reach = math.sqrt(spread * square[j]) if square[j] > _LEAST else math.inf
            # x itself where it is within reach: m + (x - m) would lose its digits beside an outlier in m.
            x = min(max(rows[i, j], mean[j] - reach), mean[j] + reach)
            before = x - mean[j]
            mean[j] += before * weight
            square[j] += before * (x - mean[j])
            before = x - late_mean[j]
            late_mean[j] += before * late_weight
            late_square[j] += before * (x - late_mean[j])
        if count == max(2.0 * half, _FIRST):
            for j in range(d):
                whole = late_square[j] * (count * late_weight)
                if late_square[j] > _LEAST and clip * clip * whole < square[j]:
                    mean[j], square[j] = late_mean[j], whole
                late_mean[j] = late_square[j] = 0.0
            half = count
    filled = float(d)
    if named:
        filled = 0.0
        for j in range(d):
            filled += 1.0 if square[j] > _LEAST else 0.0
    for j in range(d):
        moments[_SCALE, j] = math.sqrt(count / (square[j] * filled)) if square[j] > _LEAST else 0.0
        moments[_COUNT, j] = count


# Answers are written into an array made outside: returning one from compiled code costs more than the arithmetic.


@kernel
def standardise(rows: Array, moments: Array, clip: float, largest: float, named: bool, out: Array) -> bool:
    """Features of all rows; False if any value is not within ±largest."""
    n, d = rows.shape
    mean, scale = moments[_MEAN], moments[_SCALE]
    filled = float(d)
    if named:
        filled = 0.0
        for j in range(d):
            filled += 1.0 if scale[j] > 0.0 else 0.0
    limit = clip / math.sqrt(max(filled, 1.0))
    good = True
    for i in range(n):
        for j in range(d):
            good &= abs(rows[i, j]) <= largest
            out[i, j] = min(max((rows[i, j] - mean[j]) * scale[j], -limit), limit)
        if out.shape[1] > d:
            out[i, d] = 1.0
    return good


@kernel
def observe(
    rows: Array,
    moments: Array,
    limit: float,
    clip: float,
    largest: float,
    named: bool,
    last: Array,
    stamp: int,
    out: Array,
) -> bool:
    good = True
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            good &= abs(rows[i, j]) <= largest
    if good:
        for k in range(moments.shape[0]):
            for j in range(moments.shape[1]):
                last[k * moments.shape[1] + j] = moments[k, j]
        last[-1] = stamp
        learn_moments(rows, moments, limit, clip, named)
        standardise(rows, moments, clip, largest, named, out)
    return good
