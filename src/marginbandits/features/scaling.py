"""Scaling without look-ahead: columns of any size become columns of size about one."""

import math
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.features.maps import FeatureMap
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
        self._count = np.zeros(1)
        self._moments = np.zeros((3, n_inputs))  # mean, sum of squared deviations, 1/(√d deviation)
        self._limit = math.inf if self.freeze_after is None else float(self.freeze_after)

    def _transform(self, rows: Array) -> Array:
        out = np.empty((rows.shape[0], self.n_outputs))
        _standardise(rows, self._moments, self.clip, out)
        return out

    def _observe(self, rows: Array) -> Array:
        out = np.empty((rows.shape[0], self.n_outputs))
        _observe(rows, self._count, self._moments, self._limit, self.clip, out)
        return out

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Rows seen, and the mean, spread and scale of every column."""
        return {"count": self._count, "moments": self._moments}


@kernel
def _welford(rows: Array, count: Array, moments: Array, limit: float) -> None:
    n, d = rows.shape
    mean, square, scale = moments[0], moments[1], moments[2]
    for i in range(n):
        if count[0] >= limit:
            break
        count[0] += 1.0
        for j in range(d):
            before = rows[i, j] - mean[j]
            mean[j] += before / count[0]
            square[j] += before * (rows[i, j] - mean[j])
    for j in range(d):
        scale[j] = math.sqrt(count[0] / (square[j] * d)) if square[j] > 0.0 else 0.0


# Answers are written into an array made outside: returning one from compiled code costs more than the arithmetic.


@kernel
def _standardise(rows: Array, moments: Array, clip: float, out: Array) -> None:
    n, d = rows.shape
    mean, scale = moments[0], moments[2]
    limit = clip / math.sqrt(d)
    for i in range(n):
        for j in range(d):
            out[i, j] = min(max((rows[i, j] - mean[j]) * scale[j], -limit), limit)
        if out.shape[1] > d:
            out[i, d] = 1.0


@kernel
def _observe(rows: Array, count: Array, moments: Array, limit: float, clip: float, out: Array) -> None:
    _welford(rows, count, moments, limit)
    _standardise(rows, moments, clip, out)
