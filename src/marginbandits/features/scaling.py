"""Scaling without look-ahead: columns of any size become columns of size about one."""

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Rows, Sparse
from marginbandits.features.maps import FeatureMap, with_bias
from marginbandits.state import Field, zeros
from marginbandits.types import Array
from marginbandits.validation import Instance, Integer, OneOf, Real, validated

__all__ = ["Standardise"]


class Standardise(FeatureMap):
    """(x - mean)/deviation over the contexts seen so far, clipped, divided by √d so that rows have norm about 1.

    Mean and deviation follow Welford's update. They keep running by default: the features of a fixed context then
    move by O(1/t), which ridge and hinge learners absorb. With `freeze_after=n` they stop at the n-th row, for
    learners that need one context to mean one thing for ever. A column that has not varied yet maps to 0.

    `clip` bounds each standardised value: one outlier, or the first appearance of a rare indicator, cannot dominate.
    `bias` appends a constant 1.
    """

    @validated
    def __init__(
        self,
        *,
        clip: Annotated[float, Real(above=0)] = 5.0,
        freeze_after: Annotated[int | None, OneOf(Integer(2), Instance(type(None)))] = None,
        bias: Annotated[bool, Instance(bool)] = True,
    ) -> None:
        self.clip = clip
        self.freeze_after = freeze_after
        self.bias = bias

    def _begin(self, n_inputs: int, rng: np.random.Generator) -> None:
        self.n_outputs = n_inputs + self.bias
        self._moments = zeros((4, n_inputs))  # rows seen, mean, sum of squared deviations, 1/(√d deviation)
        self._last = zeros((4 * n_inputs + 1,))  # the moments before the last row, and the stamp they were kept under
        self._limit = math.inf if self.freeze_after is None else float(self.freeze_after)

    def _transform(self, rows: Rows) -> Rows:
        if isinstance(rows, Sparse):
            return self._scaled(rows)
        out = np.empty((rows.shape[0], self.n_outputs))
        _standardise(rows, self._moments, self.clip, out)
        return out

    def _observe(self, rows: Rows) -> Rows:
        if isinstance(rows, Sparse):
            self.journal.keep(self._moments, (slice(None), rows.columns))
            _sparse_squares(rows.values, rows.columns, self._moments, self._limit)
            return self._scaled(rows)
        out = np.empty((rows.shape[0], self.n_outputs))
        _observe(rows, self._moments, self._limit, self.clip, self._last, self.journal.note(self), out)
        return out

    def undo(self, stamp: int) -> None:
        """Put back the moments before the last row."""
        if self._last[-1] == stamp:
            self._moments[...] = self._last[:-1].reshape(self._moments.shape)

    def _scaled(self, rows: Sparse) -> Sparse:
        """Sparse columns are divided by the root mean square of what they are filled with, never centred."""
        scaled = np.clip(rows.values * self._moments[3, rows.columns], -self.clip, self.clip)
        out = Sparse(scaled, rows.columns, rows.starts, rows.width)
        return with_bias(out) if self.bias else out

    def fields(self) -> Mapping[str, Field]:
        """Rows seen, and the mean, spread and scale of every column."""
        return {"moments": Field(self._moments)}


@kernel
def _sparse_squares(values: Array, columns: npt.NDArray[np.int64], moments: Array, limit: float) -> None:
    for k in range(values.shape[0]):
        j = columns[k]
        if moments[0, j] < limit:
            moments[0, j] += 1.0
            moments[2, j] += values[k] * values[k]
            moments[3, j] = math.sqrt(moments[0, j] / moments[2, j]) if moments[2, j] > 0.0 else 0.0


@kernel
def _welford(rows: Array, moments: Array, limit: float) -> None:
    n, d = rows.shape
    count, mean, square, scale = moments[0], moments[1], moments[2], moments[3]
    for i in range(n):
        if count[0] >= limit:
            break
        for j in range(d):
            count[j] += 1.0
            before = rows[i, j] - mean[j]
            mean[j] += before / count[j]
            square[j] += before * (rows[i, j] - mean[j])
    for j in range(d):
        scale[j] = math.sqrt(count[0] / (square[j] * d)) if square[j] > 0.0 else 0.0


# Answers are written into an array made outside: returning one from compiled code costs more than the arithmetic.


@kernel
def _standardise(rows: Array, moments: Array, clip: float, out: Array) -> None:
    n, d = rows.shape
    mean, scale = moments[1], moments[3]
    limit = clip / math.sqrt(d)
    for i in range(n):
        for j in range(d):
            out[i, j] = min(max((rows[i, j] - mean[j]) * scale[j], -limit), limit)
        if out.shape[1] > d:
            out[i, d] = 1.0


@kernel
def _observe(rows: Array, moments: Array, limit: float, clip: float, last: Array, stamp: int, out: Array) -> None:
    last[:-1], last[-1] = moments.ravel(), stamp
    _welford(rows, moments, limit)
    _standardise(rows, moments, clip, out)
